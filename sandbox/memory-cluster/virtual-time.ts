import TinyQueue from 'tinyqueue'
import type { Clock } from '../../operator/base/clock.ts'

/** Later than any other time that a test is likely to print. */
const DEFAULT_EPOCH_MS = Date.parse('2026-01-01T00:00:00Z')
/** Number of steps after which the real event loop gets a turn. Test runners and signals wait for it. */
const STEPS_A_TURN = 512

interface Due {
  readonly at: number
  readonly order: number
  callback: (() => void) | undefined
}

/** The time of a simulated world. All durations are in milliseconds. */
export interface Time {
  readonly epochMs: number
  readonly elapsedMs: number
  /** Calls `callback` at `elapsedMs + delayMs`; at the same instant in scheduling order. Returns a function that cancels the call. */
  schedule(delayMs: number, callback: () => void): () => void
}

/** One timeline for a whole simulated world. Nothing in it reads real time. */
export class VirtualTime implements Time {
  readonly epochMs: number
  #elapsedMs = 0
  #order = 0
  /** Canceled entries stay until they are due, or until they are the majority. */
  #queue = new TinyQueue<Due>([], inOrder)
  #cancelled = 0
  #steps = 0

  constructor(epochMs = DEFAULT_EPOCH_MS) {
    this.epochMs = epochMs
  }

  get elapsedMs(): number {
    return this.#elapsedMs
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const due: Due = { at: this.#elapsedMs + Math.max(0, delayMs), order: this.#order, callback }
    this.#order += 1
    this.#queue.push(due)
    return () => {
      if (due.callback === undefined) return
      due.callback = undefined
      this.#cancelled += 1
      if (this.#cancelled > 64 && this.#cancelled * 2 > this.#queue.length) this.#compact()
    }
  }

  /**
   * Runs due callbacks one at a time, and drains the microtasks that each one queues before the next. Stops when
   * `isDone()` returns true (checked after every step) or time reaches `untilMs`. Resolves with whether `isDone()` was
   * true. An error thrown by a callback ends the run and is thrown.
   */
  async run(options: { readonly untilMs: number; readonly isDone?: () => boolean }): Promise<boolean> {
    const { untilMs, isDone = () => false } = options
    await this.#settle()
    while (!isDone()) {
      const next = this.#queue.peek()
      if (next === undefined || next.at > untilMs) {
        if (Number.isFinite(untilMs)) this.#elapsedMs = Math.max(this.#elapsedMs, untilMs)
        return false
      }
      this.#queue.pop()
      const { callback } = next
      if (callback === undefined) {
        this.#cancelled -= 1
        continue
      }
      next.callback = undefined
      this.#elapsedMs = next.at
      callback()
      await this.#settle()
    }
    return true
  }

  /** Returns a clock on this timeline, for code that is never killed or frozen. */
  clock(): Clock {
    return {
      now: () => this.epochMs + this.#elapsedMs,
      monotonic: () => this.#elapsedMs,
      setTimer: (callback, delayMs) => this.schedule(delayMs, callback),
    }
  }

  /**
   * Resolves when no promise has work left. Node drains the microtask queue, including what microtasks add, before the
   * next tick. Ticks alone would starve the timers and sockets of the real process.
   */
  #settle(): Promise<void> {
    this.#steps += 1
    const isTurn = this.#steps % STEPS_A_TURN === 0
    return new Promise((resolve) => (isTurn ? setImmediate(resolve) : process.nextTick(resolve)))
  }

  #compact(): void {
    const live = this.#queue.data.filter(({ callback }) => callback !== undefined)
    this.#queue = new TinyQueue(live, inOrder)
    this.#cancelled = 0
  }
}

function inOrder(one: Due, other: Due): number {
  return one.at - other.at || one.order - other.order
}
