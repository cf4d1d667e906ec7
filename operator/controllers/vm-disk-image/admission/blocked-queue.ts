/**
 * How long an image may hold up those behind it, in milliseconds, all such times together. Its ticket and finalizer are usually written within a
 * moment. A user who may edit it can change it again and again before that, and then no write of the operator succeeds.
 */
const BLOCK_MAX_MS = 5_000

/**
 * For how long the queue has been held up by an image whose own object is not written yet. Each time counts for every such image, wherever it
 * waits, and not only for the first: many of them together hold up nobody for longer than one of them.
 */
export class BlockedQueue {
  /** What {@link #held} was when an image was first seen unwritten. It stays as long as the image, or each change would begin anew. */
  readonly #seenAt = new Map<string, number>()
  /** Ended times together, in milliseconds. */
  #heldMs = 0
  #current: { readonly uid: string; readonly since: number } | undefined

  /** Records an image whose own object is not written yet. @param now monotonic time in milliseconds */
  see(uid: string, now: number): void {
    if (!this.#seenAt.has(uid)) this.#seenAt.set(uid, this.#held(now))
  }

  /** Records which image holds up others from now on; undefined if none does. */
  note(uid: string | undefined, now: number): void {
    if (this.#current?.uid === uid) return
    this.#heldMs = this.#held(now)
    this.#current = uid === undefined ? undefined : { uid, since: now }
  }

  /** Reports whether an image has used up its time: it keeps its ticket, and others no longer wait for it. */
  isPassed(uid: string, now: number): boolean {
    return this.#held(now) - this.#seen(uid, now) >= BLOCK_MAX_MS
  }

  /** Monotonic time in milliseconds at which the time of the image that holds up others is used up. */
  get endsAt(): number | undefined {
    if (this.#current === undefined) return undefined
    const { uid, since } = this.#current
    return since + BLOCK_MAX_MS - (this.#heldMs - this.#seen(uid, since))
  }

  /** The image is gone, or has its slot. */
  forget(uid: string): void {
    this.#seenAt.delete(uid)
  }

  #held(now: number): number {
    return this.#current === undefined ? this.#heldMs : this.#heldMs + now - this.#current.since
  }

  #seen(uid: string, now: number): number {
    return this.#seenAt.get(uid) ?? this.#held(now)
  }
}
