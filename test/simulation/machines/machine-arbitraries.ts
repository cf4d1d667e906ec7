import fc from 'fast-check'
import { duration, maybe, networkAction, processAction, serverAction } from '../arbitraries.ts'
import {
  GUEST_FAULTS,
  MACHINE_CHILDREN,
  MACHINE_EDITS,
  type MachineAction,
  type MachinePlan,
  type MachinePolicyPlan,
  type MachineSchedule,
  type MachineStep,
  NAMESAKES,
  type SourcePlan,
} from './machine-schedule.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const number = fc.nat(99)

const sometimes = (outOf: number) => fc.nat(outOf - 1).map((roll) => roll === 0)

const policy: fc.Arbitrary<MachinePolicyPlan> = fc.record({
  kickLimit: fc.nat(3),
  provisionTimeoutSeconds: fc.constantFrom(30, 60, 120),
  ttlSeconds: fc.constantFrom(undefined, undefined, 0, 30),
  keepSourceVolume: fc.boolean(),
})

const source: fc.Arbitrary<SourcePlan> = fc.record({
  hasSnapshot: fc.nat(3).map((roll) => roll > 0),
  bindsLate: sometimes(4),
  isMadeByPerson: sometimes(3),
})

const machine: fc.Arbitrary<MachinePlan> = fc.record({
  image: number,
  createdAtMs: duration(5 * SECOND, MINUTE),
  interfaces: fc.nat(2),
  hasSecret: sometimes(3),
  ignoreOnDeploy: sometimes(6),
})

const person: fc.Arbitrary<MachineAction> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constantFrom('delete', 'recreate', 'recreate', 'halt', 'virtctl'), machine: number }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('edit' as const),
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
      do: fc.constant('deleteChild' as const),
      machine: number,
      kind: fc.constantFrom(...MACHINE_CHILDREN),
      propagationPolicy: fc.constantFrom('Background', 'Foreground'),
    }),
  },
)

const image: fc.Arbitrary<MachineAction> = fc.record({
  do: fc.constantFrom('deleteImage', 'refreshImage'),
  image: number,
})

const namesake: fc.Arbitrary<MachineAction> = fc.record({
  do: fc.constant('takeName' as const),
  machine: number,
  kind: fc.constantFrom(...NAMESAKES),
})

const secret: fc.Arbitrary<MachineAction> = fc.record({ do: fc.constant('toggleSecret' as const) })

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

const surroundings: fc.Arbitrary<MachineAction> = fc.oneof(
  fc.record({
    do: fc.constant('deleteNamespace' as const),
    namespace: fc.constantFrom('team', 'farm'),
    forMs: duration(20 * SECOND, 3 * MINUTE),
  }),
  fc.record({
    do: fc.constant('uninstall' as const),
    what: fc.constantFrom('CDI', 'KubeVirt'),
    forMs: duration(20 * SECOND, 3 * MINUTE),
  }),
)

/** Keys of the policy that concern machines and their images, with values good and bad. */
const POLICY_VALUES: Readonly<Record<string, readonly string[]>> = {
  vmProvisionTimeout: ['5s', '30s', '2m', '10m', '', '0s', '-5m', 'soon', 'PT5M'],
  kickLimit: ['0', '1', '2', '5', '', '-1', '1.5', '1e9', 'many'],
  reclaimPolicy: ['Retain', 'Delete', 'delete', ''],
  unreferencedTTL: ['0s', '20s', '72h', '-1s', 'never'],
  keepSourceVolume: ['true', 'false', 'yes'],
  concurrency: ['0', '1', '4', '-1', 'all'],
}

const policyAction: fc.Arbitrary<MachineAction> = fc.oneof(
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

/** Among the kinds that {@link networkAction} names there are no machines. */
const faultyKind = maybe(
  fc.constantFrom('VirtualMachine', 'VirtualMachineInstance', 'DataVolume', 'Secret', 'VMDiskImage', 'VolumeSnapshot'),
)
const network: fc.Arbitrary<MachineAction> = fc
  .tuple(networkAction, faultyKind)
  .map(([action, kind]) => ('kind' in action ? { ...action, kind } : action) as MachineAction)

const GROUPS = {
  person,
  image,
  namesake,
  secret,
  guest,
  surroundings,
  policy: policyAction,
  process: processAction as fc.Arbitrary<MachineAction>,
  network,
  servers: serverAction as fc.Arbitrary<MachineAction>,
}
type Leanings = Readonly<Partial<Record<keyof typeof GROUPS, number>>>

function schedule(leanings: Leanings, usualGapMs = 10 * SECOND): fc.Arbitrary<MachineSchedule> {
  const weighted = Object.entries(GROUPS).flatMap(([group, arbitrary]) => {
    const weight = leanings[group as keyof Leanings] ?? 0
    return weight === 0 ? [] : [{ weight, arbitrary }]
  })
  const step: fc.Arbitrary<MachineStep> = fc.record({
    afterMs: duration(usualGapMs, 10 * usualGapMs),
    action: fc.oneof(...weighted),
  })
  return fc.record({
    seed: fc.nat(),
    replicas: fc.constantFrom(1, 2),
    policy,
    cloneMs: fc.constantFrom(100, 5 * SECOND, 40 * SECOND),
    images: fc.array(source, { minLength: 1, maxLength: 2 }),
    machines: fc.array(machine, { minLength: 1, maxLength: 4, size: 'max' }),
    steps: fc.array(step, { maxLength: 30, size: 'max' }),
  })
}

const PEOPLE: Leanings = { person: 8, image: 4, namesake: 1, secret: 1, guest: 4 }

/** Kinds of schedules, by name: a seed and a name give the same schedules again. */
export const MACHINE_FAMILIES = {
  /** Everything may happen. */
  machines: schedule({ ...PEOPLE, process: 5, network: 6 }),
  /** What people and other systems do, without any trouble for the operator. */
  machinesCalm: schedule(PEOPLE),
  /** A bad link to the API server. */
  machinesDisconnected: schedule({ person: 3, image: 3, network: 10, process: 2 }),
  /** Watches go from one API server to another, which is behind. */
  machinesLagging: schedule({ person: 6, image: 4, secret: 1, guest: 2, process: 3, servers: 10 }),
  /** Guests that hang and crash, and nobody there to see it for a while. */
  machinesHanging: schedule({ guest: 6, process: 3, network: 2 }, 30 * SECOND),
  /** What machines rest on is taken away under them, and comes back: namespaces, CDI, KubeVirt; and the policy changes. */
  machinesUprooted: schedule({ ...PEOPLE, surroundings: 5, policy: 6, process: 2, network: 2 }),
} as const satisfies Record<string, fc.Arbitrary<MachineSchedule>>
export type MachineFamily = keyof typeof MACHINE_FAMILIES
