/** So many times in a row a key is worked on as soon as it wants. The whole life of an object takes fewer. */
const BURST = 40
/** After that, so often. Progress of a download comes less often than that. */
const EVERY_MS = 500
const PRUNED_FROM = 1_024

/**
 * How often one key may be worked on, or told of, so that somebody who changes an object in a loop costs a bounded rate, and others keep their turn: a token bucket for
 * each key, kept as the one time at which it is full again.
 */
export class Pace {
  readonly #burstMs: number
  readonly #everyMs: number
  /** Those that are not full. */
  readonly #fullAt = new Map<string, number>()
  #pruneAt = PRUNED_FROM

  constructor(burst = BURST, everyMs = EVERY_MS) {
    this.#burstMs = burst * everyMs
    this.#everyMs = everyMs
  }

  /** Milliseconds until the key may be worked on. */
  waitMs(key: string, now: number): number {
    const fullAt = this.#fullAt.get(key) ?? now
    return Math.max(0, fullAt + this.#everyMs - this.#burstMs - now)
  }

  /** The key is worked on. */
  take(key: string, now: number): void {
    this.#fullAt.set(key, Math.max(this.#fullAt.get(key) ?? now, now) + this.#everyMs)
    if (this.#fullAt.size >= this.#pruneAt) this.#prune(now)
  }

  #prune(now: number): void {
    for (const [key, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(key)
    this.#pruneAt = Math.max(PRUNED_FROM, 2 * this.#fullAt.size)
  }
}
