import type { VMDiskImageStatus } from '@open-terrain/constructs'
import type { ImageView } from '../../../images/image-view.ts'
import type { Basics } from '../../../runtime/basics.ts'
import { sleep } from '../../../runtime/clock.ts'
import { traceOf } from '../../../runtime/redact.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import type { Store } from '../../../runtime/store.ts'
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

/**
 * Keeps queue positions of images that wait long from going stale. Every admission changes all positions, so rewriting all
 * of them would cost the square of the queue's length. Each second, only the position that is furthest off is due. If its status cannot be
 * written, it is not due again for a minute, and then for as long again as it has been overdue: the others get their turn.
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
    const now = this.#options.clock.monotonic()
    const overdue = new Map<string, Overdue>()
    let furthest: Start | undefined
    let most = 0
    for (const [start, off] of wrongPositions(this.#options)) {
      const before = this.#overdue.get(start.uid)
      if (before !== undefined) overdue.set(start.uid, before)
      if (off <= most || now < (before?.until ?? now)) continue
      most = off
      furthest = start
    }
    if (furthest !== undefined) {
      const since = overdue.get(furthest.uid)?.since ?? now
      overdue.set(furthest.uid, { since, until: now + Math.max(WAITED_MS, now - since) })
    }
    this.#overdue = overdue
    return furthest
  }
}

interface QueuePositionsOptions extends Pick<Basics, 'clock' | 'log'> {
  readonly admission: Admission
  readonly images: Store<ImageView>
  /** Called with the key of an image to reconcile. */
  readonly onDue: (key: string) => void
}

/** Yields the images whose position must be written, in queue order, and how wrong each is. */
function* wrongPositions({ admission, images, clock, log }: QueuePositionsOptions): Generator<[Start, off: number]> {
  const now = clock.now()
  const isPaused = admission.state?.limit === 0
  for (const [at, start] of admission.queue.values().entries()) {
    try {
      const off = howFarOff(images.get(start.key)?.status, at + 1, isPaused, now)
      if (off > 0) yield [start, off]
    } catch (error) {
      log.error(
        { key: start.key, error: traceOf(error) },
        'a bug in the operator: the queue position cannot be worked out',
      )
    }
  }
}

/** Returns how wrong the position in the status is by now, or 0 if it need not be written. */
function howFarOff(status: VMDiskImageStatus | undefined, position: number, isPaused: boolean, now: number): number {
  if (status?.phase !== 'Queued') return 0
  if (isPaused !== (reasonOf(status) === 'Paused')) return Number.POSITIVE_INFINITY
  if (now - Date.parse(status.queuePositionTime ?? '') < WAITED_MS) return 0
  return Math.abs((status.queuePosition ?? 0) - position) / position
}
