import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  RequestOptions,
  WatchEvent,
  WatchOptions,
} from '../../../operator/kube/kube-client.ts'
import {
  apiVersionOf,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ResourceType,
} from '../../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../../operator/kube/resource-types.ts'
import { MemoryCluster, SERVED_TYPES, SimulatedProcess, type Time } from '../../../sandbox/memory-cluster/index.ts'
import { FakeClock } from './fake-clock.ts'
import type { HeldWatches } from './held-watches.ts'

export interface ScriptedCall {
  readonly verb: string
  readonly kind: string
  readonly key: string
  /** Request body, or the options of a list or watch. */
  readonly body: unknown
  readonly options: unknown
}

/**
 * Client of a memory cluster, controlled by a test that also acts as every other client of that cluster. Responses take no time.
 * `before` may throw (the request never arrived) or wait. `after` may throw (the request arrived and its response was lost).
 */
export class ScriptedClient implements KubeClient {
  readonly clock = new FakeClock()
  readonly cluster: MemoryCluster
  readonly calls: ScriptedCall[] = []
  before: ((call: ScriptedCall) => void | Promise<void>) | undefined
  after: ((call: ScriptedCall) => void | Promise<void>) | undefined
  /** If set, serves the watches instead of the cluster. */
  held: HeldWatches | undefined
  readonly #client: KubeClient
  readonly #delayOf = new Map<string, number>()
  /** Watches that have sent all initial events, identified by their options. */
  readonly #begun = new WeakSet<object>()

  /** @param namespaces namespaces to create in addition to `default` */
  constructor(...namespaces: readonly string[]) {
    const time = timeOf(this.clock)
    this.cluster = new MemoryCluster({ time, random: () => 0.5, types: SERVED_TYPES, rollsOut: false })
    this.#client = this.cluster.connect({
      process: new SimulatedProcess(time, 'operator'),
      fateOf: () => ({ kind: 'deliver', requestMs: 0, answerMs: 0 }),
      passageOf: (event, { resource, body }) => ({
        delayMs: this.#isBeginning(event, body as object) ? 0 : (this.#delayOf.get(resource.kind) ?? 0),
      }),
    })
    for (const name of ['default', ...namespaces]) this.#ensureNamespace(name)
  }

  /** Stores an object as another client would. */
  put<T extends KubeObject>(object: T): T {
    const { namespace } = object.metadata
    if (namespace !== undefined) this.#ensureNamespace(namespace)
    return this.cluster.restore(typeOf(object.kind, object.apiVersion), object)
  }

  /** Removes an object. */
  drop(kind: string, key: string): void {
    this.cluster.erase(typeOf(kind), key)
  }

  peek<T extends KubeObject>(kind: string, key: string): T | undefined {
    return this.all(kind).find(({ metadata }) => keyOf(metadata) === key) as T | undefined
  }

  all(kind: string): readonly KubeObject[] {
    return this.cluster.admin.list(typeOf(kind)).items
  }

  /** Delays the watch events of all kinds, or of these kinds, from now on. Initial events are not delayed. */
  delayWatches(delayMs: number, kinds: readonly string[] = SERVED_TYPES.map(({ kind }) => kind)): void {
    for (const kind of kinds) this.#delayOf.set(kind, delayMs)
  }

  /** Returns `verb Kind key` of all calls so far, or of the calls with these verbs. */
  callsOf(...verbs: string[]): string[] {
    return this.calls
      .filter(({ verb }) => verbs.length === 0 || verbs.includes(verb))
      .map(({ verb, kind, key }) => `${verb} ${kind} ${key}`)
  }

  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#request('get', type, keyOf(key), undefined, options, () => this.#client.get<T>(type, key, options))
  }

  list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    const { namespace = '' } = options
    return this.#request('list', type, namespace, options, options, () => this.#client.list<T>(type, options))
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    const send = () => this.#client.create(type, object, options)
    return this.#request('create', type, keyOf(object.metadata), object, options, send)
  }

  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    const send = () => this.#client.replace(type, object, options)
    return this.#request('replace', type, keyOf(object.metadata), object, options, send)
  }

  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    const send = () => this.#client.replaceStatus(type, object, options)
    return this.#request('status', type, keyOf(object.metadata), object, options, send)
  }

  mergePatch<T extends KubeObject>(type: ResourceType, key: ObjectKey, patch: object, options?: RequestOptions) {
    const send = () => this.#client.mergePatch<T>(type, key, patch, options)
    return this.#request('patch', type, keyOf(key), patch, options, send)
  }

  delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void> {
    const send = () => this.#client.delete(type, key, options)
    return this.#request('delete', type, keyOf(key), undefined, options, send)
  }

  async *watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const { resourceVersion } = options
    const verb = resourceVersion === undefined ? 'stream' : 'watch'
    await this.#note({ verb, kind: type.kind, key: resourceVersion ?? '', body: options, options })
    yield* (this.held?.watch(options) ?? this.#client.watch(type, options)) as AsyncIterable<WatchEvent<T>>
  }

  async #request<T>(
    verb: string,
    { kind }: ResourceType,
    key: string,
    body: unknown,
    options: unknown,
    send: () => Promise<T>,
  ): Promise<T> {
    const call: ScriptedCall = { verb, kind, key, body: structuredClone(asData(body)), options }
    await this.#note(call)
    const answer = await send()
    await this.after?.(call)
    return answer
  }

  async #note(call: ScriptedCall): Promise<void> {
    this.calls.push(call)
    await this.before?.(call)
  }

  #isBeginning(event: WatchEvent<KubeObject>, options: WatchOptions): boolean {
    if (options.resourceVersion !== undefined || this.#begun.has(options)) return false
    if (event.type === 'BOOKMARK' && event.endsInitialEvents === true) this.#begun.add(options)
    return true
  }

  #ensureNamespace(name: string): void {
    if (this.peek(NAMESPACE.kind, name) !== undefined) return
    this.cluster.admin.create(NAMESPACE, {
      apiVersion: apiVersionOf(NAMESPACE),
      kind: NAMESPACE.kind,
      metadata: { name },
    })
  }
}

/** For `before` or `after`: throws for the first `times` calls that match `isMeant` (default: all calls). */
export function failing(times: number, error: Error, isMeant: (call: ScriptedCall) => boolean = () => true) {
  let left = times
  return (call: ScriptedCall): void => {
    if (isMeant(call) && left-- > 0) throw error
  }
}

/** Uses a clock that a test advances as the time of its cluster. Work without a delay does not wait for the test. */
function timeOf(clock: FakeClock): Time {
  return {
    epochMs: clock.now() - clock.monotonic(),
    get elapsedMs() {
      return clock.monotonic()
    },
    schedule: (delayMs, callback) => {
      if (delayMs > 0) return clock.setTimer(callback, delayMs)
      let isCancelled = false
      queueMicrotask(() => {
        if (!isCancelled) callback()
      })
      return () => {
        isCancelled = true
      }
    },
  }
}

/** If two kinds have the same name, returns the first, which is the Open Terrain kind. */
function typeOf(kind: string, apiVersion?: string): ResourceType {
  const isIt = (type: ResourceType) =>
    type.kind === kind && (apiVersion === undefined || apiVersionOf(type) === apiVersion)
  const found = SERVED_TYPES.find(isIt)
  if (found === undefined) throw new Error(`no such kind: ${apiVersion} ${kind}`)
  return found
}

/** Removes the options that are not part of a request. */
function asData(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('signal' in body || 'project' in body)) return body
  return { ...body, signal: undefined, project: undefined }
}
