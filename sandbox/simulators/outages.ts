/** The times during which a controller is stopped. They may overlap. */
export class Outages {
  readonly #open = new Set<symbol>()

  get isAway(): boolean {
    return this.#open.size > 0
  }

  /** Begins an outage. Returns a function that ends it; `onEnd` is called when none is left. */
  begin(onEnd: () => void): () => void {
    const outage = Symbol()
    this.#open.add(outage)
    return () => {
      if (this.#open.delete(outage) && !this.isAway) onEnd()
    }
  }
}
