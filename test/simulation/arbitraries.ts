import fc from 'fast-check'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
import {
  type Action,
  type CdiFaultType,
  CHILDREN,
  EDITS,
  type ImagePlan,
  type PolicyPlan,
  REQUEST_FAULTS,
  type SourceNature,
  WATCH_FAULTS,
} from './schedule.ts'

/** A duration of up to `usual`, one time in five up to `most`: long waits must occur, but must not make schedules sparse. */
export function duration(usual: number, most: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: usual }) },
    { weight: 1, arbitrary: fc.integer({ min: usual, max: most }) },
  )
}

/** Undefined once in `outOf` times, which is at least 2: with 1 it would always be. */
export function maybe<T>(arbitrary: fc.Arbitrary<T>, outOf = 2): fc.Arbitrary<T | undefined> {
  return fc.option(arbitrary, { nil: undefined, freq: outOf })
}

/** True once in `outOf` times. */
export function sometimes(outOf: number): fc.Arbitrary<boolean> {
  return fc.nat(outOf - 1).map((roll) => roll === 0)
}

const nature = fc.oneof(
  { weight: 8, arbitrary: fc.constant<SourceNature>('good') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('missing') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('forbidden') },
  { weight: 2, arbitrary: fc.constant<SourceNature>('broken') },
  { weight: 1, arbitrary: fc.constant<SourceNature>('blank') },
)

const rarely = fc.integer({ min: 0, max: 19 }).map((roll) => roll === 19)

export function image(createdAtMs: fc.Arbitrary<number>): fc.Arbitrary<ImagePlan> {
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

export const imageAction: fc.Arbitrary<Action> = fc.oneof(
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

export const toggle: fc.Arbitrary<Action> = fc.record({
  do: fc.constant('toggle' as const),
  what: fc.constantFrom('Secret', 'StorageClass', 'VolumeSnapshotClass'),
  number: fc.nat(2),
})

const BAD_VALUES = ['', ' 4x', '4.0', '-1', '1e9', 'NaN', '9007199254740993', '🙂', '5', 'PT5M', 'null']
const POLICY_KEYS = ['concurrency', 'retryLimit', 'retryBackoffDuration', 'attemptTimeout', 'keepSourceVolume', 'typo']

const limit = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 50 }))

export const policyAction: fc.Arbitrary<Action> = fc.oneof(
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

export const ledgerAction: fc.Arbitrary<Action> = fc.record({ do: fc.constantFrom('deleteLedger', 'garbleLedger') })

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

export const cdiAction: fc.Arbitrary<Action> = fc.oneof(
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

export const surroundingsAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    do: fc.constant('deleteNamespace' as const),
    namespace: fc.nat(2),
    forMs: duration(30 * SECOND, 3 * MINUTE),
  }),
  duration(30 * SECOND, 3 * MINUTE).map((forMs): Action => ({ do: 'uninstall', what: 'CDI', forMs })),
)

export const outageAction: fc.Arbitrary<Action> = fc.oneof(
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

const faults = <Do extends string, Fault>(what: Do, kinds: readonly Fault[]) => ({
  weight: 5,
  arbitrary: fc.record({
    do: fc.constant(what),
    fault: fc.constantFrom(...kinds),
    percent,
    forMs: duration(20 * SECOND, 2 * MINUTE),
    kind: maybe(fc.constantFrom(...FAULTY_KINDS)),
  }),
})

export const networkAction: fc.Arbitrary<Action> = fc.oneof(
  faults('requestFaults', REQUEST_FAULTS),
  faults('watchFaults', WATCH_FAULTS),
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('compact' as const, 'breakWatches' as const) }) },
)

/** Returns {@link networkAction} with these kinds in place of its own. */
export function networkActionOn(...kinds: readonly string[]): fc.Arbitrary<Action> {
  return fc
    .tuple(networkAction, maybe(fc.constantFrom(...kinds)))
    .map(([action, kind]) => ('kind' in action ? { ...action, kind } : action) as Action)
}

/** Several API servers, one of which lags behind, and a load balancer that switches between them. */
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

export const policy: fc.Arbitrary<PolicyPlan> = fc.record({
  concurrency: fc.oneof(fc.integer({ min: 1, max: 4 }), limit),
  retryLimit: fc.nat(3),
  backoffSeconds: fc.integer({ min: 1, max: 40 }),
  keepSourceVolume: fc.boolean(),
})
