/** After this many consecutive failures to execute a request, the API server counts as having answered. */
const ANSWERED_FAILURES = 4

/** Counts, by key, consecutive failures of the API server to execute a request. */
export class FailureCount {
  readonly #inARow = new Map<string, number>()

  /** Records another failure. Returns whether this counts as an answer. */
  add(key: string): boolean {
    const failures = (this.#inARow.get(key) ?? 0) + 1
    this.#inARow.set(key, failures)
    return failures >= ANSWERED_FAILURES
  }

  /** Called after a success, or when the object is gone. */
  forget(key: string): void {
    this.#inARow.delete(key)
  }
}
