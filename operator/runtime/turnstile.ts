/** Lets so many through at a time; the others wait in the order in which they came. */
export class Turnstile {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** Resolves when one may go through. Call {@link leave} once for it. */
  enter(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free -= 1
    return Promise.resolve()
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
