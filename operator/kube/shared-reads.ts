/**
 * Shares live reads that many callers need at the same time, such as a live list before a deletion. A caller never gets a read that started before
 * its call: all callers that ask while a read is in flight share the next one.
 *
 * ```
 * asks      a        b  c              d
 * reads     [── a ──][── b, c ────────][── d ──]
 * ```
 */
export class SharedReads<T> {
  readonly #read: (at: string, signal: AbortSignal) => Promise<T>
  readonly #underWay = new Map<string, Promise<T>>()
  /** Not started yet. */
  readonly #next = new Map<string, Promise<T>>()

  /** @param read reads what `at` names; only callers with the same `at` share a read */
  constructor(read: (at: string, signal: AbortSignal) => Promise<T>) {
    this.#read = read
  }

  /** Returns the result of a read that starts after this call, or throws its error. */
  take(at: string, signal: AbortSignal): Promise<T> {
    const shared = this.#next.get(at)
    if (shared !== undefined) return shared
    const next = this.#readAfter(this.#underWay.get(at), at, signal)
    this.#next.set(at, next)
    return next
  }

  async #readAfter(before: Promise<T> | undefined, at: string, signal: AbortSignal): Promise<T> {
    // Its error goes to its own callers. The await also lets all callers of the same tick share one read if none is in flight.
    await before?.catch(() => undefined)
    const now = this.#next.get(at)
    this.#next.delete(at)
    if (now !== undefined) this.#underWay.set(at, now)
    try {
      return await this.#read(at, signal)
    } finally {
      if (this.#underWay.get(at) === now) this.#underWay.delete(at)
    }
  }
}
