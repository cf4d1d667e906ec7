import type { Clock } from '../base/clock.ts'
import { FairQueue } from './fair-queue.ts'
import { KeyRateLimiter } from './key-rate-limiter.ts'

/** `urgent` keys are taken before `normal` keys that are due, which keep a share of the turns. */
export type Lane = 'urgent' | 'normal'

/** How many urgent keys are taken in a row while a normal one is due. Whoever keeps urgent keys coming thus holds nobody up for good. */
const URGENT_IN_A_ROW = 4
/** By how many turns a conflict costs a key more than another one: what somebody else changes all the time is tried less often. */
const CONFLICT_TURNS = 3

export interface WorkQueueOptions {
  readonly rateLimiter?: KeyRateLimiter
  /** Returns the group of a key. Groups take turns. Default: one group for all keys, first come, first served. */
  readonly groupOf?: (key: string) => string
  /** The same for urgent keys. Default: `groupOf`. */
  readonly urgentGroupOf?: ((key: string) => string) | undefined
}

interface Scheduled {
  readonly key: string
  readonly due: number
  readonly lane: Lane
}

/**
 * Keys to reconcile. Each key is in the queue once: when it is added again, the earlier due time and the more urgent lane stay.
 *
 * A key is handed out when it is due, and not before {@link done} was called for its last reconcile: no two workers have the same key. A key that is
 * added all the time is handed out at a limited rate.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #rateLimiter: KeyRateLimiter
  readonly #ready: Readonly<Record<Lane, FairQueue>>
  readonly #delayed = new Map<string, Scheduled>()
  readonly #heap: Scheduled[] = []
  readonly #working = new Set<string>()
  /** Added while being processed. */
  readonly #again = new Map<string, Scheduled>()
  readonly #takers: ((key: string | undefined) => void)[] = []
  readonly #addedAt = new Map<string, number>()
  #timer: { due: number; cancel: () => void } | undefined
  #isServing = false
  #stopped = false
  /** How many urgent keys were taken since a normal one was, or none was due. */
  #urgentInARow = 0

  /** Called for each key that becomes ready; for metrics. */
  onAdd: (() => void) | undefined

  constructor(
    clock: Clock,
    { rateLimiter = new KeyRateLimiter(), groupOf = () => '', urgentGroupOf = groupOf }: WorkQueueOptions = {},
  ) {
    this.#clock = clock
    this.#rateLimiter = rateLimiter
    this.#ready = { urgent: new FairQueue(urgentGroupOf), normal: new FairQueue(groupOf) }
  }

  /** Number of keys that are due and wait for a worker. */
  get depth(): number {
    return this.#ready.urgent.size + this.#ready.normal.size
  }

  add(key: string, lane: Lane = 'normal'): void {
    this.addAfter(key, 0, lane)
  }

  addAfter(key: string, delayMs: number, lane: Lane = 'normal'): void {
    if (this.#stopped) return
    const wanted: Scheduled = { key, lane, due: this.#clock.monotonic() + Math.max(0, delayMs) }
    if (this.#working.has(key)) this.#again.set(key, earlier(this.#again.get(key), wanted))
    else if (delayMs <= 0 || this.#ready.urgent.has(key) || this.#ready.normal.has(key)) this.#makeReady(key, lane)
    else this.#delay(wanted)
  }

  /** Returns the next key; undefined once stopped and no key is due. The caller must then call {@link done} with it. */
  take(): Promise<string | undefined> {
    const key = this.#next()
    if (key !== undefined || this.#stopped) return Promise.resolve(key)
    return new Promise((resolve) => this.#takers.push(resolve))
  }

  done(key: string): void {
    this.#working.delete(key)
    const again = this.#again.get(key)
    this.#again.delete(key)
    if (again !== undefined) this.addAfter(key, again.due - this.#clock.monotonic(), again.lane)
  }

  /** Returns for how many milliseconds a key that was just taken had been ready. */
  waitedMs(key: string): number {
    const since = this.#addedAt.get(key)
    this.#addedAt.delete(key)
    return since === undefined ? 0 : this.#clock.monotonic() - since
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    for (const taker of this.#takers.splice(0)) taker(undefined)
  }

  #makeReady(key: string, wanted: Lane): void {
    const now = this.#clock.monotonic()
    const waitMs = this.#rateLimiter.waitMs(key, now)
    const lane = this.#delayed.get(key)?.lane === 'urgent' ? 'urgent' : wanted
    this.#delayed.delete(key)
    if (waitMs > 0) {
      this.#delay({ key, lane, due: now + waitMs })
      return
    }
    if (this.#ready.urgent.has(key)) return
    if (this.#ready.normal.has(key)) {
      if (lane === 'normal') return
      this.#ready.normal.delete(key)
    } else {
      this.#addedAt.set(key, now)
      this.onAdd?.()
    }
    this.#ready[lane].add(key)
    this.#serveSoon()
  }

  /** Deferred to a microtask: one change may add a key several times, and adding it while it is processed causes another reconcile. */
  #serveSoon(): void {
    if (this.#takers.length === 0 || this.#isServing) return
    this.#isServing = true
    queueMicrotask(() => {
      this.#isServing = false
      while (this.#takers.length > 0 && this.depth > 0) this.#takers.shift()?.(this.#next())
    })
  }

  /** The writes of a key were answered with a conflict. */
  noteConflict(key: string): void {
    const now = this.#clock.monotonic()
    for (let turn = 0; turn < CONFLICT_TURNS; turn += 1) this.#rateLimiter.take(key, now)
  }

  #next(): string | undefined {
    const { urgent, normal } = this.#ready
    const isUrgent = urgent.size > 0 && (normal.size === 0 || this.#urgentInARow < URGENT_IN_A_ROW)
    this.#urgentInARow = isUrgent && normal.size > 0 ? this.#urgentInARow + 1 : 0
    const key = (isUrgent ? urgent : normal).take()
    if (key === undefined) return undefined
    this.#working.add(key)
    this.#rateLimiter.take(key, this.#clock.monotonic())
    return key
  }

  #delay(wanted: Scheduled): void {
    const other = this.#delayed.get(wanted.key)
    const merged = earlier(other, wanted)
    if (merged.due === other?.due && merged.lane === other.lane) return
    this.#delayed.set(wanted.key, merged)
    push(this.#heap, merged)
    this.#compact()
    this.#arm()
  }

  /** Replaced entries would otherwise stay in the heap until they are due, which may be days. */
  #compact(): void {
    if (this.#heap.length < 2 * this.#delayed.size + 64) return
    this.#heap.length = 0
    for (const scheduled of this.#delayed.values()) push(this.#heap, scheduled)
  }

  #arm(): void {
    const head = this.#heap[0]
    if (head === undefined || (this.#timer !== undefined && this.#timer.due <= head.due)) return
    this.#timer?.cancel()
    const cancel = this.#clock.setTimer(() => this.#release(), head.due - this.#clock.monotonic())
    this.#timer = { due: head.due, cancel }
  }

  #release(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    for (let head = this.#heap[0]; head !== undefined && head.due <= now; head = this.#heap[0]) {
      pop(this.#heap)
      // An entry that was replaced by an earlier one, or whose key is ready by now, is no longer in the map.
      if (this.#delayed.get(head.key) === head) this.#makeReady(head.key, head.lane)
    }
    this.#arm()
  }
}

/** Returns the earlier due time with the more urgent lane. */
function earlier(a: Scheduled | undefined, b: Scheduled): Scheduled {
  if (a === undefined) return b
  const lane: Lane = a.lane === 'urgent' || b.lane === 'urgent' ? 'urgent' : 'normal'
  const first = a.due <= b.due ? a : b
  return first.lane === lane ? first : { ...first, lane }
}

/** A binary heap by due time. */
function push(heap: Scheduled[], item: Scheduled): void {
  let at = heap.length
  while (at > 0) {
    const above = (at - 1) >> 1
    const parent = heap[above]
    if (parent === undefined || parent.due <= item.due) break
    heap[at] = parent
    at = above
  }
  heap[at] = item
}

function pop(heap: Scheduled[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    const left = 2 * at + 1
    const below = due(heap, left + 1) < due(heap, left) ? left + 1 : left
    const child = heap[below]
    if (child === undefined || child.due >= last.due) break
    heap[at] = child
    at = below
  }
  heap[at] = last
}

function due(heap: readonly Scheduled[], at: number): number {
  return heap[at]?.due ?? Number.POSITIVE_INFINITY
}
