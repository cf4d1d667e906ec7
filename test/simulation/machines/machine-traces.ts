import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import type { Instance, Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { type DataVolume, IMAGE, type Image, MACHINE, type Machine } from '../../harness/kinds.ts'
import type { Chronicle } from '../chronicle.ts'
import type { Witness } from '../oracle/oracle.ts'
import type { Trace } from '../traces.ts'

/** What an oracle of machines judges by, and where it reports. */
export interface MachineWitness extends Pick<Witness, 'disturbances' | 'report'> {
  readonly traces: MachineTraces
}

/** Reports whether it is the kind of Open Terrain: KubeVirt's kind has the same name. */
export function isOfMachines({ group, kind }: ResourceType): boolean {
  return group === MACHINE.group && kind === MACHINE.kind
}

/** Reports whether somebody has said that the root disk goes before the new one is made, in the words that the machine tells. */
export function isGivenUp(machine: Machine): boolean {
  const word = machine.metadata.annotations?.[ANNOTATIONS.deleteDiskFirst]
  return word !== undefined && word === deletionWord(machine)
}

export function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${keyOf(metadata)}`
}

/** The machines that exist now, and the objects that they consist of, by uid. */
export class MachineTraces {
  readonly machines: ReadonlyMap<string, Trace<Machine>>
  readonly images: ReadonlyMap<string, Trace<Image>>
  readonly dataVolumes: ReadonlyMap<string, Trace<DataVolume>>
  readonly snapshots: ReadonlyMap<string, Trace>
  readonly claims: ReadonlyMap<string, Trace>
  readonly secrets: ReadonlyMap<string, Trace>
  readonly kubevirt: ReadonlyMap<string, Trace<KubeVirtMachine>>
  readonly instances: ReadonlyMap<string, Trace<Instance>>
  readonly #chronicle: Chronicle

  constructor(chronicle: Chronicle) {
    this.#chronicle = chronicle
    const { traces } = chronicle
    this.machines = traces.of(MACHINE)
    this.images = traces.of(IMAGE)
    this.dataVolumes = traces.of(DATA_VOLUME)
    this.snapshots = traces.of(VOLUME_SNAPSHOT)
    this.claims = traces.of(PERSISTENT_VOLUME_CLAIM)
    this.secrets = traces.of(SECRET)
    this.kubevirt = traces.of(KUBEVIRT_VIRTUAL_MACHINE)
    this.instances = traces.of(VIRTUAL_MACHINE_INSTANCE)
  }

  get nowMs(): number {
    return this.#chronicle.nowMs
  }

  /** Namespaces that are being deleted. */
  get leavingNamespaces(): ReadonlySet<string> {
    return this.#chronicle.traces.leavingNamespaces
  }

  /** Returns the machine of Open Terrain that the child was created for, or undefined if it no longer exists. */
  machineOf(child: KubeObject): Trace<Machine> | undefined {
    const owner = controllerOf(child)
    const found = owner?.kind === MACHINE.kind ? this.machines.get(owner.uid) : undefined
    return found?.object.metadata.namespace === child.metadata.namespace ? found : undefined
  }

  /** Finds the machine through KubeVirt's machine. */
  machineOfInstance(instance: Instance): Trace<Machine> | undefined {
    const machine = this.kubevirt.get(controllerOf(instance)?.uid ?? '')
    return machine && this.machineOf(machine.object)
  }

  /** Returns the objects of one of the maps that were created for the owner. In another namespace, such a claim is forged. */
  childrenOf<T extends KubeObject>({ metadata }: KubeObject, of: ReadonlyMap<string, Trace<T>>): Trace<T>[] {
    return [...of.values()].filter(
      ({ object }) => controllerOf(object)?.uid === metadata.uid && object.metadata.namespace === metadata.namespace,
    )
  }

  instancesOf(machine: KubeObject): Trace<Instance>[] {
    return this.childrenOf(machine, this.kubevirt).flatMap(({ object }) => this.childrenOf(object, this.instances))
  }

  referencesTo({ metadata }: KubeObject): Trace<Machine>[] {
    return [...this.machines.values()].filter(({ object: { spec, metadata: own } }) => {
      const refs = [spec.vmDiskImageRef, ...(spec.disks ?? []).flatMap(({ vmDiskImageRef }) => vmDiskImageRef ?? [])]
      return refs.some(
        ({ name, namespace = own.namespace }) => name === metadata.name && namespace === metadata.namespace,
      )
    })
  }

  disksOf({ object }: Trace<Machine>): Trace<DataVolume>[] {
    return this.childrenOf(object, this.dataVolumes)
  }

  /** Returns the incomplete disks of machines that CDI clones from this VolumeSnapshot or claim. */
  clonesFrom(kind: 'snapshot' | 'pvc', { metadata }: KubeObject): Trace<DataVolume>[] {
    return [...this.dataVolumes.values()].filter(({ object }) => {
      const source = object.spec.source?.[kind] as { readonly namespace?: string; readonly name?: string } | undefined
      const isFromIt = source?.name === metadata.name && source?.namespace === metadata.namespace
      return isFromIt && object.status?.phase !== 'Succeeded' && this.machineOf(object) !== undefined
    })
  }

  /** Returns the image that a disk is cloned from, through the snapshot or volume. */
  imageBehind({ spec: { source = {} } }: DataVolume): Trace<Image> | undefined {
    const [[kind, of] = []] = Object.entries(source) as [
      string,
      { readonly namespace?: string; readonly name: string },
    ][]
    const candidates: ReadonlyMap<string, Trace<KubeObject>> = kind === 'snapshot' ? this.snapshots : this.dataVolumes
    const found = [...candidates.values()].find(
      ({ object: { metadata } }) => metadata.name === of?.name && metadata.namespace === of?.namespace,
    )
    return found && this.images.get(controllerOf(found.object)?.uid ?? '')
  }
}
