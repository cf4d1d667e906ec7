import { ROOT_DISK, vmChildNames } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
} from '../../../operator/kube/resource-types.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { IMAGE, type Image, MACHINE, type Machine, reasonOf } from '../../harness/kinds.ts'
import { type Ends, type Rest, UNDECIDED } from '../kind.ts'
import { find } from '../people.ts'
import type { World } from '../world.ts'
import type { MachinePeople, Subject } from './machine-people.ts'
import { type Sources, TEAM } from './sources.ts'

/** Finds the machines that are not at rest in a state that their spec allows, once all disturbances are over. */
export class MachineRest implements Rest {
  readonly #world: World
  readonly #people: MachinePeople
  readonly #sources: Sources

  constructor(world: World, people: MachinePeople, sources: Sources) {
    this.#world = world
    this.#people = people
    this.#sources = sources
  }

  /** Returns what is not at rest, for people. */
  restless(): string[] {
    return this.#people.subjects.flatMap((subject) => this.#restlessness(subject) ?? [])
  }

  /** Contains everything but the revision that a disk was cloned from. */
  ends(): Ends {
    const ends = this.#people.subjects.map((subject) => [`machine ${subject.name}`, this.#outcomeOf(subject)])
    const whole = Object.fromEntries(ends)
    return { whole, decided: whole }
  }

  /** Whether it was deleted, refreshed or recreated before machines used it depends on timing. */
  isUndecided({ metadata }: KubeObject): boolean {
    return this.#sources.has(keyOf(metadata))
  }

  #restlessness({ name, isWanted, spec }: Subject): string | undefined {
    const vm = this.#find<Machine>(MACHINE, name)
    if (!isWanted) return vm && `${name} is still there: ${vm.status?.message}`
    if (vm === undefined) return `${name} is not there yet`
    const { metadata, status } = vm
    const reason = reasonOf(vm) ?? ''
    const loss = lossOf(this.#world, vm)
    // What nobody deploys any more has lost its data, too.
    const rests = spec.ignoreOnDeploy === true && loss !== undefined ? [] : restsOf(spec)
    const isCurrent = status?.observedGeneration === metadata.generation && metadata.deletionTimestamp === undefined
    if (isCurrent && reason === this.#waitsFor(spec) && status?.phase !== 'Ready') return undefined
    if (isCurrent && status?.phase === 'Failed' && reason === loss) return undefined
    if (!isCurrent || status?.phase !== 'Ready' || !rests.includes(reason))
      return `${name}: ${status?.phase}, ${reason}: ${status?.message}; generation ${metadata.generation}, observed ${status?.observedGeneration}, being deleted ${metadata.deletionTimestamp}`
    return spec.ignoreOnDeploy === true ? undefined : this.#missing(name, spec)
  }

  /** Returns the reason for which a machine waits for an image that others create, or that failed: only a person can help. */
  #waitsFor({ vmDiskImageRef: { name, namespace = TEAM }, vmDiskImageTemplate }: Subject['spec']): string | undefined {
    const image = find<Image>(this.#world, IMAGE, { namespace, name })
    if (image === undefined) return vmDiskImageTemplate === undefined ? 'ImageNotFound' : undefined
    return image.status?.phase === 'Failed' && image.status.artifact === undefined ? 'ImageFailed' : undefined
  }

  #missing(name: string, spec: Subject['spec']): string | undefined {
    const { machine, cloudInit, clone } = vmChildNames(name)
    const exists = (type: ResourceType, child: string) => this.#find(type, child) !== undefined
    if (!exists(KUBEVIRT_VIRTUAL_MACHINE, machine)) return `${name} says that it runs, and KubeVirt has no such machine`
    if (!exists(SECRET, cloudInit)) return `${name} says that it runs, and has no Secret ${cloudInit}`
    // A DataVolume that people deleted leaves its claim behind, as long as the guest runs from it.
    const hasDisk = exists(DATA_VOLUME, clone) || exists(PERSISTENT_VOLUME_CLAIM, clone)
    if (!hasDisk) return `${name} says that it runs, and has no disk ${clone}`
    const { interfaces = [] } = spec
    if (interfaces.length === 0) return undefined
    const addresses = this.#addresses(name)
    if (addresses.length !== interfaces.length)
      return `${name} has ${interfaces.length} interfaces, and KubeVirt knows of ${addresses.length}`
    const unknown = addresses.find((one) => !this.#told(name).join().includes(one))
    return unknown && `the guest of ${name} has the address ${unknown}, and is told nothing of it`
  }

  #addresses(name: string): string[] {
    const found = this.#find<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, vmChildNames(name).machine)
    const { interfaces = [] } = found?.spec.template.spec.domain.devices ?? {}
    return interfaces.map(({ macAddress = 'none' }) => macAddress)
  }

  /** Returns what cloud-init reads in the guest. */
  #told(name: string): string[] {
    const { data = {}, stringData = {} } = this.#find<SecretContent>(SECRET, vmChildNames(name).cloudInit) ?? {}
    const decoded = Object.values(data).map((text) => Buffer.from(text, 'base64').toString())
    return [...decoded, ...Object.values(stringData)]
  }

  #outcomeOf({ name, spec }: Subject): string {
    const vm = this.#find<Machine>(MACHINE, name)
    if (vm === undefined) return 'gone'
    // Whether its guest had run when people deleted its disk.
    if (lossOf(this.#world, vm) !== undefined) return UNDECIDED
    if (spec.ignoreOnDeploy === true) return vm.status?.phase ?? 'gone'
    const { machine } = vmChildNames(name)
    // Whether it was restarted since its spec changed, or by hand, depends on timing.
    const stands = RUNNING.includes(reasonOf(vm) ?? '') || spec.runStrategy === 'Manual' ? 'at rest' : 'off'
    const { spec: machineSpec } = this.#find<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, machine) ?? {}
    const told = [JSON.stringify(machineSpec ?? 'none'), ...this.#told(name)].map(withoutIds)
    return [vm.status?.phase, stands, ...told].join('\n')
  }

  #find<T extends KubeObject>(type: ResourceType, name: string): T | undefined {
    return find<T>(this.#world, type, { namespace: TEAM, name })
  }
}

/** Returns the reason of a machine that has run, and has lost its disk: only a person can decide to begin with another one. */
export function lossOf(world: World, { metadata: { name, namespace }, status }: Machine): string | undefined {
  const names = vmChildNames(name)
  const clone = status?.clone?.name ?? names.clone
  // KubeVirt restores a disk to a claim of another name, and the one before may go. That claim goes with KubeVirt's machine: the next one begins with the disk from before.
  const kubevirt = find<KubeVirtMachine>(world, KUBEVIRT_VIRTUAL_MACHINE, { namespace, name: names.machine })
  const root = kubevirt?.spec.template.spec.volumes?.find((volume) => volume.name === ROOT_DISK)
  const isOfClone = root?.dataVolume?.name === clone
  const disk = isOfClone ? clone : (status?.restoredClaim ?? clone)
  const claim = find(world, PERSISTENT_VOLUME_CLAIM, { namespace, name: disk })
  if (status?.bootedAt === undefined) return undefined
  if (claim === undefined) return 'DiskLost'
  return claim.metadata.deletionTimestamp === undefined ? undefined : 'DiskBeingDeleted'
}

/** Reasons of a machine that runs: it may wait for a restart or for a new disk, or run from another image than it asks for. */
const RUNNING = ['Running', 'ImageMismatch', 'RestartRequired', 'RebuildRequired', 'NamesNotCurrent']

/** Returns the reasons that a machine at rest may have. */
function restsOf({ ignoreOnDeploy, runStrategy }: Subject['spec']): readonly string[] {
  if (ignoreOnDeploy === true) return ['IgnoredOnDeploy', 'NotDeployedAnyMore']
  if (runStrategy === 'Halted') return ['Halted']
  return runStrategy === 'Manual' ? ['Halted', ...RUNNING] : RUNNING
}

/** A real API server converts `stringData` to `data`. The one in memory does not. */
interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
}

/** Removes uids and MAC addresses, which are derived from uids: both differ in each run. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/02(:[0-9a-f]{2}){5}/g, '<MAC>')
}
