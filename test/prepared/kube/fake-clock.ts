import type { Clock } from '../../../operator/base/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  readonly callback: () => void
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #elapsed = 0
  #timers: Timer[] = []
  #order = 0
  readonly #epoch: number

  constructor(epoch = Date.parse('2026-01-01T00:00:00Z')) {
    this.#epoch = epoch
  }

  now(): number {
    return this.#epoch + this.#elapsed
  }

  monotonic(): number {
    return this.#elapsed
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const timer: Timer = { at: this.#elapsed + Math.max(0, delayMs), order: this.#order++, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer)
    }
  }

  /** Number of timers that have not fired. */
  get pending(): number {
    return this.#timers.length
  }

  /** Advances the time as if the process were frozen: no timer fires. */
  freeze(ms: number): void {
    this.#elapsed += ms
  }

  /** Advances the time. Each timer fires at its time, and the work that it triggers settles before the next timer fires. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await settled()
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers = this.#timers.filter((one) => one !== next)
      this.#elapsed = Math.max(this.#elapsed, next.at)
      next.callback()
      await settled()
    }
    this.#elapsed = end
  }

  #next(end: number): Timer | undefined {
    const due = this.#timers.filter(({ at }) => at <= end)
    return due.toSorted((a, b) => a.at - b.at || a.order - b.order)[0]
  }
}

/** Resolves when all work that does not depend on time is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
