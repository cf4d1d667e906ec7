import type { DataSyncSpecInput } from '@open-terrain/constructs'
import { dataSync, dataSyncImageName, isImageFor, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  aDataSyncWorld,
  dataSyncOf,
  Images,
  NAMESPACE,
  NOW,
} from '../../../../test/prepared/data-sync/data-sync-world.ts'
import { expectLawful } from '../../../../test/prepared/runtime/plan-laws.ts'
import type { ObjectMeta } from '../../../kube/kube-object.ts'
import type { DataSyncView } from '../world.ts'
import { planDataSync } from './plan.ts'

const vm = fc.record({
  name: fc.constantFrom('a', 'b', '2-c'),
  url: fc.constantFrom('https://images.example/1', 'https://images.example/2'),
  diskSize: fc.option(fc.constantFrom('1Gi', '1024Mi', '2Gi'), { nil: undefined }),
})
const spec: fc.Arbitrary<DataSyncSpecInput> = fc.record({
  workspaceId: fc.constantFrom('1', '1-2'),
  version: fc.option(fc.constant('2'), { nil: undefined, freq: 3 }),
  sourceType: fc.constant('http' as const),
  vms: fc.uniqueArray(vm, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
})
const request = fc.option(fc.constantFrom('1', '2', '3'), { nil: undefined })
const annotations = fc.tuple(request, request).map(([sync, retry]) => ({
  ...(sync !== undefined && { 'pelotech.ot/sync-requested-at': sync }),
  ...(retry !== undefined && { 'pelotech.ot/retry-requested-at': retry }),
}))
const isGoing = fc.integer({ min: 0, max: 9 }).map((dice) => dice === 0)

const day = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z')

/** DataSyncs of one namespace. Most of them share images, and may or may not want the same. */
const dataSyncs: fc.Arbitrary<DataSyncView[]> = fc
  .array(fc.tuple(fc.oneof({ arbitrary: spec, weight: 9 }, fc.constant({ vms: 'none' })), annotations, isGoing, day), {
    minLength: 1,
    maxLength: 4,
  })
  .map((many) =>
    many.map(([one, asked, going, creationTimestamp], at) => {
      const metadata: Partial<ObjectMeta> = {
        name: `lab-${at}`,
        annotations: asked,
        creationTimestamp,
        ...(going && { deletionTimestamp: '2026-01-31T12:00:00Z' }),
      }
      return dataSyncOf(one, metadata)
    }),
  )

/** Images that existed before: of other triples, of an earlier spec, of one of the DataSyncs, of one that is gone, of an earlier version. */
const found = fc.array(
  fc.record({
    name: fc.constantFrom('1-a', '1-b', '1-2-a'),
    annotations: fc.constantFrom<Record<string, string>>(
      {},
      { 'pelotech.ot/workspace-id': '1', 'pelotech.ot/workspace-vm': 'a' },
      { 'pelotech.ot/workspace-id': '1', 'pelotech.ot/workspace-vm': 'b', 'pelotech.ot/requests-reached': 'x' },
    ),
    creator: fc.constantFrom(
      '',
      'DataSync/farm/lab-0/uid-lab-0 generation 1',
      'DataSync/farm/gone/uid-gone generation 1',
    ),
    url: fc.constantFrom('https://images.example/1', 'https://images.example/old'),
  }),
  { maxLength: 2 },
)
type Found = (typeof found extends fc.Arbitrary<infer T> ? T : never)[number]

function imagesOf(before: readonly Found[]): Images {
  const images = new Images()
  for (const one of new Map(before.map((each) => [each.name, each])).values()) {
    const metadata = {
      namespace: NAMESPACE,
      name: one.name,
      creationTimestamp: '2026-01-02T00:00:00Z',
      labels: { 'pelotech.ot/created-by': 'DataSync' },
      annotations: { ...one.annotations, ...(one.creator !== '' && { 'pelotech.ot/creator': one.creator }) },
    }
    images.put({ apiVersion: 'v1', kind: 'VMDiskImage', metadata, spec: { url: one.url } } as never)
  }
  return images
}

/** Carries out the plan of one DataSync. Throws if it writes an image that is not its own. */
function turn(one: DataSyncView, all: readonly DataSyncView[], images: Images): { view: DataSyncView; count: number } {
  const world = aDataSyncWorld(one, images, all)
  const plan = planDataSync(world, NOW)
  expectLawful(one, plan, dataSync.status)
  const { apply, touch = [], remove, status } = plan
  expect(remove).toEqual([])
  expect(new Set(apply.map(({ metadata }) => metadata.name)).size).toBe(apply.length)
  const triples = new Map(world.images.map(({ wish }) => [dataSyncImageName(wish.triple), wish.triple]))
  const checkOwn = (name: string) => {
    const triple = triples.get(name)
    const before = images.stored.get(name)
    expect(triple, name).toBeDefined()
    if (before === undefined || triple === undefined) return
    expect(isImageFor(triple, before.metadata.annotations), name).toBe(true)
    expect(before.metadata.deletionTimestamp).toBeUndefined()
    const { 'pelotech.ot/creator': mark } = before.metadata.annotations ?? {}
    const beside = all.filter((each) =>
      aDataSyncWorld(each, images, all).images.some(({ wish }) => dataSyncImageName(wish.triple) === name),
    )
    const makers = beside.filter(({ metadata: { uid, creationTimestamp = '' } }) =>
      mark === undefined ? creationTimestamp <= '2026-01-02T00:00:00Z' : mark.includes(`/${uid} `),
    )
    expect(makers.length, name).toBeGreaterThan(0)
  }
  for (const image of apply) {
    checkOwn(image.metadata.name)
    if (image.metadata.resourceVersion === undefined) images.put(image)
    else images.update(image)
  }
  for (const { name, annotations: added, ...seen } of touch) {
    checkOwn(name)
    images.annotate(name, seen, added)
  }
  return { view: { ...one, status }, count: apply.length + touch.length }
}

/** Reconciles all DataSyncs in this order, round after round, until none of them writes any more. */
function settle(all: readonly DataSyncView[], images: Images): DataSyncView[] {
  const views = new Map(all.map((one) => [one.metadata.name, one]))
  for (let round = 0; round < 8; round += 1) {
    let count = 0
    for (const { metadata } of all) {
      const result = turn(views.get(metadata.name) as DataSyncView, [...views.values()], images)
      views.set(metadata.name, result.view)
      count += result.count
    }
    if (count === 0) return [...views.values()]
  }
  throw new Error('they never come to rest')
}

/** Returns the images in the end, without what depends on the number of writes. */
function endOf(images: Images) {
  const all = [...images.stored.values()].map(({ metadata: { name, labels, annotations: said }, spec: wanted }) => {
    return { name, labels, annotations: said, spec: wanted }
  })
  return all.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

const status: fc.Arbitrary<VMDiskImageStatus> = fc.record({
  phase: fc.constantFrom('Queued', 'Syncing', 'Snapshotting', 'Succeeded', 'Failed'),
  progress: fc.constantFrom('', '12.5%', 'N/A'),
})

describe('any DataSyncs', () => {
  it('come to the same end in any order, and write no more then', () => {
    const run = fc.tuple(dataSyncs, found).chain(([all, before]) => {
      const order = fc.shuffledSubarray(all, { minLength: all.length })
      return fc.record({ all: fc.constant(all), before: fc.constant(before), order })
    })
    fc.assert(
      fc.property(run, ({ all, before, order }) => {
        const [one, other] = [imagesOf(before), imagesOf(before)]
        const first = settle(all, one)
        settle(order, other)
        expect(endOf(other)).toEqual(endOf(one))
        for (const view of first) {
          const again = planDataSync(aDataSyncWorld(view, one, first), NOW + 3_600_000)
          expect(again).toMatchObject({ apply: [], touch: [], events: [], status: view.status })
        }
      }),
    )
  })

  it('have one image for each vm at most, and none that nobody wants', () => {
    fc.assert(
      fc.property(dataSyncs, (all) => {
        const images = imagesOf([])
        settle(all, images)
        const wanted = all.flatMap((one) => aDataSyncWorld(one, images, all).images.map(({ wish }) => wish.triple))
        const triples = new Set(wanted.map((triple) => JSON.stringify(triple)))
        expect(images.stored.size).toBeLessThanOrEqual(triples.size)
        for (const name of images.stored.keys()) expect(wanted.map(dataSyncImageName)).toContain(name)
      }),
    )
  })

  it('have a status that their images alone decide about', () => {
    const anything = fc.array(status, { minLength: 3, maxLength: 3 })
    fc.assert(
      fc.property(dataSyncs, anything, anything, (all, said, saidBefore) => {
        const images = imagesOf([])
        settle(all, images)
        const tell = (many: readonly VMDiskImageStatus[]) => {
          for (const [at, name] of [...images.stored.keys()].entries()) images.tell(name, many[at % 3] ?? {})
        }
        for (const one of all.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) {
          tell(saidBefore)
          const before = planDataSync(aDataSyncWorld(one, images, all), NOW).status
          tell(said)
          const fresh = planDataSync(aDataSyncWorld(one, images, all), NOW).status
          const later = planDataSync(aDataSyncWorld({ ...one, status: before }, images, all), NOW).status
          expect(later).toEqual(fresh)
        }
      }),
    )
  })
})
