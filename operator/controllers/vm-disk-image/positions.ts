import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Store } from '../../runtime/store.ts'
import type { Admission } from './admission.ts'
import { reasonOf } from './status.ts'
import type { ImageView } from './views.ts'

/** All images together get at most one write a second for this. */
const EVERY_MS = 1_000
/** Who waits shorter has a position from when it was queued. */
const WAITED_MS = 60_000

/**
 * Keeps queue positions from going stale for those who wait long. Everybody's position changes with every admission, so
 * rewriting all of them would cost the square of the queue's length: each second, only the one that is furthest off is due.
 */
export async function refreshPositions(options: {
  readonly admission: Admission
  readonly images: Store<ImageView>
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onDue: (key: string, uid: string) => void
}): Promise<void> {
  const { clock, signal, onDue } = options
  while (!signal.aborted) {
    await sleep(clock, EVERY_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    const furthest = furthestOff(options)
    if (furthest !== undefined) onDue(furthest.key, furthest.uid)
  }
}

function furthestOff({
  admission,
  images,
  clock,
}: Parameters<typeof refreshPositions>[0]): { key: string; uid: string } | undefined {
  const now = clock.now()
  const isPaused = admission.state?.limit === 0
  let furthest: { key: string; uid: string } | undefined
  let most = 0
  for (const [at, { key, uid }] of admission.queue.values().entries()) {
    const status = images.get(key)?.status
    if (status?.phase !== 'Queued') continue
    const position = at + 1
    const isPausedToldWrong = isPaused !== (reasonOf(status) === 'Paused')
    if (!isPausedToldWrong && now - Date.parse(status.queuePositionTime ?? '') < WAITED_MS) continue
    const off = isPausedToldWrong
      ? Number.POSITIVE_INFINITY
      : Math.abs((status.queuePosition ?? 0) - position) / position
    if (off > most) {
      most = off
      furthest = { key, uid }
    }
  }
  return furthest
}
