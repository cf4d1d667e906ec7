import type { Clock } from '../../operator/base/clock.ts'

/** At most five pairs a second, so that they do not disturb the measurement. */
const PACE_MS = 200

/**
 * Measures how long a bare client takes for the two writes between a free slot and the next DataVolume, under the current load: a
 * compare-and-swap of an object like the ledger, then the creation of a DataVolume.
 */
export class Yardstick {
  readonly #measure: () => Promise<number>
  readonly #clock: Clock
  readonly #pairsMs: number[] = []
  #beganAt = Number.NEGATIVE_INFINITY
  #underWay: Promise<void> | undefined

  /** @param measure does one pair of writes, and returns the milliseconds that they took */
  constructor(measure: () => Promise<number>, clock: Clock) {
    this.#measure = measure
    this.#clock = clock
  }

  /** Called when a slot becomes free: the operator begins its two writes now, so this client does too, unless it has just begun a pair. */
  slotFreed(): void {
    const now = this.#clock.monotonic()
    if (this.#underWay !== undefined || now - this.#beganAt < PACE_MS) return
    this.#beganAt = now
    this.#underWay = this.#measureOne()
    // The caller of pairsMs() gets the error.
    this.#underWay.catch(() => undefined)
  }

  /** All pairs so far, once none is in flight. Rejects if one could not be written. */
  async pairsMs(): Promise<readonly number[]> {
    await this.#underWay
    return this.#pairsMs
  }

  async #measureOne(): Promise<void> {
    this.#pairsMs.push(await this.#measure())
    this.#underWay = undefined
  }
}
