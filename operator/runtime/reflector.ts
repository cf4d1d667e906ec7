import { isApiError } from '../kube/api-error.ts'
import type { Selection, WatchEvent } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { listPages } from '../kube/list-all.ts'
import { backoffMs } from './backoff.ts'
import type { Basics } from './basics.ts'
import { sleep } from './clock.ts'
import { traceOf } from './redact.ts'
import type { Store, Stored } from './store.ts'
import { timedWatch } from './timed-watch.ts'

/** A server that ends watches at once must not be asked in a loop. */
const HASTY_MS = 1_000
/** A kind that was served and answers 404 may be an API server that is just starting: it has to say so this often. */
const MISSING_CONFIRMED = 4
const RETRY_BASE_MS = 200
const RETRY_MAX_MS = 10_000
/** How soon to look again for a kind that is not installed, when nobody tells us that it came. */
const ABSENT_RETRY_MS = 30_000

export interface ReflectorOptions<T extends Stored> extends Basics {
  readonly type: ResourceType
  readonly selection?: Selection
  readonly store: Store<T>
  /** What to keep of an object. Small is good: there are tens of thousands. */
  readonly project: (object: KubeObject) => T
  readonly onRelist?: () => void
}

/** The version up to which everything is known; undefined where it is still to be listed. */
type Position = string | undefined

/** Everything that existed at a version. */
interface Listed<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
}

/**
 * Keeps a {@link Store} equal to what the API server has: list, then watch, for ever.
 *
 * ```
 * unlisted --list--> listed(version) --watch--> listed(newer version) --...
 *    ^                  |    ^                        |
 *    +-- 410 Expired ---+    +--- any other end: watch again from there, backing off on errors
 * ```
 * The list is the beginning of the watch, object by object: a page of hundreds that live at the same moment costs either side
 * several times as much. Pages are for a server that cannot do that, or did not get to its end.
 * A kind that is not installed (404) is an empty, synced store; {@link poke} makes it look again at once. No error ends
 * it; only `signal` does.
 */
export class Reflector<T extends Stored> {
  readonly type: ResourceType
  readonly store: Store<T>
  readonly #options: ReflectorOptions<T>
  readonly #synced = Promise.withResolvers<void>()
  readonly #installedListeners = new Set<() => void>()
  #installed: boolean | undefined
  #wake: (() => void) | undefined
  /** Asked to look again; it may have come while a look was under way. */
  #isPoked = false
  #listedAt = Number.NEGATIVE_INFINITY
  /** When the API server last told anything; undefined before the first try. */
  #heardAt: number | undefined
  #failures = 0
  /** How often in a row the kind was not found. */
  #missing = 0
  /** Whether a list can be the beginning of a watch; `not now`: the last one broke off. */
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

  /** How long the API server has told nothing: no object, no bookmark, not even that it does not serve the kind. In milliseconds. */
  get silentMs(): number {
    const now = this.#options.clock.monotonic()
    return now - (this.#heardAt ?? now)
  }

  /** Resolves at the first complete list, or when the kind is known not to be installed. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /** Calls `listener` whenever the kind came or went; returns how to stop that. */
  onInstalled(listener: () => void): () => void {
    this.#installedListeners.add(listener)
    return () => this.#installedListeners.delete(listener)
  }

  /** Takes in the API server's answer to a write of this process, as a watch would. */
  observeWrite(object: KubeObject): void {
    this.#options.store.observeWrite(this.#options.project(object))
  }

  /** Do not wait any longer before the next try. */
  poke(): void {
    this.#isPoked = true
    this.#wake?.()
  }

  async run(signal: AbortSignal): Promise<void> {
    let position: Position
    this.#hear()
    while (!signal.aborted) {
      try {
        position = await this.#proceed(position, signal)
      } catch (error) {
        if (signal.aborted) return
        position = await this.#recover(error, position, signal)
      }
    }
  }

  #proceed(position: Position, signal: AbortSignal): Promise<Position> {
    if (position !== undefined) return this.#watch(position, signal)
    return this.#canStream === 'yes' ? this.#stream(signal) : this.#list(signal)
  }

  /**
   * Lists once more, beside the watch, which may be behind: a new leader must not know less than the one before it. A kind
   * that is not installed has nothing to list. Throws ApiErrors.
   */
  async refresh(signal: AbortSignal): Promise<void> {
    if (this.#installed !== true) return
    const { items, resourceVersion } = (await this.#readStream(signal)) ?? (await this.#readPages(signal))
    this.#options.store.replaceAll(items, resourceVersion)
  }

  async #list(signal: AbortSignal): Promise<Position> {
    const { items, resourceVersion } = await this.#readPages(signal)
    this.#complete(items, resourceVersion)
    if (this.#canStream === 'not now') this.#canStream = 'yes'
    return resourceVersion
  }

  /** The beginning of a watch that nobody goes on with; undefined where the server did not get to its end. */
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

  /** All pages of a live list. */
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

  /** A watch whose beginning is the list. */
  async #stream(signal: AbortSignal): Promise<Position> {
    const items = new Map<string, T>()
    let position: Position
    try {
      for await (const event of timedWatch(this.#options, undefined, signal)) {
        if (position !== undefined) {
          position = this.#take(event)
          continue
        }
        position = this.#collect(event, items)
        if (position === undefined) continue
        this.#complete([...items.values()], position)
        // The watch goes on, and what it began with may have changed since.
        items.clear()
      }
    } catch (error) {
      if (position === undefined) this.#canStream = isUnknownToServer(error) ? 'never' : 'not now'
      if (this.#canStream === 'never') return undefined
      return await this.#afterError(error, position, signal)
    }
    // More than fits into the time of a watch: pages get there, however long it takes.
    if (position === undefined) this.#canStream = 'not now'
    return position
  }

  async #watch(from: string, signal: AbortSignal): Promise<Position> {
    const { clock } = this.#options
    let position = from
    try {
      const startedAt = clock.monotonic()
      for await (const event of timedWatch(this.#options, from, signal)) position = this.#take(event)
      const isHasty = clock.monotonic() - startedAt < HASTY_MS
      if (!isHasty) this.#failures = 0
      else if (!signal.aborted) await this.#pause(new Error('the watch ended as soon as it began'), signal)
      return position
    } catch (error) {
      return await this.#afterError(error, position, signal)
    }
  }

  async #afterError(error: unknown, position: Position, signal: AbortSignal): Promise<Position> {
    if (signal.aborted) throw error
    if (isApiError(error, 'Expired', 'NotFound')) return await this.#recover(error, position, signal)
    await this.#pause(error, signal)
    return position
  }

  /** Takes in one of the objects that a stream begins with; changes may come between them. Returns the version of all, when it has come to its end. */
  #collect(event: WatchEvent<KubeObject>, items: Map<string, T>): Position {
    this.#hear()
    this.#failures = 0
    if (event.type === 'BOOKMARK') return event.endsInitialEvents ? event.resourceVersion : undefined
    const item = this.#project(event.object)
    if (item !== undefined && event.type === 'DELETED') items.delete(keyOf(item.metadata))
    else if (item !== undefined) items.set(keyOf(item.metadata), item)
    return undefined
  }

  /** Everything that exists is known. */
  #complete(items: readonly T[], resourceVersion: string): void {
    this.#options.store.replaceAll(items, resourceVersion)
    this.#missing = 0
    this.#isPoked = false
    this.#listedAt = this.#options.clock.monotonic()
    this.#setInstalled(true)
    this.#options.onRelist?.()
    this.#synced.resolve()
  }

  #hear(): void {
    this.#heardAt = this.#options.clock.monotonic()
  }

  /** Takes in a change; returns its version. */
  #take(event: WatchEvent<KubeObject>): string {
    const { store } = this.#options
    this.#hear()
    this.#failures = 0
    if (event.type === 'BOOKMARK') {
      store.advance(event.resourceVersion)
      return event.resourceVersion
    }
    const item = this.#project(event.object)
    if (item !== undefined && event.type === 'DELETED') store.remove(item)
    else if (item !== undefined) store.put(item)
    return event.object.metadata.resourceVersion ?? '0'
  }

  /** One object that cannot be read is no reason to lose sight of the others: what was known of it stays. */
  #project(object: KubeObject): T | undefined {
    const { project, store } = this.#options
    const key = keyOf(object.metadata)
    const held = store.get(key)
    // A third of all events tells of our own writes, whose answers are here already.
    if (held !== undefined && held.metadata.resourceVersion === object.metadata.resourceVersion) return held
    try {
      return project(object)
    } catch (error) {
      this.#logBug(`${key} cannot be read`, error)
      return held
    }
  }

  #logBug(what: string, error: unknown): void {
    const { log, type } = this.#options
    log.error({ kind: type.kind, error: traceOf(error) }, `a bug in the operator: ${what}`)
  }

  async #recover(error: unknown, position: Position, signal: AbortSignal): Promise<Position> {
    if (isApiError(error, 'NotFound')) {
      this.#hear()
      this.#missing += 1
      if (this.#installed === true && this.#missing < MISSING_CONFIRMED) {
        await this.#pause(error, signal)
        return undefined
      }
      this.#options.store.clear()
      this.#setInstalled(false)
      this.#synced.resolve()
      await this.#rest(ABSENT_RETRY_MS * (0.75 + this.#options.random() / 2), signal)
      return undefined
    }
    if (isApiError(error, 'Expired') && position !== undefined) {
      this.#options.log.debug({ kind: this.type.kind }, 'watch expired, listing again')
      if (this.#options.clock.monotonic() - this.#listedAt >= HASTY_MS) return undefined
    }
    await this.#pause(error, signal)
    return undefined
  }

  #setInstalled(installed: boolean): void {
    const isNews = this.#installed !== installed
    this.#installed = installed
    if (isNews) for (const listener of this.#installedListeners) listener()
  }

  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { random, log, type } = this.#options
    const retryAfterMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.max(retryAfterMs, backoffMs(this.#failures, RETRY_BASE_MS, RETRY_MAX_MS, random))
    this.#failures += 1
    log.warn(
      { kind: type.kind, error: String(error), retryInMs: Math.round(waitMs) },
      'cannot read from the API server',
    )
    await this.#rest(waitMs, signal)
  }

  /** Sleeps, unless poked or stopped. */
  async #rest(delayMs: number, signal: AbortSignal): Promise<void> {
    const wasPoked = this.#isPoked
    this.#isPoked = false
    if (wasPoked) return
    const poked = new AbortController()
    this.#wake = () => poked.abort()
    try {
      await sleep(this.#options.clock, delayMs, AbortSignal.any([signal, poked.signal]))
    } catch {
      // Woken early, or stopping: the caller looks at its signal.
    } finally {
      this.#wake = undefined
      this.#isPoked = false
    }
  }
}

/** Bad Request or Unprocessable Content: it does not know the parameters, or does not allow them. */
function isUnknownToServer(error: unknown): boolean {
  return isApiError(error) && (error.status === 400 || error.status === 422)
}
