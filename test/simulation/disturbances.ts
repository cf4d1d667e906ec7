/**
 * What disturbs the operator, by the excuse that it gives: `api` (requests fail), `watch` (events come late or never), `freeze` (the
 * process sleeps), `crash` (nobody leads), `cdi` (the systems around it stop).
 */
export type Harm = 'api' | 'watch' | 'freeze' | 'crash' | 'cdi'

/** Records when each of them ends. */
export class Disturbances {
  readonly #now: () => number
  readonly #until = new Map<Harm, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Records that it starts now and lasts for `forMs`. */
  mark(harm: Harm, forMs = 0): void {
    this.#until.set(harm, Math.max(this.#until.get(harm) ?? 0, this.#now() + forMs))
  }

  /** Returns the milliseconds since the last of these ended; negative while one lasts. */
  calmForMs(...harms: readonly Harm[]): number {
    let until = Number.NEGATIVE_INFINITY
    for (const harm of harms) until = Math.max(until, this.#until.get(harm) ?? Number.NEGATIVE_INFINITY)
    return this.#now() - until
  }
}
