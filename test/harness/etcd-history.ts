import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { systemClock } from '../../operator/runtime/clock.ts'
import { type EtcdChange, EtcdWatch, latestRevision } from './etcd-watch.ts'
import type { Image } from './kinds.ts'

/** Flag of the API server that makes what etcd holds readable. */
export const READABLE_STORAGE = { 'storage-media-type': 'application/json' }

/** Where the API server keeps what the checks look at. */
const RANGES: readonly (readonly [ResourceType, string])[] = [
  [IMAGE, `/registry/${IMAGE.group}/${IMAGE.plural}/`],
  [DATA_VOLUME, `/registry/${DATA_VOLUME.group}/${DATA_VOLUME.plural}/`],
  [CONFIG_MAP, `/registry/${CONFIG_MAP.plural}/`],
  [VIRTUAL_MACHINE_INSTANCE, `/registry/${VIRTUAL_MACHINE_INSTANCE.group}/${VIRTUAL_MACHINE_INSTANCE.plural}/`],
]

/** One revision of one object. */
export interface SeenEvent {
  readonly kind: string
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** As it is after it, or was last; its resourceVersion is that of the event. Only what the checks look at is kept. */
  readonly object: KubeObject
  /** When it was seen, milliseconds on the monotonic clock. */
  readonly at: number
}

/**
 * Every revision of all images, DataVolumes, instances and slot ledgers, told by etcd itself: also while no API server runs, and of
 * what a watch that has to list again would leave out. So nothing has to be guessed, and no check has to be left out.
 */
export class EtcdHistory implements AsyncDisposable {
  /** Those of one kind are in their order; {@link catchUp} before all of them are needed. */
  readonly events: SeenEvent[] = []
  readonly #watches: readonly EtcdWatch[]
  readonly #listeners: (() => void)[] = []

  private constructor(etcdUrl: string, from: number) {
    this.#watches = RANGES.map(([type, prefix]) => {
      const onChange = (change: EtcdChange) => this.#take(type, change)
      return new EtcdWatch({ url: etcdUrl, prefix, from, onChange })
    })
  }

  /** From now on. The API server needs {@link READABLE_STORAGE}. */
  static async start(etcdUrl: string): Promise<EtcdHistory> {
    return new EtcdHistory(etcdUrl, (await latestRevision(etcdUrl)) + 1)
  }

  /** Calls `listener` after each later event. */
  onEvent(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Resolves when all that was written before this call is in {@link events}. Throws when there is a hole. */
  async catchUp(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.catchUp()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch[Symbol.asyncDispose]()))
  }

  #take(type: ResourceType, { type: change, kv, prev_kv: before }: EtcdChange): void {
    if (type === CONFIG_MAP && !atob(kv.key).endsWith(`/${LEDGER_NAME}`)) return
    const isDeleted = change === 'DELETE'
    const value = isDeleted ? before?.value : kv.value
    if (value === undefined) throw new Error(`etcd tells nothing about revision ${kv.mod_revision}`)
    const stored = JSON.parse(Buffer.from(value, 'base64').toString('utf8')) as KubeObject
    const written = kv.create_revision === kv.mod_revision ? 'ADDED' : 'MODIFIED'
    const object = slim(type, stored, kv.mod_revision)
    this.events.push({ kind: type.kind, type: isDeleted ? 'DELETED' : written, object, at: systemClock.monotonic() })
    for (const listener of this.#listeners) listener()
  }
}

/** What the checks look at; an hour of history has to fit into memory. */
function slim(type: ResourceType, object: KubeObject, resourceVersion: string): KubeObject {
  const { name, namespace, uid, generation, labels, finalizers, deletionTimestamp, ownerReferences } = object.metadata
  const metadata = { name, namespace, uid, generation, labels, finalizers, deletionTimestamp, ownerReferences }
  const { data, status } = object as Image & { readonly data?: unknown }
  return {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    metadata: { ...metadata, resourceVersion },
    ...(data !== undefined && { data }),
    ...(status !== undefined && { status: slimStatus(status) }),
  } as KubeObject
}

function slimStatus(status: NonNullable<Image['status']>): object {
  const { phase, ticket, observedGeneration, queuePositionTime, conditions } = status
  const kept = conditions?.filter(({ type }) => type === 'Reconciling').map(({ type, reason }) => ({ type, reason }))
  return { phase, ticket, observedGeneration, queuePositionTime, conditions: kept }
}
