import { sleep } from '../../../base/clock.ts'
import { traceOf } from '../../../base/messages.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { Basics } from '../../../runtime/basics.ts'
import type { Store } from '../../../runtime/store.ts'
import { reasonOf } from '../../../runtime/summary.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Admission } from './admission.ts'

/** All images together get at most one write per second for their positions. */
const EVERY_MS = 1_000
/** A younger position is kept: an image that has waited less has the one from when it was queued. */
const WAITED_MS = 60_000

/** An image whose position was due and is still wrong, by the monotonic clock. */
interface Overdue {
  /** When it was first due. */
  readonly since: number
  /** Until when others come first. */
  readonly until: number
}

interface QueuePositionsOptions extends Pick<Basics, 'clock' | 'log'> {
  readonly admission: Admission
  readonly images: Store<ImageView>
  /** Called with the key of an image to reconcile. */
  readonly onDue: (key: string) => void
}

/**
 * Keeps the queue positions in statuses up to date. Every admission changes the position of every image that waits. To write all of them each time
 * would cost the square of the queue's length. So once a second one image is reconciled: the one whose status is furthest off.
 *
 * If that status cannot be written, the image is left alone for a minute. If it still cannot be written then, the time doubles.
 */
export class QueuePositions {
  readonly #options: QueuePositionsOptions
  /** By uid. */
  readonly #due = new Set<string>()
  /** By uid. */
  #overdue: ReadonlyMap<string, Overdue> = new Map()

  constructor(options: QueuePositionsOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, EVERY_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      const furthest = this.#takeFurthestOff()
      if (furthest === undefined) continue
      this.#due.add(furthest.uid)
      this.#options.onDue(furthest.key)
    }
  }

  /** Reports whether the position of an image is due to be written though nothing else has changed, and clears that. */
  take(uid: string): boolean {
    return this.#due.delete(uid)
  }

  #takeFurthestOff(): Start | undefined {
    const { admission, clock } = this.#options
    const now = clock.monotonic()
    const overdue = new Map<string, Overdue>()
    let furthest: Start | undefined
    let most = 0
    for (const [at, start] of admission.queue.values().entries()) {
      const off = this.#howFarOff(start.key, at + 1)
      const before = this.#overdue.get(start.uid)
      if (off > 0 && before !== undefined) overdue.set(start.uid, before)
      if (off > most && now >= (before?.until ?? now)) {
        most = off
        furthest = start
      }
    }
    if (furthest !== undefined) {
      const since = overdue.get(furthest.uid)?.since ?? now
      overdue.set(furthest.uid, { since, until: now + Math.max(WAITED_MS, now - since) })
    }
    this.#overdue = overdue
    return furthest
  }

  /** Returns how wrong the position in the status is by now, or 0 if it need not be written. */
  #howFarOff(key: string, position: number): number {
    const { admission, images, clock, log } = this.#options
    try {
      const status = images.get(key)?.status
      if (status?.phase !== 'Queued') return 0
      const isPaused = admission.state?.limit === 0
      if (isPaused !== (reasonOf(status) === 'Paused')) return Number.POSITIVE_INFINITY
      if (clock.now() - Date.parse(status.queuePositionTime ?? '') < WAITED_MS) return 0
      return Math.abs((status.queuePosition ?? 0) - position) / position
    } catch (error) {
      log.error({ key, error: traceOf(error) }, 'a bug in the operator: the queue position cannot be worked out')
      return 0
    }
  }
}
