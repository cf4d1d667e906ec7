import type { VMDiskImageStatus } from '@open-terrain/constructs'
import type { ImageView } from '../../../images/image-view.ts'
import type { Basics } from '../../../runtime/basics.ts'
import { sleep } from '../../../runtime/clock.ts'
import { traceOf } from '../../../runtime/redact.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Admission } from './admission.ts'

/** All images together get at most one write a second for this. */
const EVERY_MS = 1_000
/** Who waits shorter has a position from when it was queued. */
const WAITED_MS = 60_000

/**
 * Keeps queue positions from going stale for those who wait long. Everybody's position changes with every admission, so
 * rewriting all of them would cost the square of the queue's length: each second, only the one that is furthest off is due.
 */
export class QueuePositions {
  readonly #options: QueuePositionsOptions
  /** By uid. */
  readonly #due = new Set<string>()

  constructor(options: QueuePositionsOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, EVERY_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      const furthest = furthestOff(this.#options)
      if (furthest === undefined) continue
      this.#due.add(furthest.uid)
      this.#options.onDue(furthest.key)
    }
  }

  /** Whether the position of an image is to be written now, though nothing else has changed. Once asked, it is not due any more. */
  take(uid: string): boolean {
    return this.#due.delete(uid)
  }
}

interface QueuePositionsOptions extends Pick<Basics, 'clock' | 'log'> {
  readonly admission: Admission
  readonly images: Store<ImageView>
  /** The image with this key is to be looked at. */
  readonly onDue: (key: string) => void
}

function furthestOff({ admission, images, clock, log }: QueuePositionsOptions): Start | undefined {
  const now = clock.now()
  const isPaused = admission.state?.limit === 0
  let furthest: Start | undefined
  let most = 0
  for (const [at, start] of admission.queue.values().entries()) {
    try {
      const off = howFarOff(images.get(start.key)?.status, at + 1, isPaused, now)
      if (off <= most) continue
      most = off
      furthest = start
    } catch (error) {
      log.error(
        { key: start.key, error: traceOf(error) },
        'a bug in the operator: the queue position cannot be worked out',
      )
    }
  }
  return furthest
}

/** How wrong the position in the status is by now, 0 where nobody has to be told. */
function howFarOff(status: VMDiskImageStatus | undefined, position: number, isPaused: boolean, now: number): number {
  if (status?.phase !== 'Queued') return 0
  if (isPaused !== (reasonOf(status) === 'Paused')) return Number.POSITIVE_INFINITY
  if (now - Date.parse(status.queuePositionTime ?? '') < WAITED_MS) return 0
  return Math.abs((status.queuePosition ?? 0) - position) / position
}
