/** So often in a row that the API server cannot carry out a request is an answer too. */
const ANSWERED_FAILURES = 4

/** Counts, by uid of an object, how often in a row the API server could not carry out what the object needs. */
export class FailureCount {
  readonly #inARow = new Map<string, number>()

  /** It could not once more. Returns whether that counts as an answer by now. */
  add(uid: string): boolean {
    const failures = (this.#inARow.get(uid) ?? 0) + 1
    this.#inARow.set(uid, failures)
    return failures >= ANSWERED_FAILURES
  }

  /** It could, or the object is gone. */
  forget(uid: string): void {
    this.#inARow.delete(uid)
  }
}
