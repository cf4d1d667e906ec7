/**
 * How long an image may hold up those behind it, in milliseconds, all such times together. Its ticket and finalizer are usually written within a
 * moment. Whoever may edit it can change it again and again before that, and then a write of the operator never succeeds.
 */
const BLOCK_MAX_MS = 5_000

/** How long each image has held up the queue because its own object was not written yet. */
export class BlockedQueue {
  readonly #spentMs = new Map<string, number>()
  #current: { readonly uid: string; readonly since: number } | undefined

  /** Records which image holds up others from now on; undefined if none does. @param now monotonic time in milliseconds */
  note(uid: string | undefined, now: number): void {
    const current = this.#current
    if (current?.uid === uid) return
    if (current !== undefined) this.#spentMs.set(current.uid, this.#spent(current.uid, now))
    this.#current = uid === undefined ? undefined : { uid, since: now }
  }

  /** Reports whether an image has used up its time: it keeps its ticket, and others no longer wait for it. */
  isPassed(uid: string, now: number): boolean {
    return this.#spent(uid, now) >= BLOCK_MAX_MS
  }

  /** Monotonic time in milliseconds at which the time of the image that holds up others is used up. */
  get endsAt(): number | undefined {
    const { uid, since } = this.#current ?? {}
    return uid === undefined || since === undefined ? undefined : since + BLOCK_MAX_MS - (this.#spentMs.get(uid) ?? 0)
  }

  /** The image is gone, or has its slot. */
  forget(uid: string): void {
    this.#spentMs.delete(uid)
    if (this.#current?.uid === uid) this.#current = undefined
  }

  #spent(uid: string, now: number): number {
    const before = this.#spentMs.get(uid) ?? 0
    return this.#current?.uid === uid ? before + now - this.#current.since : before
  }
}
