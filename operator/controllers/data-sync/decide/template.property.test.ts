import type { VMDiskImageSpec } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  aDataSyncWorld,
  dataSyncOf,
  Images,
  NAMESPACE,
  NOW,
} from '../../../../test/prepared/data-sync/data-sync-world.ts'
import { ensureImage } from '../../../images/decide/ensure-image.ts'
import { contentDifferences, mismatches } from '../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { planDataSync } from './plan.ts'

const NAME = '1-a'
const POLICY = {
  defaultSourceType: 'http',
  defaultDiskSize: '10Gi',
  defaultStorageClass: 'fast',
  reclaimPolicy: 'Delete',
} as const

/** One image in many words. */
const words = fc
  .record(
    {
      url: fc.constantFrom('https://images.example/a', 'https://IMAGES.example:443/a'),
      sourceType: fc.constantFrom(undefined, 'http' as const),
      diskSize: fc.constantFrom(undefined, '10Gi', '10240Mi', '10737418240'),
      storageClass: fc.constantFrom(undefined, 'fast'),
    },
    { requiredKeys: ['url'] },
  )
  .map((spec) => JSON.parse(JSON.stringify(spec)) as VMDiskImageSpec & { readonly url: string })
const more = fc.record(
  { name: fc.constantFrom('b', 'c'), reclaimPolicy: fc.constant('Delete' as const) },
  { requiredKeys: [] },
)
const other = fc.constantFrom(
  { url: 'https://images.example/b' },
  { url: 'https://images.example/a', diskSize: '11Gi' },
  { url: 'https://images.example/a', snapshotClass: 's' },
)

type Writer = (images: Images) => number

/** Writes as a DataSync of this vm. Returns the number of writes. */
const preloading =
  (spec: object): Writer =>
  (images) => {
    const one = dataSyncOf({ workspaceId: '1', vms: [{ name: 'a', ...spec }] })
    const { apply, touch = [], remove } = planDataSync(aDataSyncWorld(one, images, [one], { policy: POLICY }), NOW)
    for (const image of apply) {
      if (image.metadata.resourceVersion === undefined) images.put(image)
      else images.update(image)
    }
    return apply.length + touch.length + remove.length
  }

const createdBy = { apiVersion: 'v1', kind: 'Workspace', metadata: { name: 'lab', uid: 'lab-uid' } }
const KEEPER = { by: 'DataSync/farm/lab', wants: undefined, isKeeper: true } as const

/** Writes as a Workspace with this template. */
const ensuring =
  (template: VMDiskImageSpec, wants: VMDiskImageSpec): Writer =>
  (images) => {
    const wish = { ref: { namespace: NAMESPACE, name: NAME }, template, mode: undefined, createdBy }
    const found = images.stored.get(NAME)
    const isKept = found?.metadata.annotations?.['pelotech.ot/creator']?.startsWith('DataSync') === true
    const claims = [{ by: 'DataSync/farm/lab', wants }, ...(isKept ? [KEEPER] : [])]
    const ensured = ensureImage(wish, found, { claims, hasOthers: false }, POLICY)
    if (ensured.kind === 'created') images.put(ensured.image)
    if (ensured.kind === 'corrected') images.update(ensured.image)
    return ensured.kind === 'created' || ensured.kind === 'corrected' ? 1 : 0
  }

const conflictOf = (spec: object, images: Images) => {
  const one = dataSyncOf({ workspaceId: '1', vms: [{ name: 'a', ...spec }] })
  return planDataSync(aDataSyncWorld(one, images, [one], { policy: POLICY }), NOW).status.images?.[0]?.reason
}
const order = fc.array(fc.nat(1), { minLength: 2, maxLength: 6 })

function run(
  writers: readonly Writer[],
  turns: readonly number[],
): { images: Images; image: ImageView; counts: number[] } {
  const images = new Images()
  const counts = [...turns, 0, 1, 0, 1].map((turn) => writers[turn]?.(images) ?? 0)
  return { images, image: images.stored.get(NAME) as ImageView, counts }
}

describe('an image that a DataSync preloads and a template ensures', () => {
  it('is written once, whoever comes first, if both mean the same, and both are content', () => {
    fc.assert(
      fc.property(words, words, more, order, (one, two, besides, turns) => {
        const template = { ...two, ...besides }
        const { images, image, counts } = run([preloading(one), ensuring(template, { ...one, name: 'a' })], turns)
        expect(counts.filter((count) => count > 0)).toEqual([1])
        expect(contentDifferences(one, image, POLICY)).toEqual([])
        expect(mismatches(template, image, POLICY)).toEqual([])
        expect(conflictOf(one, images)).not.toBe('NameConflict')
      }),
    )
  })

  it('stays as the first of them wrote it, if they mean something else, and the other one says so', () => {
    fc.assert(
      fc.property(words, other, order, fc.boolean(), (one, two, turns, isSwapped) => {
        const [loaded, template] = isSwapped ? [two, one] : [one, two]
        const { images, image, counts } = run([preloading(loaded), ensuring(template, { ...loaded, name: 'a' })], turns)
        expect(counts.filter((count) => count > 0)).toEqual([1])
        const isMismatch =
          mismatches(template, image, POLICY).length > 0 || contentDifferences(template, image, POLICY).length > 0
        expect([conflictOf(loaded, images) === 'NameConflict', isMismatch].toSorted()).toEqual([false, true])
      }),
    )
  })
})
