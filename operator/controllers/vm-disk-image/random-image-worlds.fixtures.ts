import { ANNOTATIONS, FINALIZERS, revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs'
import fc from 'fast-check'
import { toTime } from '../../runtime/conditions.ts'
import { frozen } from '../../runtime/frozen.fixtures.ts'
import { HOUR, START } from '../../runtime/times.fixtures.ts'
import { aClaim, aDataVolume, aPod, aSnapshot, CDI, childMeta, IMAGE_UID, SPEC } from './image-objects.fixtures.ts'
import { aLookup, aWorld, NO_REFERENCES, ONE_USER } from './image-world.fixtures.ts'
import type { ImageWorld } from './world.ts'

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
    finalizers: fc.constantFrom([], [FINALIZERS.vmDiskImage]),
    suspend: maybe(fc.boolean()),
    isCut: fc.constantFrom(false, false, false, true),
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
      ...(one.isCut && { isCut: true }),
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

/** Checks `holds` in many random worlds. */
export function always(holds: (world: ImageWorld) => void): void {
  fc.assert(
    fc.property(world, (one) => {
      holds(frozen(one))
    }),
    { numRuns: 3_000 },
  )
}
