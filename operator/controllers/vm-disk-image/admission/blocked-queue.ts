/**
 * How long an image may hold up those behind it, in milliseconds, all such times together. Its ticket and finalizer are usually written within a
 * moment. A user who may edit it can change it again and again before that, and then no write of the operator succeeds.
 */
const BLOCK_MAX_MS = 5_000

/** An image whose own object was not written yet, once or still. */
interface UnwrittenImage {
  /** For how long the queue had been held up when it was first seen. */
  readonly seenAt: number
  /** Its writes fail or hang. It stays so while they are retried: each retry would hold up those behind it as the first one did. */
  readonly isStuck: boolean
  /** Whether it was told that others pass it. */
  readonly isTold: boolean
}

/**
 * For how long the queue has been held up by an image whose own object is not written yet. Each time counts for every such image, wherever it
 * waits, and not only for the first: many of them together hold up nobody for longer than one of them.
 */
export class BlockedQueue {
  /** By uid. An image stays as long as it exists, or each change would begin anew. */
  readonly #images = new Map<string, UnwrittenImage>()
  /** Ended times together, in milliseconds. */
  #heldMs = 0
  #current: { readonly uid: string; readonly since: number } | undefined

  /** Records an image whose own object is not written yet. @param now monotonic time in milliseconds */
  see(uid: string, now: number): void {
    if (!this.#images.has(uid)) this.#images.set(uid, this.#of(uid, now))
  }

  /** Records that its writes fail or hang: others no longer wait for it. */
  setStuck(uid: string, now: number): void {
    this.#images.set(uid, { ...this.#of(uid, now), isStuck: true })
  }

  /** Records that its object is written, or that it waits no more. Reports whether its writes failed before. */
  setWritten(uid: string): boolean {
    const image = this.#images.get(uid)
    if (image === undefined) return false
    this.#images.set(uid, { ...image, isStuck: false, isTold: false })
    return image.isStuck
  }

  /** Records that it is told that others pass it. Reports whether that is new. */
  tell(uid: string, now: number): boolean {
    const image = this.#of(uid, now)
    this.#images.set(uid, { ...image, isTold: true })
    return !image.isTold
  }

  /** Records which image holds up others from now on; undefined if none does. */
  note(uid: string | undefined, now: number): void {
    if (this.#current?.uid === uid) return
    this.#heldMs = this.#held(now)
    this.#current = uid === undefined ? undefined : { uid, since: now }
  }

  /** Reports whether an image has used up its time: it keeps its ticket, and others no longer wait for it. */
  isPassed(uid: string, now: number): boolean {
    const { isStuck, seenAt } = this.#of(uid, now)
    return isStuck || this.#held(now) - seenAt >= BLOCK_MAX_MS
  }

  /** Monotonic time in milliseconds at which the time of the image that holds up others is used up. */
  get endsAt(): number | undefined {
    if (this.#current === undefined) return undefined
    const { uid, since } = this.#current
    return since + BLOCK_MAX_MS - (this.#heldMs - this.#of(uid, since).seenAt)
  }

  /** The image is gone, or has its slot. */
  forget(uid: string): void {
    this.#images.delete(uid)
  }

  #held(now: number): number {
    return this.#current === undefined ? this.#heldMs : this.#heldMs + now - this.#current.since
  }

  #of(uid: string, now: number): UnwrittenImage {
    return this.#images.get(uid) ?? { seenAt: this.#held(now), isStuck: false, isTold: false }
  }
}
