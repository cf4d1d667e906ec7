import { ANNOTATIONS, FINALIZER, LABELS, revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isChildOf } from '../../../cluster/ownership.ts'
import { toTime } from '../../../runtime/conditions.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import { HOUR, MINUTE, START } from '../../../runtime/times.fixtures.ts'
import {
  aClaim,
  aDataVolume,
  aPod,
  aSnapshot,
  CDI,
  childMeta,
  IMAGE_UID,
  REFRESH,
  RETRY,
  SPEC,
} from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup, aWorld, NO_REFERENCES, ONE_USER } from '../image-world.fixtures.ts'
import type { ImageWorld } from '../world.ts'
import { isFinished } from './judge.ts'
import { planImage } from './plan.ts'

const WANTED = revisionOf(SPEC as unknown as VMDiskImageSpec)
const revision = fc.constantFrom(WANTED, WANTED, WANTED, '01234567')
const time = fc.integer({ min: -2 * HOUR, max: 2 * HOUR }).map((offset) => toTime(START + offset))
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const deletion = fc.option(time, { nil: undefined, freq: 4 })
const gone = (at: string | undefined) => (at === undefined ? {} : { deletionTimestamp: at })

const state = fc.constantFrom<Parameters<typeof aDataVolume>[0]>(
  CDI.new,
  CDI.running,
  CDI.failing,
  CDI.notFound,
  CDI.succeeded,
  { ...CDI.succeeded, bound: { status: 'False', reason: 'Pending', message: '' } },
  { ...CDI.succeeded, progress: 'N/A', bound: { status: 'False', reason: 'Pending', message: '' } },
  { ...CDI.running, restartCount: 2 },
  { phase: 'Failed' },
)
const dataVolume = fc
  .record({
    revision,
    state,
    at: deletion,
    attempt: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ revision: of, state: how, at, attempt }) => {
    const uid = of === WANTED ? 'dv-1' : 'dv-2'
    const annotations = { [ANNOTATIONS.attempt]: String(attempt) }
    return aDataVolume({ ...how, metadata: childMeta(`img-${of}`, of, { uid, annotations, ...gone(at) }) })
  })
const snapshot = fc
  .record({
    revision,
    at: deletion,
    readyToUse: fc.boolean(),
    snapshotClass: fc.constantFrom('snap', 'other'),
  })
  .map(({ revision: of, at, ...more }) => aSnapshot(childMeta(`img-${of}`, of, { uid: `vs-${of}`, ...gone(at) }), more))
const attempt = fc.record({
  number: fc.integer({ min: 1, max: 4 }),
  revision,
  outcome: fc.constantFrom('Succeeded', 'Failed', 'Cancelled'),
  reason: fc.constantFrom('Synced', 'ImporterFailed', 'NotFound', 'Suspended'),
  message: fc.constant('m'),
  endedAt: time,
  downloads: fc.nat(2),
  dataVolumeUID: fc.constantFrom('dv-1', 'dv-2', 'dv-3'),
})
const status = fc.record(
  {
    phase: fc.constantFrom('Queued', 'Syncing', 'Snapshotting', 'Succeeded', 'Failed'),
    ticket: fc.constantFrom('1', '99'),
    revision,
    dataVolumeUID: fc.constantFrom('dv-1', 'dv-2', 'dv-3'),
    attempt: fc.integer({ min: 1, max: 4 }),
    startedAt: time,
    nextRetryTime: time,
    snapshotStartedAt: time,
    lastReferencedTime: time,
    unreferencedSince: time,
    importerPodUID: fc.constantFrom('pod-1', 'pod-2'),
    budget: fc.record({ key: fc.constantFrom('a', 'b'), downloads: fc.nat(4) }),
    attempts: fc.array(attempt, { maxLength: 5 }),
    artifact: fc
      .record({
        kind: fc.constantFrom('VolumeSnapshot', 'PersistentVolumeClaim'),
        revision,
        snapshotClass: fc.constantFrom('snap', 'other'),
        publishedAt: time,
      })
      .map((one) => ({ ...one, name: `img-${one.revision}` })),
  },
  { requiredKeys: [] },
)
const slot = fc.record({ revision, attempt: fc.integer({ min: 1, max: 4 }) })

const world = fc
  .record({
    status,
    dataVolumes: fc.uniqueArray(dataVolume, { maxLength: 2, selector: ({ metadata }) => metadata.name }),
    snapshots: fc.uniqueArray(snapshot, { maxLength: 2, selector: ({ metadata }) => metadata.name }),
    hasClaims: fc.boolean(),
    slot: maybe(slot),
    pods: fc.array(
      fc.constantFrom('pod-1', 'pod-2').map((uid) => aPod(uid)),
      { maxLength: 2 },
    ),
    alias: fc.constantFrom('none', 'ours', 'foreign'),
    at: fc.option(time, { nil: undefined, freq: 5 }),
    finalizers: fc.constantFrom([], [FINALIZER]),
    suspend: maybe(fc.boolean()),
    diskSize: fc.constantFrom('10Gi', '10Gi', '10Gi', undefined, 'huge'),
    snapshotClass: fc.constantFrom('snap', 'snap', undefined),
    reclaimPolicy: fc.constantFrom(undefined, 'Delete', 'Retain'),
    references: fc.constantFrom(NO_REFERENCES, ONE_USER),
    namespaceTerminating: fc.boolean(),
    isSecretMissing: fc.boolean(),
    keepSourceVolume: fc.boolean(),
    retryLimit: fc.nat(3),
    limit: fc.nat(2),
    unchangedMs: fc.constantFrom(0, HOUR),
    starts: fc.constantFrom(undefined, 0, 1, 3),
    isCdiAway: fc.boolean(),
  })
  .map((one): ImageWorld => {
    const isAlias = one.alias !== 'none'
    const alias = childMeta('img', WANTED, { uid: 'alias', ...(one.alias === 'foreign' && { ownerReferences: [] }) })
    return aWorld({
      metadata: { finalizers: one.finalizers, ...gone(one.at) },
      status: one.status as never,
      spec: {
        suspend: one.suspend,
        diskSize: one.diskSize,
        snapshotClass: one.snapshotClass,
        reclaimPolicy: one.reclaimPolicy,
      },
      policy: { keepSourceVolume: one.keepSourceVolume, retryLimit: one.retryLimit },
      dataVolumes: one.dataVolumes,
      snapshots: one.snapshots,
      claims: one.hasClaims ? one.dataVolumes.map(({ metadata }) => aClaim(childMeta(metadata.name, '0'))) : [],
      slot: one.slot && { uid: IMAGE_UID, namespace: 'team', name: 'img', claimant: 'me', ...one.slot },
      dataSource: isAlias
        ? { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataSource', metadata: alias, spec: {} }
        : undefined,
      references: one.references,
      namespaceTerminating: one.namespaceTerminating,
      lookup: aLookup({ secrets: one.isSecretMissing ? ['creds'] : [] }),
      limit: one.limit,
      observation: {
        dataVolumeUid: one.dataVolumes[0]?.metadata.uid,
        importers: one.pods,
        seenMs: one.unchangedMs,
        unchangedMs: one.unchangedMs,
        importerPodUid: 'pod-1',
        starts: one.starts,
        isImporterLost: one.pods.some(({ metadata }) => metadata.uid !== 'pod-1'),
      },
      isCdiAway: one.isCdiAway,
    })
  })

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) frozen(member)
  return value
}

/** Checks `holds` in many random worlds. */
function always(holds: (world: ImageWorld) => void): void {
  fc.assert(
    fc.property(world, (one) => {
      holds(frozen(one))
    }),
    { numRuns: 3_000 },
  )
}

describe('in any world, however odd, a plan', { timeout: 60_000 }, () => {
  it('is a function of the world and the time, and leaves the world alone', () => {
    always((one) => expect(planImage(one, START)).toEqual(planImage(one, START)))
  })

  it('removes nothing but children of the image that are there and not on their way out', () => {
    always((one) => {
      const children = [...one.dataVolumes, ...one.snapshots, ...(one.dataSource === undefined ? [] : [one.dataSource])]
      for (const removal of planImage(one, START).remove) {
        const child = children.find(({ kind, metadata }) => kind === removal.kind && metadata.uid === removal.uid)
        expect(child).toBeDefined()
        expect(child && isChildOf(child, one.image)).toBe(true)
        expect(child?.metadata.deletionTimestamp).toBeUndefined()
      }
    })
  })

  it('writes no alias over one of somebody else', () => {
    always((one) => {
      const isForeign = one.dataSource !== undefined && !isChildOf(one.dataSource, one.image)
      if (isForeign) expect(planImage(one, START).apply.filter(({ kind }) => kind === 'DataSource')).toEqual([])
    })
  })

  it('wants no download while one of ours runs, nor for an image that is suspended, deleted or wrong', () => {
    always((one) => {
      const { start } = planImage(one, START)
      if (start === undefined) return
      expect(one.dataVolumes.filter((dataVolume) => !isFinished(dataVolume))).toEqual([])
      expect(one.image.metadata.deletionTimestamp).toBeUndefined()
      expect(one.spec).toMatchObject({ ok: true })
      expect(one.spec.ok && one.spec.spec.suspend).not.toBe(true)
      expect(one.namespaceTerminating).toBe(false)
      expect(start.revision).toBe(start.target.revision)
    })
  })

  it('lets an image go only when nothing of it is left, no slot is held and nobody uses it', () => {
    always((one) => {
      const { finalizer } = planImage(one, START)
      if (finalizer !== 'release') return
      expect(one.image.metadata.deletionTimestamp).toBeDefined()
      expect([one.dataVolumes, one.snapshots, one.slot]).toEqual([[], [], undefined])
      expect(one.namespaceTerminating || one.references.users.length === 0).toBe(true)
    })
  })

  it('never adds a finalizer to an image that is being deleted', () => {
    always((one) => {
      if (one.image.metadata.deletionTimestamp !== undefined) expect(planImage(one, START).finalizer).not.toBe('add')
    })
  })

  it('never removes what serves, unless the image goes', () => {
    always((one) => {
      const { remove, status: next } = planImage(one, START)
      if (one.image.metadata.deletionTimestamp !== undefined || next.artifact === undefined) return
      const { kind, name, snapshotClass } = next.artifact
      const serving = one.snapshots.find(
        (snapshot) =>
          snapshot.metadata.name === name && snapshot.snapshotClass === snapshotClass && snapshot.readyToUse,
      )
      if (kind === 'VolumeSnapshot' && serving !== undefined)
        expect(remove).not.toContainEqual(expect.objectContaining({ kind, name }))
    })
  })

  it('reclaims nothing that is referenced or kept', () => {
    always((one) => {
      if (!planImage(one, START).remove.some(({ kind }) => kind === 'VMDiskImage')) return
      expect(one.references.count).toBe(0)
      expect(one.spec.ok && one.spec.spec.reclaimPolicy).toBe('Delete')
    })
  })

  it('leaves the status as it is, or says for which generation it is, and the reason of its conditions', () => {
    always((one) => {
      const { status: next } = planImage(one, START)
      if (next === one.image.status) return
      expect(next.observedGeneration).toBe(one.image.metadata.generation)
      expect(next.reason).toBe(reasonOf(next))
    })
  })

  it('has a status that the schema takes: five attempts, no undefined, one condition of a type', () => {
    always((one) => {
      const { status: next } = planImage(one, START)
      expect(next.attempts?.length ?? 0).toBeLessThanOrEqual(5)
      const types = (next.conditions ?? []).map(({ type }) => type)
      expect(new Set(types).size).toBe(types.length)
    })
  })
})

/** What may happen to an image, each where it is possible. */
const ACTS: Readonly<Record<string, (walk: Walk) => unknown>> = {
  admit: (walk) => walk.plan().start?.admissible && walk.world.slot === undefined && walk.admit(),
  claim: (walk) => walk.plan().start?.admissible && walk.world.slot === undefined && walk.claim(),
  run: (walk) => isUnfinished(walk) && walk.report(CDI.running),
  fail: (walk) => isUnfinished(walk) && walk.report(CDI.failing),
  failForGood: (walk) => isUnfinished(walk) && walk.report(CDI.notFound),
  restart: (walk) => isUnfinished(walk) && walk.report({ ...CDI.running, restartCount: 1 }),
  succeed: (walk) => isUnfinished(walk) && walk.report(CDI.succeeded),
  importAgain: (walk) =>
    walk.world.dataVolumes.length > 0 &&
    !isUnfinished(walk) &&
    walk.report({ progress: 'N/A', bound: { status: 'False', reason: 'Pending', message: '' } }),
  importersGone: (walk) => walk.importersGone(),
  dropDataVolumes: (walk) => walk.dropDataVolumes(),
  dropSnapshots: (walk) => walk.set({ snapshots: [] }),
  dropAlias: (walk) => walk.set({ dataSource: undefined }),
  release: (walk) => walk.world.dataVolumes.every(isFinished) && walk.release(),
  ready: (walk) => walk.snapshotReady(),
  later: (walk) => walk.after(MINUTE),
  muchLater: (walk) => walk.after(2 * HOUR),
  editUrl: (walk) => walk.edit({ url: `https://images.example/${walk.log.length}` }),
  editClass: (walk) => walk.edit({ snapshotClass: 'other' }),
  suspend: (walk) => walk.edit({ suspend: true }),
  resume: (walk) => walk.edit({ suspend: undefined }),
  refresh: (walk) => walk.annotate({ [REFRESH]: String(walk.log.length) }),
  retry: (walk) => walk.annotate({ [RETRY]: String(walk.log.length) }),
  secretGone: (walk) => walk.set({ lookup: aLookup({ secrets: ['creds'] }) }),
  secretThere: (walk) => walk.set({ lookup: aLookup() }),
  pause: (walk) => walk.set({ limit: 0 }),
  goOn: (walk) => walk.set({ limit: 4 }),
}
const isUnfinished = (walk: Walk) => walk.world.dataVolumes.some((one) => !isFinished(one))

describe('after any history', () => {
  const histories = fc.array(fc.constantFrom(...Object.keys(ACTS)), { maxLength: 25 })

  function check(history: readonly string[], holds: (walk: Walk) => void): void {
    const walk = new Walk()
    walk.settle()
    for (const name of history) {
      ACTS[name]?.(walk)
      // Coming to rest is a check in itself: a plan for an unchanged world writes nothing.
      walk.settle()
      holds(walk)
    }
  }

  it('the plans come to rest, and stay there until the next time that they asked for', () => {
    fc.assert(
      fc.property(histories, (history) => {
        check(history, (walk) => {
          const waitMs = Math.min(walk.plan().wake?.afterMs ?? HOUR, HOUR)
          const before = walk.log.length
          const now = walk.now
          walk.now += Math.max(0, Math.floor(waitMs) - 1)
          walk.step()
          walk.now = now
          expect(walk.log.slice(before)).toEqual([])
        })
      }),
      { numRuns: 300 },
    )
  })

  it('an image is Syncing only while it holds a slot', () => {
    fc.assert(
      fc.property(histories, (history) =>
        check(history, (walk) => {
          if (walk.status.phase === 'Syncing') expect(walk.world.slot).toBeDefined()
        }),
      ),
      { numRuns: 300 },
    )
  })

  it('Ready says whether there is an artifact', () => {
    fc.assert(
      fc.property(histories, (history) =>
        check(history, (walk) => {
          const { artifact } = walk.status
          expect(walk.condition('Ready')).toBe(artifact === undefined ? 'False' : 'True')
          const names = [...walk.world.snapshots, ...walk.world.claims].map(({ metadata }) => metadata.name)
          if (artifact !== undefined) expect(names).toContain(artifact.name)
        }),
      ),
      { numRuns: 300 },
    )
  })

  it('it is gone with nothing left, once it is deleted', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const walk = new Walk()
        walk.settle()
        for (const name of history) {
          ACTS[name]?.(walk)
          walk.settle()
        }
        walk.markDeleted().settle().importersGone()
        if (walk.world.slot !== undefined) walk.release()
        expect(walk.isGone).toBe(true)
        const left = [...walk.world.dataVolumes, ...walk.world.snapshots]
        expect(left.filter(({ metadata }) => metadata.labels?.[LABELS.imageUid] === IMAGE_UID)).toEqual([])
      }),
      { numRuns: 300 },
    )
  })
})

it('costs a source that always fails no more than one and retryLimit downloads, whatever happens in between', () => {
  const quiet = ['later', 'muchLater', 'secretGone', 'secretThere', 'pause', 'goOn', 'claim', 'dropAlias', 'release']
  fc.assert(
    fc.property(fc.nat(3), fc.array(fc.constantFrom('try', ...quiet), { maxLength: 40 }), (retryLimit, history) => {
      const walk = new Walk({ policy: { retryLimit } })
      walk.settle()
      for (const name of history) {
        if (name === 'try' && walk.world.slot === undefined && walk.plan().start?.admissible) walk.fail()
        else ACTS[name]?.(walk)
        walk.settle()
      }
      expect(walk.log.filter((line) => line.startsWith('create')).length).toBeLessThanOrEqual(1 + retryLimit)
    }),
    { numRuns: 300 },
  )
})
