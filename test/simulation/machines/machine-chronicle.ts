import type { VMDiskImageStatus } from '@open-terrain/constructs'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import type { Instance, Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { DataVolume } from '../../harness/kinds.ts'
import { type Trace, Traces } from '../traces.ts'
import { MACHINE, type Machine } from './machine-world.ts'

export interface Image extends KubeObject {
  readonly spec: object
  readonly status?: VMDiskImageStatus
}

/** What is in the cluster now, told by commits alone. By uid. */
export class MachineChronicle {
  readonly machines: ReadonlyMap<string, Trace<Machine>>
  readonly images: ReadonlyMap<string, Trace<Image>>
  readonly dataVolumes: ReadonlyMap<string, Trace<DataVolume>>
  readonly snapshots: ReadonlyMap<string, Trace>
  readonly claims: ReadonlyMap<string, Trace>
  readonly secrets: ReadonlyMap<string, Trace>
  readonly kubevirt: ReadonlyMap<string, Trace<KubeVirtMachine>>
  readonly instances: ReadonlyMap<string, Trace<Instance>>
  /** Uids of the DataVolumes and claims that a guest has run from. */
  readonly booted = new Set<string>()
  readonly #now: () => number
  readonly #traces: Traces

  constructor(now: () => number) {
    this.#now = now
    const traces = new Traces(now)
    this.#traces = traces
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
    return this.#now()
  }

  /** Namespaces that are being deleted. */
  get leavingNamespaces(): ReadonlySet<string> {
    return this.#traces.leavingNamespaces
  }

  take(commit: Commit): void {
    this.#traces.take(commit)
    if (commit.resource === VIRTUAL_MACHINE_INSTANCE && commit.type !== 'DELETED')
      this.#noteBoot(commit.object as Instance)
  }

  /** Of ours, that it was made for; undefined when there is none any more. */
  machineOf(child: KubeObject): Trace<Machine> | undefined {
    const owner = controllerOf(child)
    return owner?.kind === MACHINE.kind ? this.machines.get(owner.uid) : undefined
  }

  /** By way of KubeVirt's machine. */
  machineOfInstance(instance: Instance): Trace<Machine> | undefined {
    const machine = this.kubevirt.get(controllerOf(instance)?.uid ?? '')
    return machine && this.machineOf(machine.object)
  }

  /** Objects of one of the maps that were made for the machine with this uid. */
  childrenOf<T extends KubeObject>(uid: string, of: ReadonlyMap<string, Trace<T>>): Trace<T>[] {
    return [...of.values()].filter(({ object }) => controllerOf(object)?.uid === uid)
  }

  instancesOf(uid: string): Trace<Instance>[] {
    return this.childrenOf(uid, this.kubevirt).flatMap(({ object }) =>
      this.childrenOf(object.metadata.uid ?? '', this.instances),
    )
  }

  /** Machines that have a disk of the image, or are getting one, with that disk. */
  usersOf(image: KubeObject): { readonly machine: Trace<Machine>; readonly disk: Trace<DataVolume> }[] {
    return this.referencesTo(image).flatMap((machine) =>
      this.childrenOf(machine.object.metadata.uid ?? '', this.dataVolumes).map((disk) => ({ machine, disk })),
    )
  }

  referencesTo({ metadata }: KubeObject): Trace<Machine>[] {
    return [...this.machines.values()].filter(({ object: { spec, metadata: own } }) => {
      const { name, namespace = own.namespace } = spec.vmDiskImageRef
      return name === metadata.name && namespace === metadata.namespace
    })
  }

  /** Disks that are not complete, and that CDI fills from this VolumeSnapshot or claim. */
  clonesFrom(kind: 'snapshot' | 'pvc', { metadata }: KubeObject): Trace<DataVolume>[] {
    return [...this.dataVolumes.values()].filter(({ object }) => {
      const source = object.spec.source?.[kind] as { readonly namespace?: string; readonly name?: string } | undefined
      const isFromIt = source?.name === metadata.name && source?.namespace === metadata.namespace
      return isFromIt && object.status?.phase !== 'Succeeded' && this.machineOf(object) !== undefined
    })
  }

  /** The image that a disk is cloned from, by way of the snapshot or volume. */
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

  #noteBoot({ status, spec, metadata }: Instance): void {
    if (status?.phase !== 'Running') return
    const names = (spec.volumes ?? []).flatMap(({ dataVolume }) => dataVolume?.name ?? [])
    const keys = names.map((name) => keyOf({ namespace: metadata.namespace ?? '', name }))
    for (const traces of [this.dataVolumes, this.claims] as ReadonlyMap<string, Trace<KubeObject>>[])
      for (const [uid, { object }] of traces) if (keys.includes(keyOf(object.metadata))) this.booted.add(uid)
  }
}
