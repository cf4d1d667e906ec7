import { systemClock } from '../../operator/base/clock.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { type EtcdChange, EtcdWatch, latestRevision } from './etcd-watch.ts'
import type { Image } from './kinds.ts'

/** API server flag that stores objects in etcd as JSON, so that tests can read them. */
export const READABLE_STORAGE = { 'storage-media-type': 'application/json' }

/** The etcd prefixes of the kinds that the checks need. */
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
  /** The object after the change, or before its deletion, with the resourceVersion of the event. Has only the fields that the checks need. */
  readonly object: KubeObject
  /** When it was seen, milliseconds on the monotonic clock. */
  readonly at: number
}

/**
 * Records every revision of all images, DataVolumes, instances and slot ledgers, as reported by etcd itself. This works while no API server runs, and
 * includes the revisions that a watch misses when it lists again. So no check has to guess, and none has to be skipped.
 */
export class EtcdHistory implements AsyncDisposable {
  /** Events of one kind are in order. Call {@link catchUp} before reading all of them. */
  readonly events: SeenEvent[] = []
  readonly #watches: readonly EtcdWatch[]
  readonly #listeners: (() => void)[] = []

  private constructor(etcdUrl: string, from: number) {
    this.#watches = RANGES.map(([type, prefix]) => {
      const onChange = (change: EtcdChange) => this.#take(type, change)
      return new EtcdWatch({ url: etcdUrl, prefix, from, onChange })
    })
  }

  /** Records from now on. The API server needs {@link READABLE_STORAGE}. */
  static async start(etcdUrl: string): Promise<EtcdHistory> {
    return new EtcdHistory(etcdUrl, (await latestRevision(etcdUrl)) + 1)
  }

  /** Calls `listener` after each later event. */
  onEvent(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Resolves when {@link events} contains everything that was written before this call. Throws if revisions are missing. */
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

/** Keeps only the fields that the checks need: an hour of history must fit into memory. */
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
