import { isApiError } from '../kube/api-error.ts'
import type { KubeClient, Selection, WatchEvent } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { backoffMs } from './backoff.ts'
import { type Clock, sleep } from './clock.ts'
import type { Logger } from './log.ts'
import { traceOf } from './redact.ts'
import type { Store, Stored } from './store.ts'

const PAGE_SIZE = 500
/** A watch ends by itself after about so long, its last word nearly always a bookmark: the next one starts from a fresh version. */
const WATCH_SECONDS = 45
/** A watch that is still open so long after its end has lost its server without a word. */
const GRACE_SECONDS = 8
/** A server that ends watches at once must not be asked in a loop. */
const HASTY_MS = 1_000
/** A kind that was served and answers 404 may be an API server that is just starting: it has to say so this often. */
const MISSING_CONFIRMED = 4
const RETRY_BASE_MS = 200
const RETRY_MAX_MS = 10_000
/** How soon to look again for a kind that is not installed, when nobody tells us that it came. */
const ABSENT_RETRY_MS = 30_000

export interface ReflectorOptions<T extends Stored> {
  readonly client: KubeClient
  readonly type: ResourceType
  readonly selection?: Selection
  readonly store: Store<T>
  /** What to keep of an object. Small is good: there are tens of thousands. */
  readonly project: (object: KubeObject) => T
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly onRelist?: () => void
}

type Position = { readonly at: 'unlisted' } | { readonly at: 'listed'; readonly resourceVersion: string }

/**
 * Keeps a {@link Store} equal to what the API server has: list, then watch, for ever.
 *
 * ```
 * unlisted --list pages--> listed(version) --watch--> listed(newer version) --...
 *    ^                        |    ^                        |
 *    +------ 410 Expired -----+    +--- any other end: watch again from there, backing off on errors
 * ```
 * A kind that is not installed (404) is an empty, synced store; {@link poke} makes it look again at once. No error ends
 * it; only `signal` does.
 */
export class Reflector<T extends Stored> {
  readonly #options: ReflectorOptions<T>
  readonly #synced = Promise.withResolvers<void>()
  readonly #installedListeners = new Set<() => void>()
  #installed: boolean | undefined
  #wake: (() => void) | undefined
  /** Asked to look again; it may have come while a look was under way. */
  #isPoked = false
  #listedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  /** How often in a row the kind was not found. */
  #missing = 0

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    options.store.onBug = (error) => this.#logBug('a change could not be passed on', error)
  }

  get type(): ResourceType {
    return this.#options.type
  }

  get store(): Store<T> {
    return this.#options.store
  }

  /** Whether the API server serves this kind; undefined until known. */
  get installed(): boolean | undefined {
    return this.#installed
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

  /** Takes in the API server's answer to a write of ours, as a watch would. */
  observeWrite(object: KubeObject): void {
    this.#options.store.observeWrite(this.#options.project(object))
  }

  /** Do not wait any longer before the next try. */
  poke(): void {
    this.#isPoked = true
    this.#wake?.()
  }

  async run(signal: AbortSignal): Promise<void> {
    let position: Position = { at: 'unlisted' }
    while (!signal.aborted) {
      try {
        position =
          position.at === 'unlisted' ? await this.#list(signal) : await this.#watch(position.resourceVersion, signal)
      } catch (error) {
        if (signal.aborted) return
        position = await this.#recover(error, position, signal)
      }
    }
  }

  async #list(signal: AbortSignal): Promise<Position> {
    const { client, type, selection, store } = this.#options
    const items: T[] = []
    let resourceVersion: string
    let continueToken: string | undefined
    do {
      const page = await client.list(type, {
        ...selection,
        limit: PAGE_SIZE,
        signal,
        ...(continueToken !== undefined && { continueToken }),
      })
      for (const object of page.items) {
        const item = this.#project(object)
        if (item !== undefined) items.push(item)
      }
      resourceVersion = page.resourceVersion
      continueToken = page.continueToken
    } while (continueToken !== undefined)
    store.replaceAll(items, resourceVersion)
    this.#missing = 0
    this.#isPoked = false
    this.#listedAt = this.#options.clock.monotonic()
    this.#setInstalled(true)
    this.#options.onRelist?.()
    this.#synced.resolve()
    return { at: 'listed', resourceVersion }
  }

  async #watch(from: string, signal: AbortSignal): Promise<Position> {
    const { client, type, selection, clock, random } = this.#options
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + random() / 10))
    const overdue = new AbortController()
    const cancel = clock.setTimer(() => overdue.abort(), (timeoutSeconds + GRACE_SECONDS) * 1_000)
    let resourceVersion = from
    try {
      const watchSignal = AbortSignal.any([signal, overdue.signal])
      const startedAt = clock.monotonic()
      for await (const event of client.watch(type, {
        ...selection,
        resourceVersion,
        timeoutSeconds,
        signal: watchSignal,
      })) {
        resourceVersion = this.#take(event)
        this.#failures = 0
      }
      const isHasty = clock.monotonic() - startedAt < HASTY_MS
      if (!isHasty) this.#failures = 0
      else if (!signal.aborted) await this.#pause(new Error('the watch ended as soon as it began'), signal)
      return { at: 'listed', resourceVersion }
    } catch (error) {
      if (isApiError(error, 'Expired', 'NotFound') || signal.aborted) throw error
      await this.#pause(error, signal)
      return { at: 'listed', resourceVersion }
    } finally {
      cancel()
    }
  }

  #take(event: WatchEvent<KubeObject>): string {
    const { store } = this.#options
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
    try {
      return project(object)
    } catch (error) {
      const key = keyOf(object.metadata)
      this.#logBug(`${key} cannot be read`, error)
      return store.get(key)
    }
  }

  #logBug(what: string, error: unknown): void {
    const { log, type } = this.#options
    log.error({ kind: type.kind, error: traceOf(error) }, `a bug in the operator: ${what}`)
  }

  async #recover(error: unknown, position: Position, signal: AbortSignal): Promise<Position> {
    if (isApiError(error, 'NotFound')) {
      this.#missing += 1
      if (this.#installed === true && this.#missing < MISSING_CONFIRMED) {
        await this.#pause(error, signal)
        return { at: 'unlisted' }
      }
      this.#options.store.clear()
      this.#setInstalled(false)
      this.#synced.resolve()
      await this.#rest(ABSENT_RETRY_MS * (0.75 + this.#options.random() / 2), signal)
      return { at: 'unlisted' }
    }
    if (isApiError(error, 'Expired') && position.at === 'listed') {
      this.#options.log.debug({ kind: this.type.kind }, 'watch expired, listing again')
      const isHasty = this.#options.clock.monotonic() - this.#listedAt < HASTY_MS
      if (isHasty) await this.#pause(error, signal)
      return { at: 'unlisted' }
    }
    await this.#pause(error, signal)
    return { at: 'unlisted' }
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
