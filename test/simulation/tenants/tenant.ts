import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import { isApiError } from '../../../operator/kube/api-error.ts'
import {
  apiVersionOf,
  type KubeObject,
  type ObjectMeta,
  type OwnerReference,
  type ResourceType,
} from '../../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import { IMAGE, type MemoryCluster } from '../../../sandbox/memory-cluster/index.ts'
import { MACHINE } from '../../harness/kinds.ts'

const FORGED: readonly ResourceType[] = [
  POD,
  PERSISTENT_VOLUME_CLAIM,
  DATA_VOLUME,
  VOLUME_SNAPSHOT,
  DATA_SOURCE,
  SECRET,
  KUBEVIRT_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_INSTANCE,
]
const IMITATED: readonly ResourceType[] = [IMAGE, MACHINE, ...FORGED]
const KEEP = 'tenant.example.com/keep'
/** The source of the DataVolume is of a kind that nobody imports. */
const SPECS: Readonly<Record<string, object>> = {
  DataVolume: { source: { upload: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
  PersistentVolumeClaim: { resources: { requests: { storage: '1Gi' } }, storageClassName: 'nobodys' },
  Pod: { containers: [] },
  VolumeSnapshot: { source: { persistentVolumeClaimName: 'nothing' } },
  DataSource: { source: {} },
  VirtualMachine: { runStrategy: 'Halted', template: { spec: {} } },
}
const STATUSES: Readonly<Record<string, readonly object[]>> = {
  DataVolume: [{ phase: 'Succeeded', progress: '100.0%' }, { phase: 'ImportInProgress' }, { phase: 'Failed' }],
  PersistentVolumeClaim: [{ phase: 'Bound' }],
  Pod: [{ phase: 'Running' }, { phase: 'Failed' }, { phase: 'Succeeded' }],
  VolumeSnapshot: [{ readyToUse: true }],
  VirtualMachine: [{ printableStatus: 'Running' }],
  VirtualMachineInstance: [{ phase: 'Running' }],
}

/** A user with all permissions in one namespace, who creates objects there that look like those of others. */
export class Tenant {
  readonly #cluster: MemoryCluster
  readonly #random: () => number
  readonly #namespace: string
  readonly #made: { readonly type: ResourceType; readonly name: string }[] = []
  /** How often each kind of action was done. */
  readonly done = new Map<string, number>()

  constructor(cluster: MemoryCluster, namespace: string, random: () => number) {
    this.#cluster = cluster
    this.#namespace = namespace
    this.#random = random
  }

  act(): void {
    const act = this.#pick([this.#forge, this.#forge, this.#forge, this.#forge, this.#change, this.#delete])
    try {
      act.call(this)
    } catch (error) {
      // The name is taken, the object is gone, or the API server refuses it.
      if (!isApiError(error)) throw error
    }
  }

  #forge(): void {
    const type = this.#pick(FORGED)
    const victim = this.#victim()
    if (victim === undefined) return
    const { admin } = this.#cluster
    const name = this.#nameLike(victim)
    const metadata = { namespace: this.#namespace, name, ...this.#disguise(victim) }
    const spec = SPECS[type.kind]
    admin.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...(spec && { spec }) })
    this.#made.push({ type, name })
    this.#count(`forged ${type.kind}`)
    this.#report(type, name)
  }

  #change(): void {
    const [one, victim] = [this.#pick(this.#made), this.#victim()]
    if (one === undefined || victim === undefined) return
    this.#cluster.admin.mergePatch(one.type, this.#key(one.name), { metadata: this.#disguise(victim) })
    this.#count(`changed ${one.type.kind}`)
    this.#report(one.type, one.name)
  }

  #delete(): void {
    const one = this.#pick(this.#made)
    if (one === undefined) return
    const propagationPolicy = this.#pick(['Background', 'Foreground', 'Orphan'] as const)
    this.#cluster.admin.delete(one.type, this.#key(one.name), { propagationPolicy })
    this.#count(`deleted ${one.type.kind}`)
  }

  #report({ kind, ...type }: ResourceType, name: string): void {
    const status = this.#pick(STATUSES[kind] ?? [])
    const { admin } = this.#cluster
    if (status === undefined || this.#random() < 0.3) return
    const object = admin.get({ kind, ...type }, this.#key(name))
    admin.replaceStatus({ kind, ...type }, { ...object, status } as KubeObject)
  }

  #disguise(victim: KubeObject): Pick<ObjectMeta, 'labels' | 'ownerReferences' | 'finalizers'> {
    return {
      labels: this.#random() < 0.8 ? this.#labelsLike(victim) : {},
      ownerReferences: this.#random() < 0.8 ? [this.#ownerLike(victim)] : [],
      finalizers: this.#random() < 0.6 ? [KEEP] : [],
    }
  }

  #labelsLike({ metadata }: KubeObject): Record<string, string> {
    const uids = { [LABELS.imageUid]: metadata.uid ?? '', [LABELS.vmUid]: metadata.uid ?? '' }
    const names = { [LABELS.imageName]: metadata.name, [LABELS.vmName]: metadata.name }
    return { ...uids, ...names, ...metadata.labels, [LABELS.managedBy]: MANAGER }
  }

  #ownerLike({ apiVersion, kind, metadata }: KubeObject): OwnerReference {
    const { uid = '', name } = metadata
    const real = { apiVersion, kind, name, uid, controller: true }
    // With `blockOwnerDeletion`, which is copied, and a finalizer, it blocks the foreground deletion of its owner. If that is the pod of a guest,
    // KubeVirt itself waits, and nobody else can help.
    const [its] = metadata.ownerReferences ?? []
    const sibling = its === undefined || its.kind === 'Pod' || its.kind === 'VirtualMachineInstance' ? real : its
    // The simulated KubeVirt treats every pod that names the uid of an instance as its launcher. The real one looks only in its namespace.
    if (kind === 'VirtualMachineInstance') return { ...real, uid: 'made-up' }
    return this.#pick([
      real,
      // The owner of the victim, which makes the forged object a sibling.
      sibling,
      { ...real, apiVersion: 'nope.example/v1' },
      { ...real, uid: `made-up-${Math.floor(this.#random() * 1e6)}` },
      { ...real, name: 'made-up' },
      { ...real, controller: false },
    ])
  }

  #nameLike({ metadata: { name, uid = '' } }: KubeObject): string {
    const number = Math.floor(this.#random() * 1e6)
    return this.#pick([name, name, `prime-${uid}`, `importer-${name}`, `importer-prime-${uid}`, `forged-${number}`])
  }

  /** Returns a random object, whoever owns it. */
  #victim(): KubeObject | undefined {
    return this.#pick(this.#cluster.admin.list(this.#pick(IMITATED)).items)
  }

  #key(name: string) {
    return { namespace: this.#namespace, name }
  }

  #count(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1)
  }

  #pick<T>(from: readonly [T, ...T[]]): T
  #pick<T>(from: readonly T[]): T
  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T
  }
}
