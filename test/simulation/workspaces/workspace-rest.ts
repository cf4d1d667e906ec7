import { isDeepStrictEqual } from 'node:util'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { isClusterNetworkName, vmChildNames } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { JOB, KUBEVIRT_VIRTUAL_MACHINE, SECRET } from '../../../operator/kube/resource-types.ts'
import type { Job } from '../../../sandbox/memory-cluster/job-objects.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import {
  conditionOf,
  IMAGE,
  type Image,
  MACHINE,
  type Machine,
  WORKSPACE,
  type Workspace,
} from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import type { Ends, Rest } from '../kind.ts'
import { lossOf } from '../machines/machine-rest.ts'
import { find } from '../people.ts'
import type { World } from '../world.ts'
import type { HostsOracle } from './hosts-oracle.ts'
import { wrongIn } from './lab-content.ts'
import { wrongGuest } from './lab-guests.ts'
import { imagesOf, partsOf, wantedComponents, wantedParts } from './lab-parts.ts'
import { Permits } from './lab-permits.ts'
import { FARM, type Lab } from './labs.ts'
import type { ResetOracle } from './reset-oracle.ts'

type PlayRecords = NonNullable<NonNullable<Workspace['status']>['plays']>

function playsIn({ status }: Workspace): PlayRecords {
  return status?.plays ?? []
}

function isFailure({ type, status }: { readonly type: string; readonly status: string }): boolean {
  return type === 'Failed' && status === 'True'
}

interface Component {
  readonly kind: string
  readonly name: string
  readonly phase: string
  readonly reason: string
}

/** The state that each workspace must have once all disturbances are over: all its parts exist and are right, and there are no others. */
export class WorkspaceRest implements Rest {
  readonly #world: World
  readonly #labs: readonly Lab[]
  readonly #hosts: HostsOracle
  readonly #resets: ResetOracle

  constructor(world: World, labs: readonly Lab[], hosts: HostsOracle, resets: ResetOracle) {
    this.#world = world
    this.#hosts = hosts
    this.#resets = resets
    this.#labs = labs
  }

  restless(): string[] {
    return this.#labs.flatMap((lab) => {
      const found = find<Workspace>(this.#world, WORKSPACE, { name: lab.name })
      if (!lab.isWanted)
        return found === undefined ? this.#leftOf(lab) : [`${lab.name} is still there: ${found.status?.message}`]
      return found === undefined
        ? [`${lab.name} is not there yet`]
        : this.#wrong(lab, found).map((text) => `${lab.name}: ${text}`)
    })
  }

  ends(): Ends {
    const ends = this.#labs.map((lab) => {
      const found = find<Workspace>(this.#world, WORKSPACE, { name: lab.name })
      return [
        `workspace ${lab.name}`,
        found === undefined ? 'gone' : this.#outcomeOf(found),
        this.#isDecided(lab, found),
      ] as const
    })
    return {
      whole: Object.fromEntries(ends.map(([title, end]) => [title, end])),
      decided: Object.fromEntries(ends.filter(([, , isDecided]) => isDecided).map(([title, end]) => [title, end])),
    }
  }

  /** Whether it was deleted or recreated before workspaces used it depends on timing. */
  isUndecided({ metadata }: KubeObject): boolean {
    return metadata.namespace === FARM
  }

  #leftOf({ name }: Lab): string[] {
    return this.#world.chronicle.traces.leavingNamespaces.has(name) ? [`namespace ${name} is still there`] : []
  }

  #wrong({ isSpoiled }: Lab, workspace: Workspace): string[] {
    const { metadata, status = {} } = workspace
    if (isDeletion(workspace)) return [`being deleted: ${status.message}`]
    if (status.observedGeneration !== metadata.generation) return ['it does not tell of its spec yet']
    if (isSpoiled)
      return status.phase === 'Failed' && status.reason === 'InvalidSpec'
        ? []
        : [`${status.phase}, ${status.reason}, with a spec that is invalid`]
    return [...this.#wrongStatus(workspace), ...this.#wrongParts(workspace)]
  }

  #wrongStatus(workspace: Workspace): string[] {
    const components: readonly Component[] = workspace.status?.components ?? []
    const named = components.map(({ kind, name }) => `${kind} ${name}`).toSorted()
    if (!isDeepStrictEqual(named, wantedComponents(workspace))) return [`it tells of ${named.join(', ')}`]
    const waits = this.#failedImages(workspace).length > 0
    const wrong = components.flatMap((one) => {
      const wanted = this.#phasesOf(workspace, one, waits)
      return wanted.includes(one.phase)
        ? []
        : [`${one.kind} ${one.name} is ${one.phase} (${one.reason}), expected ${wanted.join(' or ')}`]
    })
    const phase = ['Failed', 'Provisioning', 'Ready'].find((wanted) => components.some((one) => one.phase === wanted))
    const isSettled = conditionOf(workspace, 'Settled')?.status === (phase === 'Provisioning' ? 'False' : 'True')
    return [
      ...wrong,
      ...this.#wrongNames(workspace, components),
      ...this.#wrongPlays(workspace),
      ...(phase === 'Ready' && (workspace.spec.powerState === 'Halted') !== (workspace.status?.reason === 'Halted')
        ? [`it is ${workspace.spec.powerState}, and its reason is ${workspace.status?.reason}`]
        : []),
      ...(workspace.status?.phase === phase ? [] : [`it is ${workspace.status?.phase}, expected ${phase}`]),
      ...(isSettled ? [] : ['Settled is wrong']),
    ]
  }

  /** What is said not to know the others by their names is exactly what does not. */
  #wrongNames({ metadata: { name: namespace } }: Workspace, components: readonly Component[]): string[] {
    const told = components.filter(
      ({ kind, reason }) => kind === 'ContainerCluster' && (reason === 'Ready' || reason === 'NamesNotCurrent'),
    )
    return told.flatMap(({ name, reason }) => {
      const isStale = this.#hosts.isStale(namespace, name)
      return isStale === (reason === 'NamesNotCurrent')
        ? []
        : [`${name} is ${reason}, and has ${isStale ? 'other names' : 'the names of now'}`]
    })
  }

  /** A play that failed is told of until somebody asks again. Others wait for their machines. */
  #phasesOfPlays(workspace: Workspace): readonly string[] {
    if (playsIn(workspace).some(({ phase }) => phase === 'Failed')) return ['Failed']
    const isHeldUp = (workspace.spec.vms ?? []).some(
      (vm) => this.#permits.refusesVm(vm) || this.#isAfterUnready(workspace, vm.name),
    )
    return isHeldUp || this.#failedImages(workspace).length > 0 || this.#lost(workspace).length > 0
      ? ['Ready', 'Provisioning']
      : ['Ready']
  }

  /** Nothing plays any more, and what became of each Job is told. */
  #wrongPlays(workspace: Workspace): readonly string[] {
    const { metadata, status } = workspace
    const plays = playsIn(workspace)
    const waits = new Set([...this.#waiting(workspace), ...this.#lost(workspace)])
    // Roles of deploy need those of build.
    const unbuilt = new Set(
      plays.flatMap(({ vm, play, phase }) => (play === 'build' && phase === 'Failed' ? [vm] : [])),
    )
    const isIdle = ({ vm, play }: PlayRecords[number]) => waits.has(vm) || (play === 'deploy' && unbuilt.has(vm))
    const open = plays.filter((one) => one.phase === 'Running' || (one.phase === 'Pending' && !isIdle(one)))
    const [first] = plays.filter(({ phase }) => phase === 'Failed')
    const message = status?.components?.find(({ kind }) => kind === 'Ansible')?.message ?? ''
    const isTold = first === undefined || message.startsWith(`${first.play} of ${first.vm} failed: ${first.message}`)
    const jobs = [...this.#world.chronicle.traces.of<Job>(JOB).values()].map(({ object }) => object)
    const untold = jobs
      .filter((job) => job.metadata.namespace === metadata.name && job.status?.conditions?.some(isFailure) === true)
      .filter(
        ({ metadata: { name } }) =>
          !plays.some((one) => {
            // One of the disk before says nothing of the new one, whose roles of build come first.
            const isOfBefore = one.phase === 'Pending' && isIdle(one) && name.startsWith(`${one.vm}-${one.play}-`)
            // One that is NotPlayed names the Job, and is played on request: the disk is another one since then.
            return isOfBefore || (one.job === name && ['Failed', 'Pending', 'NotPlayed'].includes(one.phase))
          }),
      )
    return [
      ...open.map(({ vm, play, phase }) => `${play} of ${vm} is ${phase}`),
      ...(isTold ? [] : [`it does not say that ${first.play} of ${first.vm} failed: ${message}`]),
      ...untold.map((job) => `Job ${job.metadata.name} failed, and that is not told`),
    ]
  }

  /** Returns the names of the machines that are not deployed, cannot be reached, or wait: if there is no image of one, all do. */
  #waiting(workspace: Workspace): readonly string[] {
    const areAll = this.#failedImages(workspace).length > 0
    const vms = workspace.spec.vms ?? []
    const isReached = ({ os, interfaces = [] }: (typeof vms)[number]) =>
      os !== 'windows' &&
      interfaces.some(({ ipAddress, ipAddresses }) => ipAddress !== undefined || ipAddresses !== undefined)
    return vms
      .filter(
        (vm) =>
          areAll ||
          workspace.spec.powerState === 'Halted' ||
          vm.ignoreOnDeploy === true ||
          !isReached(vm) ||
          this.#permits.refusesVm(vm) ||
          this.#isAfterUnready(workspace, vm.name),
      )
      .map(({ name }) => name)
  }

  #failedImages({ spec }: Workspace): readonly string[] {
    const names = (spec.vms ?? []).flatMap(imagesOf)
    return names.filter((name) => this.#imageOf(name)?.status?.artifact === undefined)
  }

  #imageOf(name: string): Image | undefined {
    return find<Image>(this.#world, IMAGE, { namespace: FARM, name })
  }

  #phasesOf(workspace: Workspace, { kind, name, reason }: Component, waits: boolean): readonly string[] {
    const { spec } = workspace
    if (kind === 'Namespace') return ['Ready']
    if (kind === 'Image') return [this.#phaseOfImage(workspace, name, reason)]
    if (kind === 'Ansible' && playsIn(workspace).length > 0) return this.#phasesOfPlays(workspace)
    const isLost = kind === 'VirtualMachine' && this.#lost(workspace).includes(name)
    // The word of a person ends the loss of one that is not to be deployed, and nothing is made of it.
    const isIgnored = spec.vms?.some((vm) => vm.name === name && vm.ignoreOnDeploy === true) === true
    const isAsked = workspace.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt] !== undefined
    if (isLost && isIgnored && isAsked) return ['Failed', 'Ready']
    if (isLost || refusedIn(spec, this.#permits).has(`${kind} ${name}`)) return ['Failed']
    if (kind === 'Volume' && this.#hasNoConsumer(workspace, name)) return ['Ready', 'Provisioning']
    // What existed before stays, what is new waits.
    return waits || this.#isAfterUnready(workspace, name) ? ['Ready', 'Provisioning'] : ['Ready']
  }

  /** Reports whether storage that waits for the pod that uses a volume waits for ever, since its container clusters are refused, or wait themselves. */
  #hasNoConsumer(workspace: Workspace, volume: string): boolean {
    if (this.#world.schedule.bindsLate !== true) return false
    const mounting = (workspace.spec.containerClusters ?? []).filter(({ containers }) =>
      containers.some(({ volumeMounts = [] }) => volumeMounts.some(({ name }) => name === volume)),
    )
    const refused = refusedIn(workspace.spec, this.#permits)
    return mounting.every(
      ({ name }) => refused.has(`ContainerCluster ${name}`) || this.#isAfterUnready(workspace, name),
    )
  }

  get #permits(): Permits {
    return new Permits(this.#world.policy.data)
  }

  /** Whether a member is to be created after one that is not ready. */
  #isAfterUnready({ spec, status }: Workspace, name: string): boolean {
    const { vms = [], containerClusters = [] } = spec
    const { dependsOn = [] } = [...vms, ...containerClusters].find((one) => one.name === name) ?? {}
    const isMember = (kind: string) => kind === 'ContainerCluster' || kind === 'VirtualMachine'
    const found = status?.components?.filter((one) => isMember(one.kind) && dependsOn.includes(one.name))
    return found?.some(({ phase }) => phase !== 'Ready') === true
  }

  /** Machines that have their disks need their image no more, also if it could not be downloaded again. */
  #isNotNeeded(workspace: Workspace, name: string, reason: string): boolean {
    const deployed = (workspace.spec.vms ?? []).filter((vm) => vm.ignoreOnDeploy !== true)
    const machines = new Map(this.#machinesOf(workspace).map((one) => [one.metadata.name, one]))
    const wanted = deployed.filter((vm) => vm.backingVMDiskImage === name).map((vm) => machines.get(vm.name))
    return reason === 'ImageNotNeeded' && wanted.every((machine) => machine?.status?.diskUID !== undefined)
  }

  #phaseOfImage(workspace: Workspace, name: string, reason: string): string {
    if (this.#isNotNeeded(workspace, name, reason)) return 'Ready'
    const { vms = [] } = workspace.spec
    const image = this.#imageOf(name)
    if (image?.status?.artifact !== undefined) return 'Ready'
    // Without a template, somebody else has to create it.
    const isMade = vms.some((vm) => vm.backingVMDiskImage === name && vm.vmDiskImageTemplate !== undefined)
    return image === undefined && !isMade ? 'Provisioning' : 'Failed'
  }

  #wrongParts(workspace: Workspace): string[] {
    const { chronicle, schedule } = this.#world
    const isComplete = this.#failedImages(workspace).length === 0
    const isLocal = schedule.policy.more?.['localVolumeRoot'] !== undefined
    const parts = partsOf(chronicle, workspace).map(({ object }) => object)
    const { must, may } = wantedParts(workspace, isLocal)
    const names = new Set(parts.map(({ kind, metadata }) => `${kind} ${metadata.name}`))
    const held = heldOf(workspace, this.#permits)
    const { vms = [], containerClusters = [] } = workspace.spec
    const later = new Set(
      [...vms, ...containerClusters]
        .filter(({ name }) => this.#isAfterUnready(workspace, name))
        .flatMap(({ name }) => [`VirtualMachine ${name}`, `Deployment ${name}`, `ConfigMap ${name}-hosts`]),
    )
    const missing = isComplete ? must.filter((one) => !(names.has(one) || held.has(one) || later.has(one))) : []
    // Jobs stay for their logs.
    const free = new Set(['NetworkPolicy', 'ResourceQuota', 'RoleBinding', 'Job'])
    const isMounted = ({ metadata: { name } }: KubeObject) =>
      parts.some(({ kind, ...one }) => kind === 'Deployment' && JSON.stringify(one).includes(name))
    const isUsed = (one: KubeObject) => isClusterNetworkName(one.metadata.name) && isMounted(one)
    const isFiles = ({ kind, metadata: { name } }: KubeObject) =>
      kind === 'ConfigMap' && /-files-[0-9a-f]{8}$/.test(name)
    const extra = parts.filter(
      (one) =>
        !free.has(one.kind) &&
        !(isFiles(one) && isMounted(one)) &&
        !may.has(`${one.kind} ${one.metadata.name}`) &&
        !isUsed(one),
    )
    const going = parts.filter(isDeletion)
    return [
      ...missing.map((one) => `${one} is missing`),
      ...extra.map(({ kind, metadata }) => `${kind} ${metadata.name} is left over`),
      ...going.map(({ kind, metadata }) => `${kind} ${metadata.name} is being deleted`),
      ...wrongIn(workspace, parts, held, this.#permits),
      ...this.#wrongCopies(workspace, parts),
      ...this.#restless(workspace),
      ...this.#unanswered(workspace),
      ...this.#wrongGuests(workspace, held),
    ]
  }

  /** A copy has what its source has. */
  #wrongCopies({ spec: { secrets = [] } }: Workspace, parts: readonly KubeObject[]): string[] {
    const dataOf = (secret: KubeObject | undefined) => (secret as { readonly data?: object } | undefined)?.data
    return secrets.flatMap(({ name, from }) => {
      const copy = parts.find(({ kind, metadata }) => kind === SECRET.kind && metadata.name === name)
      if (from === undefined || copy === undefined) return []
      const isSame = isDeepStrictEqual(dataOf(copy), dataOf(find(this.#world, SECRET, from)))
      return isSame ? [] : [`Secret ${name} is no copy of ${keyOf(from)}`]
    })
  }

  #wrongGuests(workspace: Workspace, held: ReadonlySet<string>): string[] {
    const ignored = (workspace.spec.vms ?? []).filter(({ ignoreOnDeploy }) => ignoreOnDeploy === true)
    const waits = this.#failedImages(workspace).length > 0
    return this.#machinesOf(workspace).flatMap((machine) => {
      const { name, namespace } = machine.metadata
      // Another disk of it may be a clone of an image that failed.
      const lacks = waits && machine.status?.conditions?.some(({ reason }) => reason === 'DiskMissing') === true
      const stays = lacks || held.has(`${MACHINE.kind} ${name}`) || ignored.some((one) => one.name === name)
      const told = find<KubeVirtMachine>(this.#world, KUBEVIRT_VIRTUAL_MACHINE, {
        namespace,
        name: vmChildNames(name).machine,
      })
      return stays || told === undefined ? [] : wrongGuest(machine, told)
    })
  }

  /** Returns the machines of the workspace that are not Ready, except for those that wait for an image. */
  #restless(workspace: Workspace): string[] {
    const waits = new Set(this.#failedImages(workspace))
    return this.#machinesOf(workspace)
      .filter(({ spec }) => !waits.has(spec.vmDiskImageRef.name))
      .filter((machine) => machine.status?.phase !== 'Failed' || lossOf(this.#world, machine) === undefined)
      .filter(({ status }) => status?.phase !== 'Ready')
      .map(({ metadata, status }) => `machine ${keyOf(metadata)} is ${status?.phase}: ${status?.message}`)
  }

  /** What people have asked machines for has been done, and old disks are gone, if these are kept so long that somebody can wait for it. */
  #unanswered(workspace: Workspace): readonly string[] {
    if (this.#world.schedule.policy.more?.['resetGrace'] === undefined) return []
    const lost = new Set(this.#lost(workspace))
    const deployed = this.#machinesOf(workspace).filter(
      ({ metadata, spec }) => spec.ignoreOnDeploy !== true && !lost.has(metadata.name),
    )
    return deployed.flatMap((machine) => this.#resets.restless(machine))
  }

  /** Returns the names of the machines that have lost their disk: each is Failed until a person decides. */
  #lost(workspace: Workspace): readonly string[] {
    const lost = this.#machinesOf(workspace).filter((machine) => lossOf(this.#world, machine) !== undefined)
    return lost.map(({ metadata }) => metadata.name)
  }

  #machinesOf({ metadata }: Workspace): Machine[] {
    const machines = [...this.#world.chronicle.traces.of<Machine>(MACHINE).values()].map(({ object }) => object)
    return machines.filter(({ metadata: { namespace } }) => namespace === metadata.name)
  }

  #outcomeOf(workspace: Workspace): unknown {
    const { phase, components = [] } = workspace.status ?? {}
    const ignored = new Set(
      [...(workspace.spec.containerClusters ?? []), ...(workspace.spec.vms ?? [])]
        .filter(({ ignoreOnDeploy }) => ignoreOnDeploy === true)
        .map(({ name }) => name),
    )
    const parts = partsOf(this.#world.chronicle, workspace)
      .map(({ object }) => object)
      // Whether a pod has a network of its own depends on which members there were when it was made.
      .filter(({ metadata }) => !(ignored.has(metadata.name) || isClusterNetworkName(metadata.name)))
    return {
      phase,
      components: components.map((one) => `${one.kind} ${one.name}: ${one.phase}`),
      parts: parts.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted(),
    }
  }

  /** With an image without an artifact, a container that asks for what the policy may refuse, or a disk that is lost, what exists depends on when that began. */
  #isDecided({ isSpoiled, plays }: Lab, workspace: Workspace | undefined): boolean {
    if (workspace === undefined) return true
    const asksForMore = heldOf(workspace, Permits.STRICTEST).size > 0
    const isLost = this.#lost(workspace).length > 0
    // What was played depends on when somebody asked, or interfered.
    return !isSpoiled && plays === undefined && !asksForMore && !isLost && this.#failedImages(workspace).length === 0
  }
}

/** The only component that a later policy takes away: what exists of it does not depend on what was before. */
const INTERNET = 'InternetAccess internet'

/** Returns the components that the platform does not allow, as `Kind name`. */
function refusedIn(spec: Workspace['spec'], permits: Permits): Set<string> {
  const { vms = [], containerClusters = [], services = [] } = spec
  const titled = (kind: string, all: readonly { readonly name: string }[]) => all.map(({ name }) => `${kind} ${name}`)
  return new Set([
    ...titled(
      'VirtualMachine',
      vms.filter((one) => permits.refusesVm(one)),
    ),
    ...titled(
      'ContainerCluster',
      containerClusters.filter((one) => permits.refusesCluster(one)),
    ),
    ...titled(
      'Service',
      services.filter((one) => permits.refusesService(one)),
    ),
    ...(permits.refusesInternet(spec) ? [INTERNET] : []),
  ])
}

/** Returns what the platform does not allow: it does not exist, or stays as it was. */
function heldOf({ spec }: Workspace, permits: Permits): Set<string> {
  return new Set(
    [...refusedIn(spec, permits)].flatMap((title) => {
      if (title === INTERNET) return []
      const cluster = /^ContainerCluster (.*)$/.exec(title)?.[1]
      return cluster === undefined ? [title] : [`Deployment ${cluster}`, `ConfigMap ${cluster}-hosts`]
    }),
  )
}
