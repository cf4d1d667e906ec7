import { backoffMs } from '../base/backoff.ts'
import { sleep } from '../base/clock.ts'
import { traceOf } from '../base/messages.ts'
import { type ApiError, isApiError } from '../kube/api-error.ts'
import type { ListPage, Selection, WatchEvent } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { listPages } from '../kube/list-all.ts'
import type { Basics } from './basics.ts'
import type { Store, Stored } from './store.ts'
import { timedWatch } from './timed-watch.ts'

/** Minimum time between two attempts without a backoff: a server may end each watch at once. */
const HASTY_MS = 1_000
/** A 404 for a kind that was served may come from an API server that is just starting. It must be repeated this often. */
const MISSING_CONFIRMED = 4
const RETRY_BASE_MS = 200
const RETRY_MAX_MS = 10_000
/** How soon to retry for a kind that is not installed, if {@link Reflector.poke} does not report it first. */
const ABSENT_RETRY_MS = 30_000

export interface ReflectorOptions<T extends Stored> extends Basics {
  readonly type: ResourceType
  readonly selection?: Selection
  readonly store: Store<T>
  /** Returns what to keep of an object. Keep it small: there are tens of thousands. */
  readonly project: (object: KubeObject) => T
  readonly onRelist?: () => void
}

type Listed<T> = Pick<ListPage<T>, 'items' | 'resourceVersion'>

/**
 * Keeps a {@link Store} equal to the state of the API server: list, then watch, until stopped. No error ends it.
 *
 * ```
 * unlisted --list--> listed(version) --watch--> listed(newer version) --...
 *    ^                  |    ^                        |
 *    +-- 410 Expired ---+    +--- any other end: watch again from there, backing off on errors
 * ```
 * The list is the start of the watch, object by object: pages of hundreds of objects cost either side several times as much memory. Paged
 * lists are used if the server does not support that, or did not complete the list. A kind that is not installed is an empty, synced store.
 */
export class Reflector<T extends Stored> {
  readonly type: ResourceType
  readonly store: Store<T>
  readonly #options: ReflectorOptions<T>
  readonly #synced = Promise.withResolvers<void>()
  /** Resolves at the first complete list, or when the kind is known not to be installed. */
  readonly synced = this.#synced.promise
  readonly #installedListeners = new Set<() => void>()
  #installed: boolean | undefined
  /** The version up to which everything is known; undefined if a list is needed first. */
  #position: string | undefined
  /** Aborted when a retry is requested, possibly during an attempt. */
  #poked = new AbortController()
  #listedAt = Number.NEGATIVE_INFINITY
  /** When the API server last sent anything; undefined before the first attempt. */
  #heardAt: number | undefined
  #failures = 0
  /** How often the kind was not found since the last complete list. */
  #missing = 0
  /** Whether a list can be the start of a watch. `not now`: the last one ended early. */
  #canStream: 'yes' | 'not now' | 'never' = 'yes'

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.type = options.type
    this.store = options.store
    options.store.onBug = (error) => this.#logBug('a change could not be passed on', error)
  }

  /** Whether the API server serves this kind; undefined until known. */
  get installed(): boolean | undefined {
    return this.#installed
  }

  /** Milliseconds since the API server last sent anything: an object, a bookmark, or that it does not serve the kind. */
  get silentMs(): number {
    const now = this.#options.clock.monotonic()
    return now - (this.#heardAt ?? now)
  }

  /** Calls `listener` whenever {@link installed} changes. Returns a function that stops the calls. */
  onInstalled(listener: () => void): () => void {
    this.#installedListeners.add(listener)
    return () => this.#installedListeners.delete(listener)
  }

  observeWrite(object: KubeObject): void {
    this.store.observeWrite(this.#options.project(object))
  }

  /** Ends the wait before the next attempt. */
  poke(): void {
    this.#poked.abort()
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#hear()
    while (!signal.aborted) {
      try {
        if (this.#position !== undefined) await this.#watch(this.#position, signal)
        else if (this.#canStream === 'yes') await this.#stream(signal)
        else await this.#list(signal)
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, signal)
      }
    }
  }

  /** Lists again, next to the watch, which may be behind: a new leader must not know less than its predecessor. Throws ApiErrors. */
  async refresh(signal: AbortSignal): Promise<void> {
    if (!this.#installed) return
    const { items, resourceVersion } = (await this.#readStream(signal)) ?? (await this.#readPages(signal))
    this.store.replaceAll(items, resourceVersion)
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { items, resourceVersion } = await this.#readPages(signal)
    this.#complete(items, resourceVersion)
    this.#position = resourceVersion
    if (this.#canStream === 'not now') this.#canStream = 'yes'
  }

  /** Reads the start of a watch and then ends the watch. Undefined if streaming is unavailable, or the list did not complete. */
  async #readStream(signal: AbortSignal): Promise<Listed<T> | undefined> {
    if (this.#canStream !== 'yes') return undefined
    const items = new Map<string, T>()
    try {
      for await (const event of timedWatch(this.#options, undefined, signal)) {
        const resourceVersion = this.#collect(event, items)
        if (resourceVersion !== undefined) return { items: [...items.values()], resourceVersion }
      }
    } catch (error) {
      if (signal.aborted) throw error
    }
    return undefined
  }

  async #readPages(signal: AbortSignal): Promise<Listed<T>> {
    const { client, type, selection } = this.#options
    const items: T[] = []
    let resourceVersion = '0'
    const project = (object: KubeObject) => this.#project(object)
    for await (const page of listPages(client, type, { ...selection, signal, project })) {
      for (const item of page.items) if (item !== undefined) items.push(item)
      this.#hear()
      resourceVersion = page.resourceVersion
    }
    return { items, resourceVersion }
  }

  /** Runs a watch that starts with the list. */
  async #stream(signal: AbortSignal): Promise<void> {
    const items = new Map<string, T>()
    try {
      for await (const event of timedWatch(this.#options, undefined, signal)) {
        if (this.#position !== undefined) {
          this.#position = this.#take(event)
          continue
        }
        this.#position = this.#collect(event, items)
        if (this.#position === undefined) continue
        this.#complete([...items.values()], this.#position)
        // The watch continues, and the objects that it started with may have changed since.
        items.clear()
      }
    } catch (error) {
      if (this.#position === undefined) this.#canStream = isUnknownToServer(error) ? 'never' : 'not now'
      if (this.#canStream === 'never') return
      throw error
    }
    // The list did not fit into the duration of a watch. Paged lists complete, however long that takes.
    if (this.#position === undefined) this.#canStream = 'not now'
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    for await (const event of timedWatch(this.#options, from, signal)) this.#position = this.#take(event)
    const isHasty = clock.monotonic() - startedAt < HASTY_MS
    if (!isHasty) this.#failures = 0
    else if (!signal.aborted) await this.#pause(new Error('the watch ended as soon as it began'), signal)
  }

  /** Collects an initial object of a stream, or a change between them. Returns the version of the list when it is complete. */
  #collect(event: WatchEvent<KubeObject>, items: Map<string, T>): string | undefined {
    this.#hear()
    this.#failures = 0
    if (event.type === 'BOOKMARK') return event.endsInitialEvents ? event.resourceVersion : undefined
    const item = this.#project(event.object)
    if (item !== undefined && event.type === 'DELETED') items.delete(keyOf(item.metadata))
    else if (item !== undefined) items.set(keyOf(item.metadata), item)
    return undefined
  }

  #complete(items: readonly T[], resourceVersion: string): void {
    this.store.replaceAll(items, resourceVersion)
    this.#missing = 0
    this.#poked = new AbortController()
    this.#listedAt = this.#options.clock.monotonic()
    this.#setInstalled(true)
    this.#options.onRelist?.()
    this.#synced.resolve()
  }

  #hear(): void {
    this.#heardAt = this.#options.clock.monotonic()
  }

  /** Applies a watch event. Returns its version. */
  #take(event: WatchEvent<KubeObject>): string {
    this.#hear()
    this.#failures = 0
    if (event.type === 'BOOKMARK') {
      this.store.advance(event.resourceVersion)
      return event.resourceVersion
    }
    const item = this.#project(event.object)
    if (item !== undefined && event.type === 'DELETED') this.store.remove(item)
    else if (item !== undefined) this.store.put(item)
    return event.object.metadata.resourceVersion ?? '0'
  }

  /** An object that cannot be projected must not affect the others. What was known of it is kept. */
  #project(object: KubeObject): T | undefined {
    const key = keyOf(object.metadata)
    const held = this.store.get(key)
    // A third of all events report our own writes, whose responses are already in the store.
    if (held !== undefined && held.metadata.resourceVersion === object.metadata.resourceVersion) return held
    try {
      return this.#options.project(object)
    } catch (error) {
      this.#logBug(`${key} cannot be read`, error)
      return held
    }
  }

  #logBug(what: string, error: unknown): void {
    this.#options.log.error({ kind: this.type.kind, error: traceOf(error) }, `a bug in the operator: ${what}`)
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    if (isApiError(error, 'NotFound')) return await this.#recoverMissing(error, signal)
    if (isApiError(error, 'Expired') && this.#position !== undefined) {
      this.#position = undefined
      this.#options.log.debug({ kind: this.type.kind }, 'watch expired, listing again')
      if (this.#options.clock.monotonic() - this.#listedAt >= HASTY_MS) return
    }
    await this.#pause(error, signal)
  }

  async #recoverMissing(error: ApiError, signal: AbortSignal): Promise<void> {
    this.#position = undefined
    this.#hear()
    this.#missing += 1
    if (this.#installed === true && this.#missing < MISSING_CONFIRMED) return await this.#pause(error, signal)
    this.store.clear()
    this.#setInstalled(false)
    this.#synced.resolve()
    await this.#rest(ABSENT_RETRY_MS * (0.75 + this.#options.random() / 2), signal)
  }

  #setInstalled(installed: boolean): void {
    const isChanged = this.#installed !== installed
    this.#installed = installed
    if (isChanged) for (const listener of this.#installedListeners) listener()
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { random, log } = this.#options
    const retryAfterMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.max(retryAfterMs, backoffMs(this.#failures, RETRY_BASE_MS, RETRY_MAX_MS, random))
    this.#failures += 1
    const facts = { kind: this.type.kind, error: String(error), retryInMs: Math.round(waitMs) }
    log.warn(facts, 'cannot read from the API server')
    await this.#rest(waitMs, signal)
  }

  /** Sleeps until the delay has passed, or until poked or stopped. */
  async #rest(delayMs: number, signal: AbortSignal): Promise<void> {
    // Rejects when poked or stopped. The caller checks its signal.
    await sleep(this.#options.clock, delayMs, AbortSignal.any([signal, this.#poked.signal])).catch(() => undefined)
    this.#poked = new AbortController()
  }
}

/** Bad Request or Unprocessable Content: the server does not know or does not allow the parameters. */
function isUnknownToServer(error: unknown): boolean {
  return isApiError(error) && (error.status === 400 || error.status === 422)
}
