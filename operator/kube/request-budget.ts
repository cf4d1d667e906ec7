import { type Clock, sleep } from '../base/clock.ts'

/**
 * A token bucket in front of all requests but the Lease's: a safety net against a bug that would hammer the API server,
 * set far above what a busy operator needs. A `Retry-After` of the server closes it for everybody for that long.
 */
export class RequestBudget {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #refilledAt: number
  #closedUntil = 0

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#refilledAt = clock.monotonic()
  }

  /** Resolves when a request may be sent. */
  async take(signal?: AbortSignal): Promise<void> {
    for (;;) {
      const now = this.#clock.monotonic()
      this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#refilledAt) * this.#perSecond) / 1_000)
      this.#refilledAt = now
      if (now >= this.#closedUntil && this.#tokens >= 1) {
        this.#tokens -= 1
        return
      }
      const forToken = ((1 - this.#tokens) * 1_000) / this.#perSecond
      await sleep(this.#clock, Math.max(1, this.#closedUntil - now, forToken), signal)
    }
  }

  closeFor(durationMs: number): void {
    this.#closedUntil = Math.max(this.#closedUntil, this.#clock.monotonic() + durationMs)
  }
}
