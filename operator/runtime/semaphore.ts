/** Lets so many work at a time; the others wait in the order in which they came. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** Resolves when it is one's turn. Call {@link release} once for it. */
  acquire(): Promise<void> {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve))
    this.#free -= 1
    return Promise.resolve()
  }

  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
