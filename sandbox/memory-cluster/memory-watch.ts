import type { ApiError } from '../../operator/kube/api-error.ts'
import type { WatchEvent, WatchOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { metadataOf } from './api-server.ts'
import { expired, noAnswer, tooLarge } from './errors.ts'
import type { Passage, ServerView } from './faults.ts'
import type { Commit, Table } from './object-store.ts'
import { type Matcher, matcherOf } from './selectors.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { Timeline } from './timeline.ts'
import type { Time } from './virtual-time.ts'

const UP_TO_DATE: ServerView = { lagMs: 0, whenAhead: 'wait' }
const BOOKMARK_MS = 60_000
/** Time from the last bookmark until the server ends the watch. */
const BEFORE_END_MS = 2_000

type ObjectEvent = Exclude<WatchEvent<KubeObject>, { type: 'BOOKMARK' }>

/** What is sent to the watcher. */
type Parcel = WatchEvent<KubeObject> | Error | 'end'

export interface WatchParts {
  readonly time: Time
  readonly process: SimulatedProcess
  readonly type: ResourceType
  readonly options: WatchOptions
  readonly timeline: Timeline
  readonly view: ServerView | undefined
  readonly passageOf: (event: WatchEvent<KubeObject>) => Passage
  /** Sends the request. At the server, calls `arrived` with its table; calls `failed` if the response is an error. */
  readonly dial: (arrived: (table: Table, revision: () => number) => void, failed: (error: Error) => void) => void
  readonly onClose: () => void
}

/**
 * One watch: both ends and the connection between them. What the server sends arrives in the order of sending, after
 * the delays of its {@link Passage}.
 */
export class MemoryWatch implements AsyncIterableIterator<WatchEvent<KubeObject>> {
  readonly #parts: WatchParts
  readonly #view: ServerView
  readonly #matches: Matcher
  #state: 'new' | 'dialling' | 'open' | 'closed' = 'new'
  // The wire
  #transit: { readonly at: number; readonly parcel: Parcel }[] = []
  #cancelArrival: (() => void) | undefined
  #undelivered = 0
  /** Events to send again, and after how many other events. */
  #again: { readonly event: WatchEvent<KubeObject>; readonly after: number }[] = []
  // The server's end
  #table: Table | undefined
  /** The revision that the watcher has at the start. */
  #from = 0
  #revision: () => number = () => 0
  #cancelTimer: (() => void) | undefined
  #isHungUp = false
  readonly #onCommit = (commit: Commit) => this.#learn(commit)
  // The client's end
  readonly #arrived: Parcel[] = []
  #isOver = false
  #waiting: PromiseWithResolvers<IteratorResult<WatchEvent<KubeObject>>> | undefined

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#view = parts.view ?? UP_TO_DATE
    this.#matches = matcherOf(parts.type, parts.options)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<WatchEvent<KubeObject>>> {
    if (this.#state === 'new') this.#dial()
    this.#waiting ??= Promise.withResolvers()
    const { promise } = this.#waiting
    this.#handOver()
    return promise
  }

  return(): Promise<IteratorResult<WatchEvent<KubeObject>>> {
    this.#stop()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Breaks the connection. Events in flight are lost. */
  break(): void {
    this.#fail(this.#reset())
  }

  /** The history is compacted: a watcher with undelivered events cannot get them anymore. */
  expire(): void {
    if (this.#state === 'open' && this.#transit.length + this.#undelivered > 0) {
      this.#fail(expired('The resourceVersion for the provided watch is too old.'))
    }
  }

  isOf(table: Table): boolean {
    return this.#table === table
  }

  /** The server ends the watch normally. */
  end(): void {
    this.#hangUp()
    this.#send('end', 0)
  }

  /** Reports whether the watch still has a watcher. Closes it if its process was killed. */
  get isAlive(): boolean {
    if (this.#parts.process.state === 'killed') this.#stop()
    return this.#state !== 'closed'
  }

  #dial(): void {
    this.#state = 'dialling'
    const { signal } = this.#parts.options
    if (signal?.aborted) {
      this.#stop()
      return
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#parts.dial(
      (table, revision) => this.#open(table, revision),
      (error) => this.#arrive(error),
    )
  }

  readonly #onAbort = () => this.#stop()

  // The server's end

  #open(table: Table, revision: () => number): void {
    if (this.#state !== 'dialling' || this.#isHungUp) return
    this.#state = 'open'
    this.#table = table
    this.#revision = revision
    const { options, time } = this.#parts
    try {
      if (options.resourceVersion === undefined) this.#tellAll(table)
      else for (const commit of table.since(this.#start(options.resourceVersion))) this.#learn(commit)
    } catch (error) {
      this.#fail(error as ApiError)
    }
    if (this.#isHungUp) return
    table.listeners.add(this.#onCommit)
    const endMs = (options.timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1_000
    this.#tick(time.elapsedMs + endMs)
  }

  /** Returns the revision after which it sends events. Throws if the server rejects the request. */
  #start(resourceVersion: string): number {
    const wanted = Number(resourceVersion)
    this.#from = wanted
    const known = this.#known
    if (wanted <= known || this.#view.whenAhead === 'wait') return wanted
    if (this.#view.whenAhead === 'refuse') throw tooLarge(resourceVersion, known)
    return known
  }

  /** The newest revision that this server knows. */
  get #known(): number {
    const { time, timeline } = this.#parts
    return this.#view.lagMs === 0 ? this.#revision() : timeline.revisionAt(time.elapsedMs - this.#view.lagMs)
  }

  /** A server that lags behind sees the commit later, if the watch is still open then. */
  #learn(commit: Commit): void {
    const { time, timeline } = this.#parts
    const { lagMs } = this.#view
    const inMs = lagMs === 0 ? 0 : timeline.timeOf(commit.revision) + lagMs - time.elapsedMs
    if (inMs <= 0) this.#tell(commit)
    else
      time.schedule(inMs, () => {
        if (!this.#isHungUp) this.#tell(commit)
      })
  }

  /** Schedules the next bookmark, or the end of the watch. */
  #tick(endsAt: number): void {
    const { time } = this.#parts
    const leftMs = endsAt - time.elapsedMs
    const lastMs = leftMs - BEFORE_END_MS
    const waitMs = lastMs > 0 ? Math.min(BOOKMARK_MS, lastMs) : leftMs
    this.#cancelTimer = time.schedule(waitMs, () => {
      if (!this.isAlive) return
      if (time.elapsedMs >= endsAt) return this.end()
      this.#bookmark()
      this.#tick(endsAt)
    })
  }

  /** Sends all current objects, then the bookmark that ends them. A server that lags behind sends them after its lag. */
  #tellAll(table: Table): void {
    const inOrder = [...table.objects].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const revision = this.#revision()
    this.#from = revision
    const tell = () => {
      if (this.#isHungUp) return
      for (const [, object] of inOrder) if (this.#matches(object)) this.#tellOf({ type: 'ADDED', object })
      this.#post({ type: 'BOOKMARK', resourceVersion: String(revision), endsInitialEvents: true })
    }
    const { lagMs } = this.#view
    if (lagMs === 0) tell()
    else this.#parts.time.schedule(lagMs, tell)
  }

  /** Sends a bookmark, but never one that is older than the start of the watch. */
  #bookmark(): void {
    const known = this.#known
    if (known >= this.#from) this.#post({ type: 'BOOKMARK', resourceVersion: String(known) })
  }

  #tell(commit: Commit): void {
    if (!this.isAlive) return
    const event = eventFor(commit, this.#matches)
    if (event !== undefined) this.#tellOf(event)
  }

  #tellOf(event: ObjectEvent): void {
    const { metadataOnly } = this.#parts.options
    this.#post(metadataOnly ? { type: event.type, object: metadataOf(event.object) } : event)
  }

  #post(event: WatchEvent<KubeObject>): void {
    const { delayMs, times = 1, againAfter, breakAfter = false } = this.#parts.passageOf(event)
    for (let copy = 0; copy < times; copy += 1) this.#send(event, delayMs)
    this.#tellAgain(delayMs)
    if (againAfter !== undefined) this.#again.push({ event, after: againAfter })
    if (!breakAfter) return
    this.#hangUp()
    this.#send(this.#reset(), delayMs)
  }

  /** Counts one more sent event, and sends again the events that waited for it. */
  #tellAgain(delayMs: number): void {
    const waiting = this.#again.map(({ event, after }) => ({ event, after: after - 1 }))
    this.#again = waiting.filter(({ after }) => after > 0)
    for (const { event, after } of waiting) if (after <= 0) this.#send(event, delayMs)
  }

  #fail(error: Error): void {
    this.#hangUp()
    this.#transit = []
    this.#send(error, 0)
  }

  #reset(): ApiError {
    return noAnswer('watch', this.#parts.type, 'the connection was reset')
  }

  #hangUp(): void {
    this.#isHungUp = true
    this.#table?.listeners.delete(this.#onCommit)
    this.#cancelTimer?.()
    this.#parts.onClose()
  }

  // The wire

  #send(parcel: Parcel, delayMs: number): void {
    const { time } = this.#parts
    const before = this.#transit.at(-1)?.at ?? 0
    this.#transit.push({ at: Math.max(before, time.elapsedMs + delayMs), parcel })
    if (this.#transit.length === 1) this.#schedule()
  }

  #schedule(): void {
    const [head] = this.#transit
    if (head === undefined) return
    this.#cancelArrival?.()
    this.#cancelArrival = this.#parts.time.schedule(head.at - this.#parts.time.elapsedMs, () => {
      const now = this.#parts.time.elapsedMs
      let count = 0
      while (count < this.#transit.length && (this.#transit[count]?.at ?? 0) <= now) count += 1
      for (const { parcel } of this.#transit.splice(0, count)) this.#carry(parcel)
      this.#schedule()
    })
  }

  #carry(parcel: Parcel): void {
    this.#undelivered += 1
    this.#parts.process.deliver(() => {
      this.#undelivered -= 1
      this.#arrive(parcel)
    })
  }

  // The client's end

  #arrive(parcel: Parcel): void {
    if (this.#isOver) return
    this.#arrived.push(parcel)
    this.#handOver()
  }

  #handOver(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const parcel = this.#isOver ? 'end' : this.#arrived.shift()
    if (parcel === undefined) return
    this.#waiting = undefined
    if (parcel === 'end' || parcel instanceof Error) this.#stop()
    if (parcel === 'end') waiting.resolve({ done: true, value: undefined })
    else if (parcel instanceof Error) waiting.reject(parcel)
    else waiting.resolve({ done: false, value: parcel })
  }

  #stop(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#isOver = true
    this.#hangUp()
    this.#cancelArrival?.()
    this.#transit = []
    this.#arrived.length = 0
    this.#parts.options.signal?.removeEventListener('abort', this.#onAbort)
    this.#handOver()
  }
}

/** An object that enters the selection is ADDED for the watcher, and one that leaves it is DELETED. */
function eventFor({ type, object, before }: Commit, matches: Matcher): ObjectEvent | undefined {
  const was = before !== undefined && matches(before)
  const is = type !== 'DELETED' && matches(object)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object }
  if (!was || before === undefined) return undefined
  if (type === 'DELETED') return { type: 'DELETED', object }
  const { resourceVersion } = object.metadata
  return {
    type: 'DELETED',
    object: Object.freeze({
      ...before,
      metadata: Object.freeze({ ...before.metadata, resourceVersion }),
    }) as KubeObject,
  }
}
