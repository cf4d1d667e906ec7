import fc from 'fast-check'
import { frozen } from './frozen.ts'

const SEED_OF_PROCESS = Date.now()

/**
 * Checks laws of frozen random values. All laws have the same values, because a run has one seed. They are drawn once: that takes longer than
 * most laws.
 */
export class Laws<T> {
  readonly #values: fc.Arbitrary<T>
  readonly #drawn: T[] = []

  constructor(values: fc.Arbitrary<T>) {
    this.#values = values
  }

  check(holds: (value: T) => void, numRuns: number): void {
    const { seed = SEED_OF_PROCESS } = fc.readConfigureGlobal()
    const more = numRuns - this.#drawn.length
    // The path says which value is the first one.
    const path = String(this.#drawn.length)
    if (more > 0) this.#drawn.push(...fc.sample(this.#values, { seed, path, numRuns: more }).map(frozen))
    try {
      for (const value of this.#drawn.slice(0, numRuns)) holds(value)
    } catch (error) {
      const again = fc.property(this.#values, (value) => {
        holds(frozen(value))
      })
      // The same values once more, for the smallest one and how to repeat it.
      fc.assert(again, { seed, numRuns })
      throw error
    }
  }
}
