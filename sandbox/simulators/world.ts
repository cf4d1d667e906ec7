import type { Clock } from '../../operator/base/clock.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { DeleteOptions, KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import {
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ObjectMeta,
  type ResourceType,
} from '../../operator/kube/kube-object.ts'
import * as types from '../../operator/kube/resource-types.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import { Reflector } from '../../operator/runtime/reflector.ts'
import { Store } from '../../operator/runtime/store.ts'
import { NODE } from '../resource-types.ts'
import { CLONE, DATA_VOLUME_NAME } from './annotations.ts'
import {
  claimNamesOf,
  type Instance,
  type InstanceSpec,
  type Machine,
  type MachineRestore,
  type MachineSnapshot,
} from './kubevirt-models.ts'
import {
  type Claim,
  type DataSource,
  type DataVolume,
  type Node,
  ownerUid,
  type PersistentVolume,
  type Pod,
  type StorageClass,
  type StorageProfile,
  uidOf,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
} from './models.ts'

/** Prime and helper claims by `namespace/name` of the DataVolume that they are created for. */
export const BY_DATA_VOLUME = 'data volume'
/** Pods, instances and virtual machines by `namespace/name` of each claim that they use. */
export const BY_CLAIM = 'claim'
/** Pods by the UID of the instance that they run. */
export const BY_INSTANCE = 'instance'

export interface WorldOptions {
  readonly client: KubeClient
  readonly clock: Clock
  /** Returns a number in [0, 1). Seeded if a run must be reproducible. */
  readonly random: () => number
  readonly log?: Logger
  /** Whether to simulate nodes, their volumes, and the pods of Deployments too. Default: true. */
  readonly workloads?: boolean
}

const COMPONENTS: Readonly<Record<string, string>> = {
  Pod: 'kubelet',
  VirtualMachine: 'virtualmachine-controller',
  VirtualMachineInstance: 'virtualmachine-controller',
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => {
    throw new Error('the simulators have no child loggers')
  },
} as unknown as Logger

/** Shared by all simulators: one cache of the cluster, kept current by watches, and writes whose results enter the cache at once. */
export class World {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly dataVolumes = new Store<DataVolume>()
  readonly dataSources = new Store<DataSource>()
  readonly claims = new Store<Claim>().index(BY_DATA_VOLUME, (claim) => listOf(dataVolumeKey(claim)))
  readonly pods = new Store<Pod>().index(BY_CLAIM, claimsOf).index(BY_INSTANCE, (pod) => listOf(instanceUid(pod)))
  readonly storageClasses = new Store<StorageClass>()
  readonly storageProfiles = new Store<StorageProfile>()
  readonly snapshots = new Store<VolumeSnapshot>()
  readonly snapshotClasses = new Store<VolumeSnapshotClass>()
  /** KubeVirt's virtual machines. */
  readonly machines = new Store<Machine>().index(BY_CLAIM, ({ metadata, spec }) => within(metadata, spec.template.spec))
  readonly instances = new Store<Instance>().index(BY_CLAIM, ({ metadata, spec }) => within(metadata, spec))
  readonly machineSnapshots = new Store<MachineSnapshot>()
  readonly machineRestores = new Store<MachineRestore>()
  readonly secrets = new Store<Secret>()
  readonly configMaps = new Store<KubeObject>()
  readonly nodes = new Store<Node>()
  readonly volumes = new Store<PersistentVolume>()
  readonly hasWorkloads: boolean
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[] = []

  constructor(options: WorldOptions) {
    this.client = options.client
    this.clock = options.clock
    this.random = options.random
    this.log = options.log ?? silent
    this.hasWorkloads = options.workloads ?? true
  }

  /** Aborted by {@link stop}. */
  get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Starts the watches. Resolves once every kind was listed, or is known not to be installed. The caller must add listeners first. */
  async start(): Promise<void> {
    const reflectors = [
      this.#watch(types.DATA_VOLUME, this.dataVolumes),
      this.#watch(types.DATA_SOURCE, this.dataSources),
      this.#watch(types.PERSISTENT_VOLUME_CLAIM, this.claims),
      this.#watch(types.POD, this.pods),
      this.#watch(types.STORAGE_CLASS, this.storageClasses),
      this.#watch(types.STORAGE_PROFILE, this.storageProfiles),
      this.#watch(types.VOLUME_SNAPSHOT, this.snapshots),
      this.#watch(types.VOLUME_SNAPSHOT_CLASS, this.snapshotClasses),
      this.#watch(types.KUBEVIRT_VIRTUAL_MACHINE, this.machines),
      this.#watch(types.VIRTUAL_MACHINE_INSTANCE, this.instances),
      this.#watch(types.VIRTUAL_MACHINE_SNAPSHOT, this.machineSnapshots),
      this.#watch(types.VIRTUAL_MACHINE_RESTORE, this.machineRestores),
      this.#watch(types.SECRET, this.secrets, undefined, withKeys),
      // Only the existence of these objects matters.
      this.#watch(types.CONFIG_MAP, this.configMaps, { metadataOnly: true }),
      ...(this.hasWorkloads ? [this.#watch(NODE, this.nodes), this.#watch(types.PERSISTENT_VOLUME, this.volumes)] : []),
    ]
    await Promise.all(reflectors.map((reflector) => reflector.synced))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.allSettled(this.#running)
  }

  async create<T extends KubeObject>(type: ResourceType, store: Store<T> | undefined, object: T): Promise<T> {
    const created = slim(await this.client.create(type, object, { signal: this.signal }))
    store?.observeWrite(created)
    return created
  }

  /** Applies a merge patch to exactly this object. A later object of the same name is left alone (422: the UID is immutable). */
  async patch<T extends KubeObject>(type: ResourceType, store: Store<T>, object: T, patch: object): Promise<T> {
    const guarded = { ...patch, metadata: { ...(patch as Partial<KubeObject>).metadata, uid: uidOf(object) } }
    const patched = slim(await this.client.mergePatch<T>(type, keyFor(object), guarded, { signal: this.signal }))
    store.observeWrite(patched)
    return patched
  }

  async writeStatus<T extends KubeObject & { readonly status?: unknown }>(
    type: ResourceType,
    store: Store<T>,
    object: T,
    status: NonNullable<T['status']>,
  ): Promise<T> {
    const written = slim(await this.client.replaceStatus<T>(type, { ...object, status }, { signal: this.signal }))
    store.observeWrite(written)
    return written
  }

  /** For a kind that has its status in the main resource. */
  async replace<T extends KubeObject>(type: ResourceType, store: Store<T>, object: T): Promise<T> {
    const replaced = slim(await this.client.replace<T>(type, object, { signal: this.signal }))
    store.observeWrite(replaced)
    return replaced
  }

  /** Removes a finalizer from exactly this version of an object. Resolves with false if the object does not have it. */
  async releaseFinalizer<T extends KubeObject>(
    type: ResourceType,
    store: Store<T>,
    object: T,
    finalizer: string,
  ): Promise<boolean> {
    const { finalizers = [], resourceVersion } = object.metadata
    if (!finalizers.includes(finalizer)) return false
    const others = finalizers.filter((one) => one !== finalizer)
    await this.patch(type, store, object, { metadata: { resourceVersion, finalizers: others } })
    return true
  }

  /** Deletes exactly this object. It is not an error if the object is already gone. */
  async remove(type: ResourceType, object: KubeObject, options: DeleteOptions = {}): Promise<void> {
    try {
      const preconditions = { uid: uidOf(object), signal: this.signal, ...options }
      await this.client.delete(type, keyFor(object), preconditions)
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error
    }
  }

  /** Emits a Kubernetes Event for people. Nothing depends on it, so it does not matter if one is lost. */
  event(about: KubeObject, kind: string, reason: string, message: string, type = 'Warning'): void {
    const { namespace = 'default', name, uid, resourceVersion } = about.metadata
    const now = this.timestamp()
    const suffix = Math.floor(this.random() * 0xffff_ffff)
      .toString(16)
      .padStart(8, '0')
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${name.slice(0, 200)}.${suffix}` },
      involvedObject: { apiVersion: about.apiVersion, kind, namespace, name, uid, resourceVersion },
      type,
      reason,
      message: message.slice(0, 1_000),
      source: { component: COMPONENTS[kind] ?? 'datavolume-controller' },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    }
    this.client.create(types.EVENT, event, { signal: this.signal }).catch((error: unknown) => {
      if (!this.signal.aborted) this.log.debug({ error: String(error) }, 'lost an event')
    })
  }

  /** Returns the current time in RFC 3339, in whole seconds, as Kubernetes stores times. */
  timestamp(): string {
    return new Date(this.clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
  }

  #watch<T extends KubeObject>(
    type: ResourceType,
    store: Store<T>,
    selection?: Selection,
    project = (object: KubeObject): T => slim(object as T),
  ): Reflector<T> {
    const { client, clock, random, log } = this
    const reflector = new Reflector<T>({
      client,
      type,
      store,
      project,
      clock,
      random,
      log,
      ...(selection && { selection }),
    })
    this.#running.push(reflector.run(this.signal))
    return reflector
  }
}

/** A Secret, without its values. */
interface Secret extends KubeObject {
  readonly keys: readonly string[]
}

function withKeys({ data, ...rest }: KubeObject & { readonly data?: object }): Secret {
  const { apiVersion, kind, metadata } = slim(rest)
  return { apiVersion, kind, metadata, keys: Object.keys(data ?? {}) }
}

/** Removes `managedFields`, the larger half of most objects. The server keeps them if a write omits them. */
function slim<T extends KubeObject>(object: T): T {
  const { managedFields: _dropped, ...metadata } = object.metadata as T['metadata'] & {
    readonly managedFields?: unknown
  }
  return { ...object, metadata }
}

function keyFor(object: KubeObject): ObjectKey {
  const { namespace, name } = object.metadata
  return namespace === undefined ? { name } : { namespace, name }
}

function claimsOf(pod: Pod): string[] {
  const { namespace } = pod.metadata
  return (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : keyOf({ ...(namespace !== undefined && { namespace }), name: claim.claimName }),
  )
}

/** Returns the UID of the instance that a launcher pod runs. */
export function instanceUid(pod: Pod | undefined): string | undefined {
  return pod && ownerUid(pod.metadata, 'VirtualMachineInstance')
}

/** Returns `namespace/name` of the DataVolume that a helper claim or pod of CDI is for. */
export function dataVolumeKey(object: Claim | Pod | undefined): string | undefined {
  const clone = object?.metadata.annotations?.[CLONE]
  if (clone !== undefined) return clone
  const name = object?.metadata.annotations?.[DATA_VOLUME_NAME]
  return name === undefined ? undefined : `${object?.metadata.namespace}/${name}`
}

function within({ namespace }: ObjectMeta, spec: InstanceSpec): string[] {
  return claimNamesOf(spec).map((name) => `${namespace}/${name}`)
}

function listOf(value: string | undefined): string[] {
  return value === undefined ? [] : [value]
}
