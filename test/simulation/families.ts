import fc from 'fast-check'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
import { adoption } from './adoptions/adoption-arbitraries.ts'
import {
  cdiAction,
  duration,
  image,
  imageAction,
  ledgerAction,
  networkAction,
  outageAction,
  policy,
  policyAction,
  processAction,
  serverAction,
  surroundingsAction,
  toggle,
} from './arbitraries.ts'
import { dataSync, dataSyncAction } from './data-syncs/data-sync-arbitraries.ts'
import {
  MACHINE_GROUPS,
  MACHINE_NETWORK,
  machine,
  machinePolicy,
  policyOf,
  source,
} from './machines/machine-arbitraries.ts'
import { NAMESPACES } from './objects.ts'
import type { Action, ImagePlan, Schedule, Step } from './schedule.ts'
import { playedWorkspace, WORKSPACE_GROUPS, worded, workspace } from './workspaces/workspace-arbitraries.ts'

/** Groups of actions. Each family of schedules uses a few of them, by weight. */
const GROUPS = {
  image: imageAction,
  dataSync: dataSyncAction,
  toggle,
  policy: policyAction,
  ledger: ledgerAction,
  cdi: cdiAction,
  surroundings: surroundingsAction,
  outage: outageAction,
  ...MACHINE_GROUPS,
  ...WORKSPACE_GROUPS,
  process: processAction,
  network: networkAction,
  machineNetwork: MACHINE_NETWORK,
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

/** Most groups of actions on images, mixed. */
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

/** A long queue of images that fail and are retried, under a changing limit, with faults of network and processes: mostly admissions. */
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

/** Pipelines with a few DataSyncs that share images, next to images that people create. */
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

/** Images that adopt what others have filled, next to some that are downloaded. */
function adoptions(leanings: Leanings): fc.Arbitrary<Schedule> {
  return fc
    .record({ schedule: story(leanings), adoptions: fc.array(adoption, { minLength: 1, maxLength: 4, size: 'max' }) })
    .map(({ schedule, adoptions }) => ({ ...schedule, images: schedule.images.slice(0, 3), adoptions }))
}

/** Machines, the images that they name, and guests. */
function machines(leanings: Leanings, usualGapMs = 10 * SECOND): fc.Arbitrary<Schedule> {
  return fc
    .record({
      seed: fc.nat(),
      replicas: fc.constantFrom(1 as const, 2 as const),
      policy: machinePolicy,
      cloneMs: fc.constantFrom(100, 5 * SECOND, 40 * SECOND),
      sources: fc.array(source, { minLength: 1, maxLength: 2 }),
      machines: fc.array(machine, { minLength: 1, maxLength: 4, size: 'max' }),
      steps: steps(leanings, { maxLength: 30, usualGapMs }),
    })
    .map((plan) => ({ ...plan, policy: policyOf(plan.policy), images: [] }))
}

const PEOPLE: Leanings = { machine: 8, source: 4, namesake: 1, login: 1, guest: 4 }

/**
 * Machines and DataSyncs that name the same images, some of which machines have created. Whichever of them is deleted, an image lasts as
 * long as anything needs it, and no longer than the policy says.
 */
function shared(leanings: Leanings): fc.Arbitrary<Schedule> {
  const of = { dataSync: fc.nat(9), vm: fc.nat(3), hasTemplate: fc.nat(3).map((roll) => roll === 0) }
  const released = fc
    .tuple(source, fc.record(of))
    .map(([plan, of]) => ({ ...plan, isMadeByPerson: false, release: of }))
  return fc
    .record({
      schedule: release(leanings, [1, 3]),
      policy: machinePolicy,
      cloneMs: fc.constantFrom(100, 5 * SECOND, 40 * SECOND),
      sources: fc.array(fc.oneof({ weight: 3, arbitrary: released }, { weight: 1, arbitrary: source }), {
        minLength: 1,
        maxLength: 3,
      }),
      machines: fc.array(machine, { minLength: 1, maxLength: 4, size: 'max' }),
    })
    .map(({ schedule, policy, ...plan }) => {
      const { concurrency, retryLimit, backoffSeconds } = schedule.policy
      return { ...schedule, ...plan, policy: { ...policyOf(policy), concurrency, retryLimit, backoffSeconds } }
    })
}

/** Namespace of the images of workspaces. Machines and DataSyncs can have images there too. */
const IMAGE_NAMESPACE = { imageNamespace: NAMESPACES[1] ?? '' }

const LABS: Leanings = { workspace: 10, workspaceHarm: 5, workspaceHang: 3 }

/** Workspaces that share a few images. */
function workspaces(leanings: Leanings, usualGapMs = 10 * SECOND, plan = workspace): fc.Arbitrary<Schedule> {
  const plain = fc
    .record({
      schedule: machines(leanings, usualGapMs),
      workspaces: fc.array(plan, { minLength: 1, maxLength: 3, size: 'max' }),
      isLocal: fc.boolean(),
    })
    .map(({ schedule, workspaces: plans, isLocal }) => {
      const { policy: of } = schedule
      const more = { ...of.more, ...IMAGE_NAMESPACE, ...(isLocal && { localVolumeRoot: '/srv/labs' }) }
      return { ...schedule, policy: { ...of, more }, sources: [], machines: [], workspaces: plans }
    })
  return worded(plain)
}

/** Workspaces next to machines and DataSyncs that name the same images. */
function sharedWorkspaces(leanings: Leanings): fc.Arbitrary<Schedule> {
  const plans = fc.array(workspace, { minLength: 1, maxLength: 2, size: 'max' })
  const plain = fc.tuple(shared(leanings), plans).map(([schedule, of]) => {
    const { policy: plan } = schedule
    return { ...schedule, policy: { ...plan, more: { ...plan.more, ...IMAGE_NAMESPACE } }, workspaces: of }
  })
  return worded(plain)
}

const LATE_CREATES: Action = { do: 'requestFaults', fault: 'late', percent: 60, forMs: 2 * MINUTE, kind: 'DataVolume' }

/** Families of schedules, by name. The same name and seed produce the same schedules. */
export const FAMILIES = {
  varied,
  crowded,
  /** Acts of people and other systems, without disturbances of the operator. */
  undisturbed: story({ image: 10, toggle: 3, policy: 4, cdi: 6 }),
  /** People who edit, refresh and clone. */
  curators: story({ image: 1 }),
  /** Imports fail while no operator observes it. */
  unattended: story({ cdi: 4, process: 4 }),
  /** CDI stops, nodes are drained, imports fail: only its pod shows what an importer did. */
  outages: story({ cdi: 4, outage: 8 }),
  /** All images are created within 2 s, and one to three are downloaded at a time. */
  rush: fc.record({
    seed: fc.nat(),
    replicas: fc.constantFrom(1, 2),
    policy: policy.map((one) => ({ ...one, concurrency: 1 + (one.concurrency % 3) })),
    images: fc.array(image(fc.nat(2 * SECOND)), { minLength: 8, maxLength: 20, size: 'max' }),
    steps: steps({ process: 1, cdi: 1 }, { maxLength: 5, usualGapMs: 10 * SECOND }),
  }),
  /** Creates of DataVolumes are carried out long after their caller stopped waiting, and people change their minds in the meantime. */
  delayed: story({ image: 10, process: 2, network: 1 }).map((schedule) => ({
    ...schedule,
    steps: [{ afterMs: 0, action: LATE_CREATES }, ...schedule.steps],
  })),
  /** A bad link to the API server. */
  disconnected: story({ image: 3, policy: 2, network: 10, process: 2 }),
  /** Images that adopt, while processes crash and the network loses requests and answers. */
  adoptions: adoptions({ image: 2, policy: 1, process: 8, network: 8 }),
  /** DataSyncs, and everything that can happen to them and to what they depend on. */
  dataSyncs: release({ dataSync: 12, image: 1, policy: 2, cdi: 3, surroundings: 1, process: 4, network: 4 }),
  /** Acts of pipelines and people, without disturbances of the operator. */
  dataSyncsCalm: release({ dataSync: 12, cdi: 2 }),
  dataSyncsDisconnected: release({ dataSync: 6, network: 10, process: 2 }),
  /** Mostly admissions. */
  dataSyncsCrowd: release({ dataSync: 12, policy: 4, cdi: 2, process: 3, network: 3 }, [8, 14]),
  dataSyncsLagging: release({ dataSync: 8, cdi: 1, process: 3, servers: 8 }),
  /** Watches switch to another API server, which lags behind. */
  lagging: story({ image: 8, toggle: 2, policy: 2, cdi: 3, process: 3, servers: 10 }),
  /** Machines, and everything that can happen to them and to what they depend on. */
  machines: machines({ ...PEOPLE, process: 5, machineNetwork: 6 }),
  /** Acts of people and other systems on machines, without disturbances of the operator. */
  machinesCalm: machines(PEOPLE),
  machinesDisconnected: machines({ machine: 3, source: 3, machineNetwork: 10, process: 2 }),
  machinesLagging: machines({ machine: 6, source: 4, login: 1, guest: 2, process: 3, servers: 10 }),
  /** Guests hang and crash, and for a time no operator observes it. */
  machinesHanging: machines({ guest: 6, process: 3, machineNetwork: 2 }, 30 * SECOND),
  /** virt-controller or cdi-controller is stopped while guests and clones hang and recover. */
  machinesAlone: machines({ guest: 6, machine: 2, neighbour: 6, process: 2 }, 20 * SECOND),
  /** Images that machines and DataSyncs share. */
  shared: shared({ ...PEOPLE, dataSync: 12, process: 4, network: 3, machineNetwork: 3 }),
  /** Acts of people and pipelines on them, without disturbances of the operator. */
  sharedCalm: shared({ ...PEOPLE, dataSync: 12 }),
  /** One replica takes over from the other, and API servers lag behind. */
  sharedTakeOvers: shared({ machine: 6, source: 4, dataSync: 8, process: 6, servers: 8 }),
  /** What machines depend on is removed and comes back: namespaces, CDI, KubeVirt. The policy changes too. */
  machinesUprooted: machines({ ...PEOPLE, uprooting: 5, keys: 6, process: 2, machineNetwork: 2 }),
  /** Workspaces, and everything that can happen to them and to what they depend on. */
  workspaces: workspaces({ ...LABS, workspaceUprooting: 2, workspaceKeys: 2, process: 5, workspaceNetwork: 6 }),
  /** Acts of people and other systems on workspaces, without disturbances of the operator. */
  workspacesCalm: workspaces(LABS),
  workspacesDisconnected: workspaces({ workspace: 5, workspaceHarm: 3, workspaceNetwork: 10, process: 2 }),
  /** API servers lag behind, and one replica takes over from the other. */
  workspacesLagging: workspaces({ workspace: 6, workspaceHarm: 4, process: 5, servers: 10 }),
  /** Containers and machines hang, and for a time no operator observes it. */
  workspacesHanging: workspaces({ workspaceHang: 8, workspace: 2, process: 3, workspaceNetwork: 2 }, 30 * SECOND),
  /** Roles of machines are played, and people and the network interfere. */
  workspacesPlayed: workspaces(
    { plays: 10, playKeys: 2, workspace: 2, workspaceHang: 1, process: 3, playNetwork: 3 },
    10 * SECOND,
    playedWorkspace,
  ),
  /** Acts of people on them, without disturbances of the operator. */
  workspacesPlayedCalm: workspaces({ plays: 12, playKeys: 2, workspace: 1 }, 15 * SECOND, playedWorkspace),
  /** Owners of Secrets that workspaces have copies of change them, and stop sharing or delete them for a time. */
  workspacesSharing: workspaces({
    workspaceSharing: 12,
    workspace: 2,
    workspaceHarm: 3,
    process: 3,
    workspaceNetwork: 2,
    servers: 1,
  }),
  /** Images that workspaces share with machines and DataSyncs. */
  sharedWorkspaces: sharedWorkspaces({ ...LABS, ...PEOPLE, dataSync: 6, process: 3, workspaceNetwork: 2 }),
} as const satisfies Record<string, fc.Arbitrary<Schedule>>
