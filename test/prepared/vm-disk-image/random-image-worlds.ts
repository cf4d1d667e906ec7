import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { FINALIZERS, revisionOf, type VMDiskImageSpec } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { toTime } from '../../../operator/base/time.ts'
import { nextAttempt } from '../../../operator/controllers/vm-disk-image/decide/attempts.ts'
import { resolveSpec } from '../../../operator/controllers/vm-disk-image/decide/target.ts'
import type { AdoptableView, ImageWorld, Refusal } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { Laws } from '../runtime/laws.ts'
import { HOUR, MINUTE, START } from '../runtime/times.ts'
import { adopting, anAdoptable } from './adoption.ts'
import { aClaim, aDataVolume, aPod, aSnapshot, CDI, childMeta, IMAGE_UID, ownedBy, SPEC } from './image-objects.ts'
import { aLookup, anImageWorld, NO_REFERENCES, ONE_USER } from './image-world.ts'

const WANTED = revisionOf(SPEC as unknown as VMDiskImageSpec)

const revision = fc.constantFrom(WANTED, WANTED, WANTED, '01234567')

const within = (ms: number) => fc.integer({ min: -ms, max: ms }).map((offset) => toTime(START + offset))

const time = fc.oneof(within(2 * HOUR), within(MINUTE))

/** Up to two of different names, and in half of the worlds none. */
const someOf = <T extends KubeObject>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof(
    fc.constant<T[]>([]),
    fc.uniqueArray(arbitrary, { minLength: 1, maxLength: 2, selector: ({ metadata }) => metadata.name }),
  )

/** Undefined, or once in `times` one of these. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>, times: number) =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const gone = (at: string | undefined) => (at === undefined ? {} : { deletionTimestamp: at })

const state = fc.constantFrom<Parameters<typeof aDataVolume>[0]>(
  CDI.new,
  CDI.new,
  CDI.running,
  CDI.running,
  CDI.failing,
  CDI.notFound,
  CDI.succeeded,
  CDI.succeeded,
  CDI.succeeded,
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
    at: rarely(time, 5),
    creationTimestamp: time,
    attempt: fc.constantFrom(1, 2, 3, 4, 4, 4),
  })
  .map(({ revision: of, state: how, at, creationTimestamp, attempt }) => {
    const uid = of === WANTED ? 'dv-1' : 'dv-2'
    const annotations = { [ANNOTATIONS.attempt]: String(attempt) }
    const more = { uid, annotations, creationTimestamp, ...gone(at) }
    return aDataVolume({ ...how, metadata: childMeta(`img-${of}`, of, more) })
  })

const snapshot = fc
  .record({
    revision,
    at: rarely(time, 5),
    creationTimestamp: time,
    readyToUse: fc.boolean(),
    snapshotClass: fc.constantFrom('snap', 'other'),
  })
  .map(({ revision: of, at, creationTimestamp, ...more }) =>
    aSnapshot(childMeta(`img-${of}`, of, { uid: `vs-${of}`, creationTimestamp, ...gone(at) }), more),
  )

const attempt = fc.record({
  number: fc.integer({ min: 1, max: 4 }),
  revision,
  outcome: fc.constantFrom('Succeeded', 'Failed', 'Failed', 'Cancelled'),
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

/** When a refusal of the DataVolume ends. */
type Ends = Pick<Refusal, 'until'>

const slot = fc.record({ revision, attempt: fc.integer({ min: 1, max: 4 }) })

const world = fc
  .record({
    status,
    dataVolumes: someOf(dataVolume),
    snapshots: someOf(snapshot),
    isCurrent: fc.boolean(),
    claims: fc.constantFrom(undefined, 'Bound', 'Bound', 'Pending', 'Lost'),
    slot: rarely(slot, 3),
    isSlotKnown: rarely(fc.constant(false), 4),
    isCreateFailing: fc.boolean(),
    slotWaitsFor: fc.constantFrom(undefined, 'claim', 'doubtful', 'orphaned'),
    refusal: rarely(fc.constantFrom<Ends>({}, { until: START - HOUR }, { until: START + HOUR }), 5),
    writeRefusal: rarely(fc.constant('denied'), 5),
    isOurs: fc.boolean(),
    pods: fc.array(
      fc.constantFrom('pod-1', 'pod-2').map((uid) => aPod(uid)),
      { maxLength: 2 },
    ),
    alias: fc.constantFrom('none', 'ours', 'foreign'),
    at: rarely(time, 6),
    finalizers: fc.constantFrom([], [FINALIZERS.vmDiskImage]),
    suspend: rarely(fc.boolean(), 4),
    isCut: rarely(fc.constant(true), 10),
    diskSize: fc.constantFrom('10Gi', '10Gi', '10Gi', '10Gi', '10Gi', '10Gi', undefined, 'huge'),
    snapshotClass: fc.constantFrom('snap', 'snap', undefined),
    reclaimPolicy: fc.constantFrom(undefined, 'Delete', 'Retain'),
    references: fc.constantFrom(NO_REFERENCES, ONE_USER),
    namespaceTerminating: rarely(fc.constant(true), 8),
    isSecretMissing: rarely(fc.constant(true), 4),
    isSnapshotClassMissing: rarely(fc.constant(true), 6),
    keepSourceVolume: fc.boolean(),
    retryLimit: fc.constantFrom(0, 1, 3, 5),
    limit: fc.nat(2),
    seenMs: fc.constantFrom(0, HOUR),
    unchangedMs: fc.constantFrom(0, HOUR),
    starts: fc.constantFrom(undefined, 0, 1, 3),
    isCdiAway: fc.boolean(),
    adopts: rarely(fc.constantFrom('DataVolume', 'PersistentVolumeClaim', 'VolumeSnapshot'), 4),
    adoptable: fc.constantFrom<Partial<AdoptableView>>({}, {}, {}, { sighted: undefined }, { claim: undefined }),
  })
  .map((one): ImageWorld => {
    const isAlias = one.alias !== 'none'
    const alias = childMeta('img', WANTED, { uid: 'alias', ...(one.alias === 'foreign' && { ownerReferences: [] }) })
    const made = anImageWorld({
      metadata: {
        finalizers: one.finalizers,
        ...(one.adopts !== undefined && { annotations: adopting(one.adopts) }),
        ...(one.isOurs && { labels: { [LABELS.createdBy]: 'VirtualMachine' } }),
        ...gone(one.at),
      },
      status: one.status as never,
      spec: {
        suspend: one.suspend,
        diskSize: one.diskSize,
        snapshotClass: one.snapshotClass,
        reclaimPolicy: one.reclaimPolicy,
      },
      ...(one.isCut === true && { isCut: true }),
      policy: { keepSourceVolume: one.keepSourceVolume, retryLimit: one.retryLimit },
      dataVolumes: one.dataVolumes,
      snapshots: one.snapshots,
      claims: one.dataVolumes.flatMap((dataVolume) => {
        if (one.claims === undefined) return []
        const { name, uid } = dataVolume.metadata
        return aClaim(childMeta(name, '0', { uid: `claim of ${uid}`, ownerReferences: [ownedBy(dataVolume)] }), {
          phase: one.claims,
        })
      }),
      slot: one.slot && { uid: IMAGE_UID, namespace: 'team', name: 'img', claimant: 'me', ...one.slot },
      isSlotKnown: one.slot !== undefined || one.isSlotKnown !== false,
      isCreateFailing: one.isCreateFailing,
      slotWaitsFor: one.slotWaitsFor,
      writeRefusal: one.writeRefusal,
      dataSource: isAlias
        ? { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataSource', metadata: alias, spec: {} }
        : undefined,
      references: one.references,
      namespaceTerminating: one.namespaceTerminating === true,
      lookup: aLookup({
        ...(one.isSecretMissing === true && { secret: 'missing' }),
        hasSnapshotClass: one.isSnapshotClassMissing !== true,
      }),
      limit: one.limit,
      observation: {
        dataVolumeUid: one.dataVolumes[0]?.metadata.uid,
        importers: one.pods,
        seenMs: one.seenMs,
        unchangedMs: one.unchangedMs,
        importerPodUid: 'pod-1',
        starts: one.starts,
        isImporterLost: one.pods.some(({ metadata }) => metadata.uid !== 'pod-1'),
      },
      isCdiAway: one.isCdiAway,
      adoptable: one.adopts && anAdoptable(one.adopts, one.adoptable),
    })
    return withTarget(made, one)
  })

/** Lets status, slot and refusal be about what the image wants, which follows from the rest. */
function withTarget(
  world: ImageWorld,
  { isCurrent, refusal: ends }: { readonly isCurrent: boolean; readonly refusal: Ends | undefined },
): ImageWorld {
  if (!world.spec.ok) return world
  const { image } = world
  const { revision, budgetKey, defaults } = world.spec.target
  const budget = { downloads: 0, ...image.status.budget, key: budgetKey }
  const status = isCurrent ? { ...image.status, revision, defaults, budget } : image.status
  const refusal = ends && ({ reason: 'CreateFailed', message: 'refused', revision, budgetKey, ...ends } as const)
  const { slot } = world
  const held = slot && isCurrent ? { ...slot, revision, attempt: nextAttempt(status) } : slot
  const targeted = { ...image, status }
  return { ...world, image: targeted, spec: resolveSpec(targeted, world.policy), slot: held, refusal }
}

const laws = new Laws(world)

/** Checks `holds` in many random worlds. */
export function always(holds: (world: ImageWorld) => void, numRuns = 3_000): void {
  laws.check(holds, numRuns)
}
