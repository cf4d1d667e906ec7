import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { duration, maybe, networkActionOn, sometimes } from '../arbitraries.ts'
import type { Action, Schedule, Step } from '../schedule.ts'
import {
  CLUSTER_WORDS,
  type ClusterWord,
  LAB_WORDS,
  NETWORK_WORDS,
  type NetworkWord,
  VM_WORDS,
  type VmWord,
  WORD_KEYS,
  type Words,
} from './lab-words.ts'
import { PLAYER } from './labs.ts'
import {
  type ClusterOfPlan,
  LAB_GUEST_FAULTS,
  PARTS,
  PLAY_FAULTS,
  PLAY_HARMS,
  POD_FAULTS,
  type VmOfPlan,
  type WorkspaceAction,
  type WorkspacePlan,
} from './workspace-schedule.ts'

const workspaceNumber = fc.nat(9)
/** Most machines have an image that downloads. The last image always fails. */
const image = fc.oneof(
  { weight: 5, arbitrary: fc.nat(1) },
  { weight: 2, arbitrary: fc.constant(2) },
  { weight: 1, arbitrary: fc.constant(3) },
)

const vm: fc.Arbitrary<VmOfPlan> = fc.record({
  vm: fc.nat(2),
  image,
  network: maybe(fc.nat(2), 3),
  isIgnored: sometimes(6),
})

const cluster: fc.Arbitrary<ClusterOfPlan> = fc.record({
  cluster: fc.nat(2),
  network: maybe(fc.nat(2), 3),
  volume: maybe(fc.nat(1), 2),
  asks: fc.constantFrom('nothing', 'nothing', 'nothing', 'hostPort', 'capability'),
  isIgnored: sometimes(6),
})

export const workspace: fc.Arbitrary<WorkspacePlan> = fc.record({
  createdAtMs: duration(5 * SECOND, MINUTE),
  vms: fc.array(vm, { maxLength: 2, size: 'max' }),
  clusters: fc.array(cluster, { maxLength: 2, size: 'max' }),
  networks: fc.array(fc.nat(2), { maxLength: 2 }),
  volumes: fc.array(fc.nat(1), { maxLength: 2 }),
})

/** A workspace whose machines have roles, and addresses at which they are played. */
export const playedWorkspace: fc.Arbitrary<WorkspacePlan> = fc
  .record({
    workspace,
    plays: fc.record({
      hasImage: fc.nat(3).map((roll) => roll > 0),
      hasKey: sometimes(2),
      when: fc.constantFrom(['build' as const], ['build', 'deploy'] as const, ['deploy' as const]),
      timeout: fc.constantFrom(undefined, undefined, '20s', '2m'),
    }),
    vms: fc.array(vm, { minLength: 1, maxLength: 2, size: 'max' }),
  })
  .map(({ workspace: plan, plays, vms }) => ({
    ...plan,
    plays,
    vms: vms.map((one) => ({ ...one, image: one.image % 3, network: one.network ?? one.vm })),
  }))

const play: fc.Arbitrary<WorkspaceAction> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('askForPlays', 'askForPlays', 'togglePlayImage', 'rebuildLab'),
      workspace: workspaceNumber,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restartVm'), workspace: workspaceNumber, number: fc.nat(1) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('harmPlay'),
      workspace: workspaceNumber,
      what: fc.constantFrom(...PLAY_HARMS),
      number: fc.nat(3),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('playFault'),
      workspace: workspaceNumber,
      fault: fc.constantFrom(...PLAY_FAULTS),
      forMs: duration(MINUTE, 5 * MINUTE),
    }),
  },
)

const edit: fc.Arbitrary<WorkspaceAction> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('toggleVm' as const), workspace: workspaceNumber, vm }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('toggleCluster' as const), workspace: workspaceNumber, cluster }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('toggleNetwork', 'toggleVolume', 'ignoreVm', 'ignoreCluster', 'renewCluster'),
      workspace: workspaceNumber,
      number: fc.nat(2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('deleteWorkspace', 'recreateWorkspace', 'recreateWorkspace', 'spoilWorkspace'),
      workspace: workspaceNumber,
    }),
  },
)

const harm: fc.Arbitrary<WorkspaceAction> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('deletePart', 'spoilPart', 'unlabelPart', 'takePartName'),
      workspace: workspaceNumber,
      kind: fc.constantFrom(...PARTS),
      number: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('deleteWorkspaceImage'), workspace: workspaceNumber, vm: fc.nat(1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crampWorkspace'),
      workspace: workspaceNumber,
      forMs: duration(30 * SECOND, 3 * MINUTE),
    }),
  },
)

const sharing: fc.Arbitrary<WorkspaceAction> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('rotateLogin', 'spoilCopy'), workspace: workspaceNumber }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('withdrawLogin', 'deleteLogin'),
      workspace: workspaceNumber,
      forMs: duration(SECOND, 3 * MINUTE),
    }),
  },
)

const hang: fc.Arbitrary<WorkspaceAction> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('podFault'),
      workspace: workspaceNumber,
      fault: fc.constantFrom(...POD_FAULTS),
      forMs: duration(MINUTE, 10 * MINUTE),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('labGuestFault'),
      workspace: workspaceNumber,
      fault: fc.constantFrom(...LAB_GUEST_FAULTS),
      forMs: duration(MINUTE, 10 * MINUTE),
    }),
  },
)

const uprooting: fc.Arbitrary<Action> = fc.record({
  do: fc.constant('uninstall' as const),
  what: fc.constantFrom('CDI', 'KubeVirt', 'Multus'),
  forMs: duration(20 * SECOND, 3 * MINUTE),
})

/** Keys of the policy that concern workspaces, with values good and bad. */
const POLICY_VALUES: Readonly<Record<string, readonly string[]>> = {
  allowHostPorts: ['true', 'false'],
  unreferencedTTL: ['0s', '20s', '72h'],
}

const keys: fc.Arbitrary<Action> = fc
  .constantFrom(...Object.entries(POLICY_VALUES))
  .chain(([key, values]) =>
    fc.record({ do: fc.constant('setPolicy' as const), key: fc.constant(key), value: fc.constantFrom(...values) }),
  )

const playKey: fc.Arbitrary<Action> = fc.record({
  do: fc.constant('setPolicy' as const),
  key: fc.constant('ansibleImage'),
  value: fc.constantFrom(PLAYER, 'none'),
})

/** Requests that concern plays. */
const playNetwork = networkActionOn('Workspace', 'Job', 'Pod', 'VirtualMachine', 'Secret', 'ConfigMap')

/** Among the kinds that `networkAction` names are none of those that workspaces are made of. */
const network = networkActionOn('Workspace', 'Deployment', 'VMDiskImage', ...PARTS)

/** Groups of actions in schedules with workspaces, besides those of all schedules. */
export const WORKSPACE_GROUPS = {
  workspace: edit,
  workspaceHarm: harm,
  workspaceHang: hang,
  workspaceSharing: sharing,
  workspaceUprooting: uprooting,
  workspaceKeys: keys,
  workspaceNetwork: network,
  plays: play,
  playKeys: playKey,
  playNetwork,
} as const

/** Of three members or networks, some with a few words. */
const some = <Word extends string>(words: readonly Word[], most: number) =>
  fc.array(fc.oneof(fc.constant<Word[]>([]), fc.uniqueArray(fc.constantFrom(...words), { maxLength: most })), {
    minLength: 3,
    maxLength: 3,
  })

const words: fc.Arbitrary<Words> = fc.record({
  vms: some<VmWord>(VM_WORDS, 4),
  clusters: some<ClusterWord>(CLUSTER_WORDS, 4),
  networks: some<NetworkWord>(NETWORK_WORDS, 2),
  lab: fc.subarray([...LAB_WORDS]),
})

const word = fc.oneof(
  fc.record({ of: fc.constant('vms' as const), say: fc.constantFrom(...VM_WORDS) }),
  fc.record({ of: fc.constant('clusters' as const), say: fc.constantFrom(...CLUSTER_WORDS) }),
  fc.record({ of: fc.constant('networks' as const), say: fc.constantFrom(...NETWORK_WORDS) }),
  fc.record({ of: fc.constant('lab' as const), say: fc.constantFrom(...LAB_WORDS) }),
)

/** People say other words, the policy allows or refuses some, and guests do not answer. */
const wordAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('toggleWord' as const),
      workspace: workspaceNumber,
      number: fc.nat(2),
      word,
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...Object.entries(WORD_KEYS))
      .chain(([key, values]) =>
        fc.record({ do: fc.constant('setPolicy' as const), key: fc.constant(key), value: fc.constantFrom(...values) }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('labGuestFault' as const),
      workspace: workspaceNumber,
      fault: fc.constantFrom('noAgent', 'noAnswer'),
      forMs: duration(MINUTE, 10 * MINUTE),
    }),
  },
)

/**
 * Adds words to the workspaces of schedules. What is random about the schedules themselves comes first, so that other words change nothing else of them.
 */
export function worded(schedules: fc.Arbitrary<Schedule>): fc.Arbitrary<Schedule> {
  return fc
    .record({
      schedule: schedules,
      words: fc.array(words, { minLength: 3, maxLength: 3 }),
      keys: fc.record(
        Object.fromEntries(
          Object.entries(WORD_KEYS).map(([key, [first = '', ...others]]) => [
            key,
            fc.oneof(
              { weight: 3, arbitrary: fc.constant(first) },
              { weight: 1, arbitrary: fc.constantFrom(...others) },
            ),
          ]),
        ),
      ),
      steps: fc.array(fc.record({ at: fc.nat(30), afterMs: duration(5 * SECOND, 50 * SECOND), action: wordAction }), {
        maxLength: 5,
        size: 'max',
      }),
    })
    .map(({ schedule, words: said, keys, steps }) => ({
      ...schedule,
      policy: { ...schedule.policy, more: { ...keys, ...schedule.policy.more } },
      workspaces: (schedule.workspaces ?? []).map((plan, at) => ({ ...plan, words: said[at % said.length] as Words })),
      steps: steps.reduce<readonly Step[]>((all, { at, ...step }) => all.toSpliced(at, 0, step), schedule.steps),
    }))
}
