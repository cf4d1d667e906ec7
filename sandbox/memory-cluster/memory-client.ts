import { ApiError } from '../../operator/kube/api-error.ts'
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  RequestOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../../operator/kube/kube-object.ts'
import type { ApiServer } from './api-server.ts'
import { noAnswer, notSent, refused } from './errors.ts'
import type { Fate, Passage, RequestInfo, ServerView } from './faults.ts'
import { frozenCopy } from './json.ts'
import { MemoryWatch } from './memory-watch.ts'
import type { ObjectStore } from './object-store.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { Timeline } from './timeline.ts'
import type { Time } from './virtual-time.ts'

const DEFAULT_TIMEOUT_MS = 30_000

export interface ClientParts {
  readonly time: Time
  readonly store: ObjectStore
  readonly server: ApiServer
  readonly process: SimulatedProcess
  readonly fateOf: (request: RequestInfo) => Fate
  readonly passageOf: (event: WatchEvent<KubeObject>, request: RequestInfo) => Passage
  /** The server that serves a watch. Undefined: a server that is up to date. */
  readonly viewOf: (request: RequestInfo) => ServerView | undefined
  readonly timeline: Timeline
  /** Called for each request that was carried out or refused, with the HTTP status. */
  readonly onAnswer: (request: RequestInfo, code: string) => void
  readonly watches: Set<MemoryWatch>
}

interface Call<T> {
  readonly request: RequestInfo
  readonly options: RequestOptions
  readonly carryOut: () => T
  readonly resolve: (answer: T) => void
  readonly reject: (error: unknown) => void
}

/** The connection of one process to the in-memory API server, over a network that applies its fate to each request. */
export class MemoryClient implements KubeClient {
  readonly #parts: ClientParts

  constructor(parts: ClientParts) {
    this.#parts = parts
  }

  get<T extends KubeObject>(type: ResourceType, key: ObjectKey, options?: RequestOptions): Promise<T> {
    return this.#send<T>(this.#about('get', type, keyOf(key)), options, () => this.#parts.server.get(type, key) as T)
  }

  list<T extends KubeObject>(type: ResourceType, options: ListOptions = {}): Promise<ListPage<T>> {
    const request = this.#about('list', type, undefined, options)
    const { project = (object) => object } = options
    return this.#send<ListPage<T>>(request, options, () => {
      const page = this.#parts.server.list(type, options)
      return { ...page, items: page.items.map((object) => project(object) as T) }
    })
  }

  create<T extends KubeObject>(type: ResourceType, object: T, options?: WriteOptions): Promise<T> {
    refuseDryRun(options)
    return this.#write(this.#about('create', type, keyOf(object.metadata), frozenCopy(object)), options)
  }

  replace<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    requireVersion(type, object)
    return this.#write(this.#about('replace', type, keyOf(object.metadata), frozenCopy(object)), options)
  }

  replaceStatus<T extends KubeObject>(type: ResourceType, object: T, options?: RequestOptions): Promise<T> {
    requireVersion(type, object)
    return this.#write(this.#about('replaceStatus', type, keyOf(object.metadata), frozenCopy(object)), options)
  }

  mergePatch<T extends KubeObject>(
    type: ResourceType,
    key: ObjectKey,
    patch: object,
    options?: WriteOptions,
  ): Promise<T> {
    refuseDryRun(options)
    const { server, process } = this.#parts
    const body = frozenCopy(patch)
    const request = this.#about('mergePatch', type, keyOf(key), body)
    return this.#send<T>(request, options, () => server.mergePatch(process.name, type, key, body) as T)
  }

  delete(type: ResourceType, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { server, process } = this.#parts
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options
    const body = { uid, resourceVersion, propagationPolicy, gracePeriodSeconds }
    const request = this.#about('delete', type, keyOf(key), body)
    return this.#send<void>(request, options, () => server.delete(process.name, type, key, options))
  }

  watch<T extends KubeObject>(type: ResourceType, options: WatchOptions): AsyncIterable<WatchEvent<T>> {
    const { time, process, store, passageOf, viewOf, timeline, watches } = this.#parts
    const request = this.#about('watch', type, undefined, options)
    const watch: MemoryWatch = new MemoryWatch({
      time,
      process,
      type,
      options,
      timeline,
      view: viewOf(request),
      passageOf: (event) => passageOf(event, request),
      dial: (arrived, failed) => {
        watches.add(watch)
        // The response is the stream. It has no deadline, and its first event is the first thing that the client receives.
        const requestOptions = { timeoutMs: Number.POSITIVE_INFINITY }
        this.#send(request, requestOptions, () => arrived(store.table(type), () => store.revision)).catch(failed)
      },
      onClose: () => watches.delete(watch),
    })
    return watch as AsyncIterable<WatchEvent<KubeObject>> as AsyncIterable<WatchEvent<T>>
  }

  #about(verb: RequestInfo['verb'], resource: ResourceType, key?: string, body?: unknown): RequestInfo {
    const actor = this.#parts.process.name
    return { actor, verb, resource, ...(key !== undefined && { key }), ...(body !== undefined && { body }) }
  }

  #write<T extends KubeObject>(request: RequestInfo & { readonly verb: string }, options?: RequestOptions): Promise<T> {
    const { server, process } = this.#parts
    const verb = request.verb as 'create' | 'replace' | 'replaceStatus'
    return this.#send<T>(request, options, () => server[verb](process.name, request.resource, request.body as T) as T)
  }

  #send<T>(request: RequestInfo, options: RequestOptions = {}, carryOut: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const call: Call<T> = { request, options, carryOut, resolve, reject }
      new Exchange(this.#parts, call, this.#parts.fateOf(request)).begin()
    })
  }
}

function requireVersion({ kind }: ResourceType, { metadata }: KubeObject): void {
  if (metadata.resourceVersion !== undefined) return
  throw new TypeError(`replacing ${kind} ${metadata.name} needs metadata.resourceVersion`)
}

/** One request on its way to the server and back. */
class Exchange<T> {
  readonly #parts: ClientParts
  readonly #call: Call<T>
  readonly #fate: Fate
  readonly #deadline: number
  #cancelDeadline: (() => void) | undefined
  #isSettled = false

  constructor(parts: ClientParts, call: Call<T>, fate: Fate) {
    this.#parts = parts
    this.#call = call
    this.#fate = fate
    this.#deadline = parts.time.elapsedMs + (call.options.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  }

  begin(): void {
    const { signal } = this.#call.options
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    const { turnMs = 0 } = this.#fate
    if (signal?.aborted) this.#onAbort()
    else if (turnMs === 0) this.#leave()
    else this.#waitForTurn(turnMs)
  }

  #waitForTurn(turnMs: number): void {
    this.#expect(turnMs)
    this.#parts.process.clock.setTimer(() => this.#leave(), turnMs)
  }

  readonly #onAbort = () => this.#fail('aborted')

  #leave(): void {
    if (this.#isSettled) return
    const { request, options, reject } = this.#call
    if (this.#parts.time.elapsedMs >= this.#deadline) this.#fail('timed out')
    else if (options.isStillValid?.() !== false) this.#travel()
    else this.#settle(() => reject(notSent(request.verb, request.resource)))
  }

  #travel(): void {
    const fate = this.#fate
    const { time } = this.#parts
    switch (fate.kind) {
      case 'deliver':
        this.#expect(fate.requestMs + fate.answerMs)
        time.schedule(fate.requestMs, () => this.#arriveAfter(fate.answerMs, this.#carryOut()))
        break
      case 'refuse':
        this.#refuse(fate)
        break
      case 'loseRequest':
        this.#lose(fate.answerMs)
        break
      case 'loseAnswer':
        time.schedule(fate.requestMs, () => this.#carryOut())
        this.#lose(fate.requestMs + fate.answerMs)
        break
      case 'late':
        time.schedule(fate.requestMs, () => this.#carryOut())
        this.#lose(fate.answerMs)
        break
    }
  }

  #refuse({ status, retryAfterMs, answerMs, message }: Extract<Fate, { kind: 'refuse' }>): void {
    const error = refused(status, retryAfterMs, message)
    this.#expect(answerMs)
    this.#parts.onAnswer(this.#call.request, String(status))
    this.#arriveAfter(answerMs, () => this.#call.reject(error))
  }

  /** Runs at the server. Returns the function by which the client receives the response. */
  #carryOut(): () => void {
    const { request, carryOut, resolve, reject } = this.#call
    try {
      const answer = carryOut()
      this.#parts.onAnswer(request, request.verb === 'create' ? '201' : '200')
      return () => resolve(answer)
    } catch (error) {
      // An error thrown by a listener ends the run.
      if (!(error instanceof ApiError)) throw error
      this.#parts.onAnswer(request, String(error.status))
      return () => reject(error)
    }
  }

  #arriveAfter(delayMs: number, takeIn: () => void): void {
    this.#parts.time.schedule(delayMs, () => this.#parts.process.deliver(() => this.#arrive(takeIn)))
  }

  /** A process that was frozen can find both a response and an expired deadline. The deadline wins. */
  #arrive(takeIn: () => void): void {
    if (this.#parts.time.elapsedMs > this.#deadline) this.#fail('timed out')
    else this.#settle(takeIn)
  }

  /** Only a response that would arrive after the deadline needs a timer. */
  #expect(delayMs: number): void {
    const { time, process } = this.#parts
    const leftMs = this.#deadline - time.elapsedMs
    if (delayMs > leftMs) this.#cancelDeadline = process.clock.setTimer(() => this.#fail('timed out'), leftMs)
  }

  #lose(delayMs: number): void {
    this.#expect(delayMs)
    const { request, reject } = this.#call
    this.#arriveAfter(delayMs, () => reject(noAnswer(request.verb, request.resource, 'the connection was reset')))
  }

  #fail(why: string): void {
    const { request, reject } = this.#call
    this.#settle(() => reject(noAnswer(request.verb, request.resource, why)))
  }

  #settle(takeIn: () => void): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#cancelDeadline?.()
    this.#call.options.signal?.removeEventListener('abort', this.#onAbort)
    takeIn()
  }
}

/** It would write, or judge less than the real one does. */
function refuseDryRun(options: WriteOptions | undefined): void {
  if (options?.isDryRun === true) throw new TypeError('the in-memory API server has no dry run')
}
