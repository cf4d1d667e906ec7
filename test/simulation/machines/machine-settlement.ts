import { vmChildNames } from '@open-terrain/constructs'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { ledgerIn, OPERATOR_NAMESPACE } from '../chronicle.ts'
import { LOGIN, type Subject } from './machine-driver.ts'
import { FARM, MACHINE, type MachineWorld, TEAM } from './machine-world.ts'

const LEDGER = { namespace: OPERATOR_NAMESPACE, name: 'sync-operator-slots' }
const LEFT: Readonly<Record<string, readonly ResourceType[]>> = {
  [TEAM]: [
    MACHINE,
    KUBEVIRT_VIRTUAL_MACHINE,
    VIRTUAL_MACHINE_INSTANCE,
    DATA_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    SECRET,
  ],
  [FARM]: [IMAGE, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, VOLUME_SNAPSHOT, DATA_SOURCE, POD],
}

/** Which machines have come to rest where their spec lets them, once nothing disturbs anybody any more. */
export class MachineSettlement {
  readonly #world: MachineWorld
  readonly #subjects: readonly Subject[]

  constructor(world: MachineWorld, subjects: readonly Subject[]) {
    this.#world = world
    this.#subjects = subjects
  }

  get isReached(): boolean {
    return this.describe() === ''
  }

  /** What is still going on, for people; empty when all are at rest. */
  describe(): string {
    const images = this.#world.simulated.cluster.admin.list(IMAGE, { namespace: FARM }).items
    const leaving = images.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return [
      ...this.#subjects.flatMap((subject) => this.#restlessness(subject) ?? []),
      ...leaving.map(({ metadata }) => `image ${metadata.name} is being deleted`),
    ].join('\n')
  }

  /** What must be the same however often the operator was disturbed: all but which revision a disk was cloned from. */
  outcome(): ReadonlyMap<string, string> {
    return new Map(this.#subjects.map((subject) => [subject.name, this.#outcomeOf(subject)]))
  }

  /** Once people have deleted all machines and images: what is still there, and should not be. */
  leftovers(): string[] {
    const { admin } = this.#world.simulated.cluster
    const objects = Object.entries(LEFT).flatMap(([namespace, types]) =>
      types.flatMap((type): readonly KubeObject[] => admin.list(type, { namespace }).items),
    )
    const isOfPeople = ({ kind, metadata }: KubeObject) => kind === 'Secret' && metadata.name === LOGIN
    const { holders = [] } = ledgerIn(admin.get(CONFIG_MAP, LEDGER)) ?? {}
    return [
      ...objects.filter((one) => !isOfPeople(one)).map(({ kind, metadata }) => `${kind} ${keyOf(metadata)}`),
      ...holders.map(({ name }) => `a slot of ${name}`),
    ]
  }

  #restlessness({ name, isWanted, spec }: Subject): string | undefined {
    const vm = this.#world.vm(name)
    if (!isWanted) return vm && `${name} is still there: ${vm.status?.message}`
    if (vm === undefined) return `${name} is not there yet`
    const { metadata, status } = vm
    const reason = this.#world.reason(name) ?? ''
    const rests = restsOf(spec)
    const isTold = status?.observedGeneration === metadata.generation && metadata.deletionTimestamp === undefined
    if (!isTold || status?.phase !== 'Ready' || !rests.includes(reason))
      return `${name}: ${status?.phase}, ${reason}: ${status?.message}; generation ${metadata.generation}, observed ${status?.observedGeneration}, being deleted ${metadata.deletionTimestamp}`
    return spec.ignoreOnDeploy === true ? undefined : this.#missing(name, spec)
  }

  #missing(name: string, spec: Subject['spec']): string | undefined {
    const { machine, cloudInit, clone } = vmChildNames(name)
    const exists = (type: ResourceType, child: string) => this.#world.find(type, TEAM, child) !== undefined
    if (!exists(KUBEVIRT_VIRTUAL_MACHINE, machine)) return `${name} says that it runs, and KubeVirt has no such machine`
    if (!exists(SECRET, cloudInit)) return `${name} says that it runs, and has no Secret ${cloudInit}`
    // A DataVolume that people deleted leaves its claim behind, as long as the guest runs from it.
    const hasDisk = exists(DATA_VOLUME, clone) || exists(PERSISTENT_VOLUME_CLAIM, clone)
    if (!hasDisk) return `${name} says that it runs, and has no disk ${clone}`
    const { interfaces = [] } = spec
    const unknown =
      interfaces.length === 0 ? undefined : this.#addresses(name).find((one) => !this.#told(name).join().includes(one))
    return unknown && `the guest of ${name} has the address ${unknown}, and is told nothing of it`
  }

  #addresses(name: string): string[] {
    const found = this.#world.find<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, vmChildNames(name).machine)
    const { interfaces = [] } = found?.spec.template.spec.domain.devices ?? {}
    return interfaces.map(({ macAddress = 'none' }) => macAddress)
  }

  /** What cloud-init reads in the guest. */
  #told(name: string): string[] {
    const { data = {}, stringData = {} } =
      this.#world.find<SecretContent>(SECRET, TEAM, vmChildNames(name).cloudInit) ?? {}
    const decoded = Object.values(data).map((text) => Buffer.from(text, 'base64').toString())
    return [...decoded, ...Object.values(stringData)]
  }

  #outcomeOf({ name, spec }: Subject): string {
    const vm = this.#world.vm(name)
    if (vm === undefined || spec.ignoreOnDeploy === true) return vm?.status?.phase ?? 'gone'
    const { machine } = vmChildNames(name)
    // Whether it was restarted since its spec changed, or by hand, is a matter of moments.
    const stands = RUNNING.includes(this.#world.reason(name) ?? '') || spec.runStrategy === 'Manual' ? 'at rest' : 'off'
    const { spec: machineSpec } = this.#world.find<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, machine) ?? {}
    const told = [JSON.stringify(machineSpec ?? 'none'), ...this.#told(name)].map(withoutIds)
    return [vm.status?.phase, stands, ...told].join('\n')
  }
}

/** Reasons of a machine that runs: it may wait for a restart, or for a new disk. */
const RUNNING = ['Running', 'RestartRequired', 'RebuildRequired']

/** Where a machine comes to rest. */
function restsOf({ ignoreOnDeploy, runStrategy }: Subject['spec']): readonly string[] {
  if (ignoreOnDeploy === true) return ['IgnoredOnDeploy', 'NotDeployedAnyMore']
  if (runStrategy === 'Halted') return ['Halted']
  return runStrategy === 'Manual' ? ['Halted', ...RUNNING] : RUNNING
}

/** The API server would turn the one into the other; the one in memory does not. */
interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
}

/** Uids and MAC addresses, which follow from uids, are others in each run. */
function withoutIds(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/02(:[0-9a-f]{2}){5}/g, '<MAC>')
}
