import fc from 'fast-check'
import type { DataSyncPlan } from './data-syncs/data-sync-schedule.ts'
import {
  type Action,
  type CdiFaultType,
  CHILDREN,
  EDITS,
  type ImagePlan,
  type PolicyPlan,
  REQUEST_FAULTS,
  type Schedule,
  type SourceNature,
  type Step,
  WATCH_FAULTS,
} from './schedule.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

/** Mostly up to `usual`, now and then up to `most`: long waits must be met, but cost no schedule its density. */
export function duration(usual: number, most: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: usual }) },
    { weight: 1, arbitrary: fc.integer({ min: usual, max: most }) },
  )
}

export function maybe<T>(arbitrary: fc.Arbitrary<T>, freq = 1): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq })
}

const nature = fc.oneof(
  { weight: 8, arbitrary: fc.constant<SourceNature>('good') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('missing') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('forbidden') },
  { weight: 2, arbitrary: fc.constant<SourceNature>('broken') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('blank') },
)

const rarely = fc.integer({ min: 0, max: 19 }).map((roll) => roll === 19)

function image(createdAtMs: fc.Arbitrary<number>): fc.Arbitrary<ImagePlan> {
  return fc.record({
    namespace: fc.nat(2),
    nature,
    downloadSeconds: fc.integer({ min: 0, max: 20 }),
    snapshotClass: maybe(fc.nat(1), 4),
    secret: fc.oneof(fc.constant(undefined), fc.constant(undefined), fc.nat(2)),
    storageClass: fc.oneof(fc.constant(0), fc.constant(0), fc.constant(0), fc.nat(2)),
    failures: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(4)),
    createdAtMs,
    ttlSeconds: fc.oneof(fc.constant(undefined), fc.constant(undefined), fc.constant(undefined), fc.nat(300)),
    isInvalid: rarely,
  })
}

const imageNumber = fc.nat(99)

const imageAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('edit' as const),
      image: imageNumber,
      field: fc.constantFrom(...EDITS),
      value: fc.nat(3),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('delete', 'recreate', 'retryNow', 'refresh', 'spoil', 'heal'),
      image: imageNumber,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('suspend' as const), image: imageNumber, suspend: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('deleteChild' as const),
      image: imageNumber,
      kind: fc.constantFrom(...CHILDREN),
      foreground: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clone' as const),
      image: imageNumber,
      forMs: duration(MINUTE, 20 * MINUTE),
    }),
  },
)

const toggle: fc.Arbitrary<Action> = fc.record({
  do: fc.constant('toggle' as const),
  what: fc.constantFrom('Secret', 'StorageClass', 'VolumeSnapshotClass'),
  number: fc.nat(2),
})

const BAD_VALUES = ['', ' 4x', '4.0', '-1', '1e9', 'NaN', '9007199254740993', '🙂', '5', 'PT5M', 'null']
const POLICY_KEYS = ['concurrency', 'retryLimit', 'retryBackoffDuration', 'attemptTimeout', 'keepSourceVolume', 'typo']

const limit = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 50 }))

const policyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('setLimit' as const), limit }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('setRetryLimit' as const), retryLimit: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('setPolicy' as const),
      key: fc.constantFrom(...POLICY_KEYS),
      value: fc.constantFrom(...BAD_VALUES),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deletePolicy' as const), forMs: duration(10 * SECOND, 2 * MINUTE) }),
  },
)

const ledgerAction: fc.Arbitrary<Action> = fc.record({ do: fc.constantFrom('deleteLedger', 'garbleLedger') })

const CDI_FAULTS: readonly CdiFaultType[] = [
  'error',
  'hiddenError',
  'oomKilled',
  'evicted',
  'checksumMismatch',
  'scratchSpaceRequired',
  'stall',
  'imagePull',
  'unschedulable',
  'quota',
  'unprovisioned',
  'slowEnd',
]

const cdiAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('cdiFault' as const),
      image: maybe(imageNumber, 5),
      fault: fc.constantFrom(...CDI_FAULTS),
      times: fc.integer({ min: 1, max: 4 }),
      forMs: duration(MINUTE, 10 * MINUTE),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('snapshotFault' as const),
      image: imageNumber,
      fault: fc.constantFrom('error', 'neverReady', 'slow'),
      forMs: duration(MINUTE, 5 * MINUTE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('restartSimulators' as const), downMs: duration(5 * SECOND, MINUTE) }),
  },
)

const surroundingsAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    do: fc.constant('deleteNamespace' as const),
    namespace: fc.nat(2),
    forMs: duration(30 * SECOND, 3 * MINUTE),
  }),
  duration(30 * SECOND, 3 * MINUTE).map((forMs): Action => ({ do: 'uninstall', what: 'CDI', forMs })),
)

const outageAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant('stopCdi' as const), forMs: duration(2 * MINUTE, 20 * MINUTE) }),
  fc.record({ do: fc.constant('drain' as const), image: imageNumber }),
)

const replica = fc.nat(1)

export const processAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant('crash' as const), replica, downMs: duration(2 * SECOND, MINUTE) }),
  fc.record({ do: fc.constant('stop' as const), replica, downMs: duration(2 * SECOND, MINUTE) }),
  fc.record({ do: fc.constant('freeze' as const), replica, forMs: duration(30 * SECOND, 2 * MINUTE) }),
)

const FAULTY_KINDS = ['ConfigMap', 'DataVolume', 'VMDiskImage', 'VolumeSnapshot', 'DataSource', 'Pod', 'Lease']
const percent = fc.constantFrom(3, 10, 30, 60, 100)

export const networkAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('requestFaults' as const),
      fault: fc.constantFrom(...REQUEST_FAULTS),
      percent,
      forMs: duration(20 * SECOND, 2 * MINUTE),
      kind: maybe(fc.constantFrom(...FAULTY_KINDS)),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('watchFaults' as const),
      fault: fc.constantFrom(...WATCH_FAULTS),
      percent,
      forMs: duration(20 * SECOND, 2 * MINUTE),
      kind: maybe(fc.constantFrom(...FAULTY_KINDS)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('compact' as const, 'breakWatches' as const) }) },
)

/** More than one API server, of which one is behind, and a load balancer that changes its mind. */
export const serverAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('laggingServer' as const),
      percent: fc.constantFrom(30, 60, 100),
      lagMs: duration(5 * SECOND, MINUTE),
      whenAhead: fc.constantFrom('wait', 'wait', 'replay', 'refuse'),
      forMs: duration(MINUTE, 5 * MINUTE),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('breakWatches' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
)

const policy: fc.Arbitrary<PolicyPlan> = fc.record({
  concurrency: fc.oneof(fc.integer({ min: 1, max: 4 }), limit),
  retryLimit: fc.nat(3),
  backoffSeconds: fc.integer({ min: 1, max: 40 }),
  keepSourceVolume: fc.boolean(),
})

const dataSyncNumber = fc.nat(9)
const source = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3, max: 4 }) },
)
const snapshotClass = maybe(fc.nat(1), 4)

const dataSyncAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('setVm' as const), dataSync: dataSyncNumber, vm: fc.nat(3), source }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('deleteDataSync', 'recreateDataSync', 'askForSync', 'askForRetry'),
      dataSync: dataSyncNumber,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('removeVm', 'deleteVmImage', 'takeVmName'),
      dataSync: dataSyncNumber,
      vm: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('setVersion' as const), dataSync: dataSyncNumber, version: fc.nat(2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('setDefault' as const), dataSync: dataSyncNumber, snapshotClass }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('editVmImage' as const), dataSync: dataSyncNumber, vm: fc.nat(3), source }),
  },
)

function dataSync(vms: number): fc.Arbitrary<DataSyncPlan> {
  return fc.record({
    namespace: fc.nat(1),
    workspace: fc.nat(1),
    version: fc.nat(2),
    vms: fc.array(fc.record({ vm: fc.nat(3), source }), { minLength: 1, maxLength: vms, size: 'max' }),
    snapshotClass,
    createdAtMs: duration(3 * SECOND, MINUTE),
  })
}

/** Which kinds of actions a schedule is made of; each schedule leans to a few of them. */
const GROUPS = {
  image: imageAction,
  dataSync: dataSyncAction,
  toggle,
  policy: policyAction,
  ledger: ledgerAction,
  cdi: cdiAction,
  surroundings: surroundingsAction,
  outage: outageAction,
  process: processAction,
  network: networkAction,
  servers: serverAction,
} as const

type Leanings = Readonly<Partial<Record<keyof typeof GROUPS, number>>>

function steps(leanings: Leanings, size: { maxLength: number; usualGapMs: number }): fc.Arbitrary<Step[]> {
  const weighted = Object.entries(GROUPS).flatMap(([group, arbitrary]) => {
    const weight = leanings[group as keyof Leanings] ?? 0
    return weight === 0 ? [] : [{ weight, arbitrary: arbitrary as fc.Arbitrary<Action> }]
  })
  const step = fc.record({ afterMs: duration(size.usualGapMs, 10 * size.usualGapMs), action: fc.oneof(...weighted) })
  return fc.array(step, { maxLength: size.maxLength, size: 'max' })
}

/** A few images, and what happens to them. */
function story(leanings: Leanings): fc.Arbitrary<Schedule> {
  return fc.record({
    seed: fc.nat(),
    replicas: fc.constantFrom(1, 2),
    policy,
    images: fc.array(image(duration(3 * SECOND, MINUTE)), { minLength: 1, maxLength: 12, size: 'max' }),
    steps: steps(leanings, { maxLength: 25, usualGapMs: 5 * SECOND }),
  })
}

/** Everything may happen: each schedule is a story of its own. */
const varied = story({
  image: 10,
  toggle: 3,
  policy: 4,
  ledger: 1,
  cdi: 6,
  surroundings: 1,
  process: 6,
  network: 6,
})

/**
 * A long queue of images that fail and are tried again, under a limit that moves, with a network and processes that fail:
 * most of what happens are admissions.
 */
const crowded: fc.Arbitrary<Schedule> = fc.record({
  seed: fc.nat(),
  replicas: fc.constantFrom(1, 2),
  policy: fc.record({
    concurrency: fc.integer({ min: 1, max: 50 }),
    retryLimit: fc.integer({ min: 2, max: 8 }),
    backoffSeconds: fc.integer({ min: 1, max: 10 }),
    keepSourceVolume: fc.constant(true),
  }),
  images: fc.array(
    image(duration(3 * SECOND, MINUTE)).map((one): ImagePlan => ({ ...one, downloadSeconds: one.downloadSeconds % 4 })),
    { minLength: 50, maxLength: 200, size: 'max' },
  ),
  steps: steps(
    { image: 4, toggle: 1, policy: 6, ledger: 1, cdi: 3, surroundings: 0, process: 4, network: 6 },
    { maxLength: 25, usualGapMs: 6 * SECOND },
  ),
})

/** Pipelines with a few DataSyncs that meet in the same images, beside images of people. */
function release(leanings: Leanings, [minLength, maxLength] = [1, 4]): fc.Arbitrary<Schedule> {
  return fc
    .record({
      schedule: story(leanings),
      dataSyncs: fc.array(dataSync(4), { minLength, maxLength, size: 'max' }),
      ttl: fc.constantFrom(undefined, undefined, '0s', '30s'),
    })
    .map(({ schedule, dataSyncs, ttl }) => ({
      ...schedule,
      policy: { ...schedule.policy, ...(ttl !== undefined && { more: { unreferencedTTL: ttl } }) },
      images: schedule.images.slice(0, 2),
      dataSyncs,
    }))
}

const LATE_CREATES: Action = { do: 'requestFaults', fault: 'late', percent: 60, forMs: 2 * MINUTE, kind: 'DataVolume' }

/** Kinds of schedules, by name: a seed and a name give the same schedules again. */
export const FAMILIES = {
  varied,
  crowded,
  /** What people and other systems do, without any trouble for the operator. */
  undisturbed: story({ image: 10, toggle: 3, policy: 4, cdi: 6 }),
  /** People who edit, refresh and clone. */
  curators: story({ image: 1 }),
  /** Failing imports, and nobody there to see it. */
  unattended: story({ cdi: 4, process: 4 }),
  /** CDI stops, nodes are drained, imports fail: what an importer did is told by its pod alone. */
  outages: story({ cdi: 4, outage: 8 }),
  /** Everybody comes at once, and one after the other is served. */
  rush: fc.record({
    seed: fc.nat(),
    replicas: fc.constantFrom(1, 2),
    policy: policy.map((one) => ({ ...one, concurrency: 1 + (one.concurrency % 3) })),
    images: fc.array(image(fc.nat(2 * SECOND)), { minLength: 8, maxLength: 20, size: 'max' }),
    steps: steps({ process: 1, cdi: 1 }, { maxLength: 5, usualGapMs: 10 * SECOND }),
  }),
  /** Creates of DataVolumes are carried out long after anybody waits for their answer, and people change their minds meanwhile. */
  delayed: story({ image: 10, process: 2, network: 1 }).map((schedule) => ({
    ...schedule,
    steps: [{ afterMs: 0, action: LATE_CREATES }, ...schedule.steps],
  })),
  /** A bad link to the API server. */
  disconnected: story({ image: 3, policy: 2, network: 10, process: 2 }),
  /** DataSyncs, and everything that may happen to them and to what they rest on. */
  dataSyncs: release({ dataSync: 12, image: 1, policy: 2, cdi: 3, surroundings: 1, process: 4, network: 4 }),
  /** What pipelines and people do, without any trouble for the operator. */
  dataSyncsCalm: release({ dataSync: 12, cdi: 2 }),
  dataSyncsDisconnected: release({ dataSync: 6, network: 10, process: 2 }),
  /** Most of what happens are admissions. */
  dataSyncsCrowd: release({ dataSync: 12, policy: 4, cdi: 2, process: 3, network: 3 }, [8, 14]),
  dataSyncsLagging: release({ dataSync: 8, cdi: 1, process: 3, servers: 8 }),
  /** Watches go from one API server to another, which is behind. */
  lagging: story({ image: 8, toggle: 2, policy: 2, cdi: 3, process: 3, servers: 10 }),
} as const satisfies Record<string, fc.Arbitrary<Schedule>>
