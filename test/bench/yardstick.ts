import type { Clock } from '../../operator/runtime/clock.ts'

/** No more than five pairs a second: what they cost must not be felt. */
const PACE_MS = 200

/**
 * What a bare client takes for the two writes that lie between a free slot and the next DataVolume, under the load of the moment: a
 * compare-and-swap of an object like the ledger, then the creation of a DataVolume.
 */
export class Yardstick {
  readonly #measure: () => Promise<number>
  readonly #clock: Clock
  readonly #pairsMs: number[] = []
  #beganAt = Number.NEGATIVE_INFINITY
  #underWay: Promise<void> | undefined

  /** @param measure does one pair of writes, and says how long they took: milliseconds */
  constructor(measure: () => Promise<number>, clock: Clock) {
    this.#measure = measure
    this.#clock = clock
  }

  /** A slot is free: the operator begins its two writes at this moment, so ours begin as well, unless others just did. */
  slotFreed(): void {
    const now = this.#clock.monotonic()
    if (this.#underWay !== undefined || now - this.#beganAt < PACE_MS) return
    this.#beganAt = now
    this.#underWay = this.#measureOne()
    // The caller that asks for the pairs gets the error.
    this.#underWay.catch(() => undefined)
  }

  /** All pairs so far, once none is under way. Rejects when one could not be written. */
  async pairsMs(): Promise<readonly number[]> {
    await this.#underWay
    return this.#pairsMs
  }

  async #measureOne(): Promise<void> {
    this.#pairsMs.push(await this.#measure())
    this.#underWay = undefined
  }
}
