import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { duration, maybe, networkActionOn, sometimes } from '../arbitraries.ts'
import type { Action, PolicyPlan } from '../schedule.ts'
import {
  GUEST_FAULTS,
  MACHINE_CHILDREN,
  MACHINE_EDITS,
  type MachineAction,
  type MachinePlan,
  NAMESAKES,
  type SourcePlan,
} from './machine-schedule.ts'

const number = fc.nat(99)

export interface MachinePolicyPlan {
  readonly kickLimit: number
  readonly provisionTimeoutSeconds: number
  /** `unreferencedTTL` of images that machines created; undefined: far longer than any run. */
  readonly ttlSeconds: number | undefined
  readonly keepSourceVolume: boolean
}

export const machinePolicy: fc.Arbitrary<MachinePolicyPlan> = fc.record({
  kickLimit: fc.nat(3),
  provisionTimeoutSeconds: fc.constantFrom(30, 60, 120),
  ttlSeconds: fc.constantFrom(undefined, undefined, 0, 30),
  keepSourceVolume: fc.boolean(),
})

/** All other keys have usual values. */
export function policyOf({
  kickLimit,
  provisionTimeoutSeconds,
  ttlSeconds,
  keepSourceVolume,
}: MachinePolicyPlan): PolicyPlan {
  return {
    concurrency: 4,
    retryLimit: 2,
    backoffSeconds: 5,
    keepSourceVolume,
    more: {
      // An image whose template names no class is cloned from its claim.
      defaultSnapshotClass: '',
      kickLimit: String(kickLimit),
      vmProvisionTimeout: `${provisionTimeoutSeconds}s`,
      ...(ttlSeconds !== undefined && { unreferencedTTL: `${ttlSeconds}s` }),
    },
  }
}

export const source: fc.Arbitrary<SourcePlan> = fc.record({
  hasSnapshot: fc.nat(3).map((roll) => roll > 0),
  bindsLate: sometimes(4),
  isMadeByPerson: sometimes(3),
})

export const machine: fc.Arbitrary<MachinePlan> = fc.record({
  source: number,
  createdAtMs: duration(5 * SECOND, MINUTE),
  interfaces: fc.nat(2),
  hasSecret: sometimes(3),
  ignoreOnDeploy: sometimes(6),
})

const person: fc.Arbitrary<MachineAction> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('deleteMachine', 'recreateMachine', 'recreateMachine', 'halt', 'virtctl'),
      machine: number,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('editMachine' as const),
      machine: number,
      field: fc.constantFrom(...MACHINE_EDITS),
      value: fc.nat(3),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('ignoreOnDeploy' as const), machine: number, ignore: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('deleteMachineChild' as const),
      machine: number,
      kind: fc.constantFrom(...MACHINE_CHILDREN),
      propagationPolicy: fc.constantFrom('Background', 'Foreground'),
    }),
  },
)

const sourceAction: fc.Arbitrary<MachineAction> = fc.record({
  do: fc.constantFrom('deleteSource', 'refreshSource'),
  source: number,
})

const namesake: fc.Arbitrary<MachineAction> = fc.record({
  do: fc.constant('takeName' as const),
  machine: number,
  kind: fc.constantFrom(...NAMESAKES),
})

const login: fc.Arbitrary<MachineAction> = fc.record({ do: fc.constant('toggleLogin' as const) })

const guest: fc.Arbitrary<MachineAction> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('guestFault' as const),
      machine: maybe(number, 4),
      fault: fc.constantFrom('neverReady' as const, ...GUEST_FAULTS),
      times: fc.integer({ min: 1, max: 3 }),
      forMs: duration(2 * MINUTE, 10 * MINUTE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('cloneFault' as const),
      fault: fc.constantFrom('slowClone', 'cloneStalls'),
      forMs: duration(MINUTE, 5 * MINUTE),
    }),
  },
)

const uprooting: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    do: fc.constant('deleteNamespace' as const),
    namespace: fc.constantFrom(0, 1),
    forMs: duration(20 * SECOND, 3 * MINUTE),
  }),
  fc.record({
    do: fc.constant('uninstall' as const),
    what: fc.constantFrom('CDI', 'KubeVirt'),
    forMs: duration(20 * SECOND, 3 * MINUTE),
  }),
)

/** Outages of the controllers whose reports the operator judges machines by. */
const neighbour: fc.Arbitrary<Action> = fc.record({
  do: fc.constantFrom('stopKubevirt' as const, 'stopKubevirt' as const, 'stopCdi' as const),
  forMs: duration(2 * MINUTE, 10 * MINUTE),
})

/** Keys of the policy that concern machines and their images, with valid and invalid values. */
const POLICY_VALUES: Readonly<Record<string, readonly string[]>> = {
  vmProvisionTimeout: ['5s', '30s', '2m', '10m', '', '0s', '-5m', 'soon', 'PT5M'],
  kickLimit: ['0', '1', '2', '5', '', '-1', '1.5', '1e9', 'many'],
  reclaimPolicy: ['Retain', 'Delete', 'delete', ''],
  unreferencedTTL: ['0s', '20s', '72h', '-1s', 'never'],
  keepSourceVolume: ['true', 'false', 'yes'],
  concurrency: ['0', '1', '4', '-1', 'all'],
}

const keys: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .constantFrom(...Object.entries(POLICY_VALUES))
      .chain(([key, values]) =>
        fc.record({ do: fc.constant('setPolicy' as const), key: fc.constant(key), value: fc.constantFrom(...values) }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deletePolicy' as const), forMs: duration(MINUTE, 5 * MINUTE) }),
  },
)

/** The kinds that `networkAction` names include no machines. */
const network = networkActionOn(
  'VirtualMachine',
  'VirtualMachineInstance',
  'DataVolume',
  'Secret',
  'VMDiskImage',
  'VolumeSnapshot',
)

/** Groups of actions in schedules with machines, besides those of all schedules. */
export const MACHINE_GROUPS = {
  machine: person,
  source: sourceAction,
  namesake,
  login,
  guest,
  uprooting,
  neighbour,
  keys,
} as const
export const MACHINE_NETWORK = network
