/**
 * Looks at the cluster that many want at the same time, such as a live list before a deletion. Nobody gets what was read before they asked: those who ask
 * while a look is under way get the next one, together with all others who asked meanwhile.
 *
 * ```
 * asks      a        b  c              d
 * looks     [── a ──][── b, c ────────][── d ──]
 * ```
 */
export class SharedLooks<T> {
  readonly #look: (at: string, signal: AbortSignal) => Promise<T>
  readonly #underWay = new Map<string, Promise<T>>()
  /** Not begun. */
  readonly #next = new Map<string, Promise<T>>()

  /** @param look may be asked for several things; only those who ask for the same one share it */
  constructor(look: (at: string, signal: AbortSignal) => Promise<T>) {
    this.#look = look
  }

  /** What a look finds that begins after this call. Throws what that throws. */
  take(at: string, signal: AbortSignal): Promise<T> {
    const shared = this.#next.get(at)
    if (shared !== undefined) return shared
    const next = this.#lookAfter(this.#underWay.get(at), at, signal)
    this.#next.set(at, next)
    return next
  }

  async #lookAfter(before: Promise<T> | undefined, at: string, signal: AbortSignal): Promise<T> {
    // Its failure is for those who wait for it. Also where there is none, those who ask in the same breath share one look.
    await before?.catch(() => undefined)
    const now = this.#next.get(at)
    this.#next.delete(at)
    if (now !== undefined) this.#underWay.set(at, now)
    try {
      return await this.#look(at, signal)
    } finally {
      if (this.#underWay.get(at) === now) this.#underWay.delete(at)
    }
  }
}
