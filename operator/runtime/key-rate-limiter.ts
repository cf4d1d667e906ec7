/** How many times in a row a key is processed without delay. The whole life of an object takes fewer. */
const BURST = 40
/** After the burst, the interval at which a key is processed. Download progress arrives less often. */
const EVERY_MS = 500
const PRUNED_FROM = 1_024

/** A token bucket per key, stored as the time at which it is full again. A user who changes an object in a loop causes only a bounded rate. */
export class KeyRateLimiter {
  readonly #burstMs: number
  readonly #everyMs: number
  /** A bucket without an entry is full. */
  readonly #fullAt = new Map<string, number>()
  #pruneAt = PRUNED_FROM

  constructor(burst = BURST, everyMs = EVERY_MS) {
    this.#burstMs = burst * everyMs
    this.#everyMs = everyMs
  }

  waitMs(key: string, now: number): number {
    const fullAt = this.#fullAt.get(key) ?? now
    return Math.max(0, fullAt + this.#everyMs - this.#burstMs - now)
  }

  take(key: string, now: number): void {
    this.#fullAt.set(key, Math.max(this.#fullAt.get(key) ?? now, now) + this.#everyMs)
    if (this.#fullAt.size >= this.#pruneAt) this.#prune(now)
  }

  #prune(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key)
    this.#pruneAt = Math.max(PRUNED_FROM, 2 * this.#fullAt.size)
  }
}
