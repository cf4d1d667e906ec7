import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/slot-ledger.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import { systemClock } from '../../operator/runtime/clock.ts'
import type { Image } from '../harness/kinds.ts'
import type { SeenEvent } from '../harness/mirror.ts'

/** Flag of the API server that makes what etcd holds readable. */
export const READABLE_STORAGE = { 'storage-media-type': 'application/json' }

export interface TimedEvent extends SeenEvent {
  /** When it was seen, milliseconds on the monotonic clock. */
  readonly at: number
}

interface WatchAnswer {
  readonly result?: {
    readonly events?: readonly {
      readonly type?: 'DELETE'
      readonly kv: { readonly value?: string; readonly mod_revision: string; readonly create_revision?: string }
      readonly prev_kv?: { readonly value: string }
    }[]
  }
  readonly error?: { readonly message?: string }
}

/**
 * Every revision of all images, DataVolumes and the ledger, told by etcd itself: also of the moments in which no API server
 * runs, so that nothing has to be guessed about what happened meanwhile. etcd has to outlive it.
 */
export class EtcdHistory implements AsyncDisposable {
  readonly events: TimedEvent[] = []
  readonly #listeners: ((event: TimedEvent) => void)[] = []
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>[]
  #failure: unknown

  /** @param namespace of the ledger */
  constructor(etcdUrl: string, namespace: string) {
    const ledger = `/registry/configmaps/${namespace}/${LEDGER_NAME}`
    this.#running = [
      this.#watch(etcdUrl, IMAGE, `/registry/${IMAGE.group}/${IMAGE.plural}/`),
      this.#watch(etcdUrl, DATA_VOLUME, `/registry/${DATA_VOLUME.group}/${DATA_VOLUME.plural}/`),
      this.#watch(etcdUrl, CONFIG_MAP, ledger),
    ]
  }

  /** Calls `listener` with each later event. */
  onEvent(listener: (event: TimedEvent) => void): void {
    this.#listeners.push(listener)
  }

  /** Throws when a watch broke: then the history has a hole. */
  assertComplete(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running)
  }

  async #watch(etcdUrl: string, type: ResourceType, prefix: string): Promise<void> {
    const { signal } = this.#stopping
    const key = btoa(prefix)
    // The end of a range: everything that begins with the prefix is smaller.
    const rangeEnd = btoa(`${prefix.slice(0, -1)}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`)
    // From the first revision on: it does not matter when the watch begins.
    const request = { key, range_end: rangeEnd, prev_kv: true, start_revision: 1 }
    const body = JSON.stringify({ create_request: request })
    try {
      const answer = await fetch(`${etcdUrl}/v3/watch`, { method: 'POST', body, signal })
      for await (const line of linesOf(answer.body)) this.#take(type, JSON.parse(line) as WatchAnswer)
      if (!signal.aborted) throw new Error(`etcd ended the watch of ${prefix}`)
    } catch (error) {
      if (!signal.aborted) this.#failure = error
    }
  }

  #take(type: ResourceType, { result, error }: WatchAnswer): void {
    if (error !== undefined) throw new Error(`etcd: ${error.message}`)
    const at = systemClock.monotonic()
    for (const { type: change, kv, prev_kv: before } of result?.events ?? []) {
      const isDeleted = change === 'DELETE'
      const value = isDeleted ? before?.value : kv.value
      if (value === undefined) throw new Error(`etcd tells nothing about revision ${kv.mod_revision}`)
      const stored = JSON.parse(Buffer.from(value, 'base64').toString('utf8')) as KubeObject
      const created = kv.create_revision === kv.mod_revision ? 'ADDED' : 'MODIFIED'
      const object = slim(type, stored, kv.mod_revision)
      const event: TimedEvent = { kind: type.kind, type: isDeleted ? 'DELETED' : created, object, at }
      this.events.push(event)
      for (const listener of this.#listeners) listener(event)
    }
  }
}

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines.filter((line) => line !== '')
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

function slimStatus({ phase, ticket, observedGeneration, conditions }: NonNullable<Image['status']>): object {
  const kept = conditions?.filter(({ type }) => type === 'Reconciling').map(({ type, reason }) => ({ type, reason }))
  return { phase, ticket, observedGeneration, conditions: kept }
}
