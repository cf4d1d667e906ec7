import type { VMDiskImageStatus } from '@open-terrain/constructs'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import type { Instance, Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { DataVolume } from '../../harness/kinds.ts'
import type { Disturbances } from '../disturbances.ts'
import { MACHINE, type Machine } from './machine-world.ts'

/** One object, from its first commit to its last. */
export interface Trace<T extends KubeObject> {
  /** As it was stored last. */
  object: T
  readonly createdAtMs: number
  /** When its spec was last changed. */
  specAtMs: number
  /** When it began to be deleted; undefined while it is not. */
  leavingAtMs: number | undefined
}

export interface Image extends KubeObject {
  readonly spec: object
  readonly status?: VMDiskImageStatus
}

/** What is in the cluster now, told by commits alone. By uid. */
export class MachineChronicle {
  readonly machines = new Map<string, Trace<Machine>>()
  readonly images = new Map<string, Trace<Image>>()
  readonly dataVolumes = new Map<string, Trace<DataVolume>>()
  readonly snapshots = new Map<string, Trace<KubeObject>>()
  readonly claims = new Map<string, Trace<KubeObject>>()
  readonly secrets = new Map<string, Trace<KubeObject>>()
  readonly kubevirt = new Map<string, Trace<KubeVirtMachine>>()
  readonly instances = new Map<string, Trace<Instance>>()
  /** Uids of the DataVolumes and claims that a guest has run from. */
  readonly booted = new Set<string>()
  /** Namespaces that are being deleted. */
  readonly leavingNamespaces = new Set<string>()
  readonly #now: () => number
  readonly #traces: ReadonlyMap<ResourceType, Map<string, Trace<KubeObject>>>

  constructor(now: () => number) {
    this.#now = now
    this.#traces = new Map<ResourceType, Map<string, Trace<KubeObject>>>([
      [MACHINE, this.machines as Map<string, Trace<KubeObject>>],
      [IMAGE, this.images as Map<string, Trace<KubeObject>>],
      [DATA_VOLUME, this.dataVolumes as Map<string, Trace<KubeObject>>],
      [VOLUME_SNAPSHOT, this.snapshots],
      [PERSISTENT_VOLUME_CLAIM, this.claims],
      [SECRET, this.secrets],
      [KUBEVIRT_VIRTUAL_MACHINE, this.kubevirt as Map<string, Trace<KubeObject>>],
      [VIRTUAL_MACHINE_INSTANCE, this.instances as Map<string, Trace<KubeObject>>],
    ])
  }

  get nowMs(): number {
    return this.#now()
  }

  take(commit: Commit): void {
    if (commit.resource === NAMESPACE) this.#takeNamespace(commit)
    const traces = this.#traces.get(commit.resource)
    if (traces === undefined) return
    const { type, object } = commit
    const { uid = '', deletionTimestamp, generation } = object.metadata
    if (type === 'DELETED') {
      traces.delete(uid)
      return
    }
    const { nowMs } = this
    const trace = traces.get(uid) ?? { object, createdAtMs: nowMs, specAtMs: nowMs, leavingAtMs: undefined }
    if (trace.object.metadata.generation !== generation) trace.specAtMs = nowMs
    if (deletionTimestamp !== undefined) trace.leavingAtMs ??= nowMs
    trace.object = object
    traces.set(uid, trace)
    if (commit.resource === VIRTUAL_MACHINE_INSTANCE) this.#noteBoot(object as Instance)
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

  #takeNamespace({ type, object: { metadata } }: Commit): void {
    if (type === 'DELETED') this.leavingNamespaces.delete(metadata.name)
    else if (metadata.deletionTimestamp !== undefined) this.leavingNamespaces.add(metadata.name)
  }

  #noteBoot({ status, spec, metadata }: Instance): void {
    if (status?.phase !== 'Running') return
    const names = (spec.volumes ?? []).flatMap(({ dataVolume }) => dataVolume?.name ?? [])
    const keys = names.map((name) => keyOf({ namespace: metadata.namespace ?? '', name }))
    for (const traces of [this.dataVolumes, this.claims] as ReadonlyMap<string, Trace<KubeObject>>[])
      for (const [uid, { object }] of traces) if (keys.includes(keyOf(object.metadata))) this.booted.add(uid)
  }
}

/** How long ago the operator may have decided what is carried out now: what it sent takes at most 10 s to arrive. */
export function decidedWithinMs(disturbances: Disturbances): number {
  return disturbances.calmForMs('api', 'freeze') > 30_000 ? 1_000 : 15_000
}

/** What watches were kept from telling is listed again after so long. */
const LISTED_AGAIN_MS = 30_000

/** Whether the operator must have known what happened so long ago when it decided what is carried out now. */
export function mustKnow(disturbances: Disturbances, ageMs: number): boolean {
  const isTold = disturbances.calmForMs('watch', 'freeze', 'api') > ageMs + LISTED_AGAIN_MS
  return isTold && ageMs > decidedWithinMs(disturbances)
}
