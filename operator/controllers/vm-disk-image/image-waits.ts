import type { VMDiskImageStatus } from '@open-terrain/constructs'
import { fromTime } from '../../runtime/conditions.ts'
import { reasonOf } from '../../runtime/standing.ts'

/** Reasons to wait in phase `Queued` that do not mean that something is missing. */
const NOT_BLOCKED: ReadonlySet<string> = new Set([
  'Queued',
  'Paused',
  'RetryBackoff',
  'Suspended',
  'Stopping',
  'Unreferenced',
])

/** A wait for something that was missing, and has ended. */
export interface EndedWait {
  readonly reason: string
  readonly seconds: number
}

interface Block {
  readonly reason: string
  readonly since: number
}

/**
 * Distinguishes the wait for a slot from the wait for something missing, by the statuses that watches report. If an image already waits when
 * this process starts to lead, its wait counts from its ticket.
 */
export class ImageWaits {
  readonly #blocks = new Map<string, Block>()
  /** When the last block of an image ended. */
  readonly #freeSince = new Map<string, number>()

  /** Handles a status change. Returns the wait that it ends. */
  take(
    uid: string,
    before: VMDiskImageStatus | undefined,
    after: VMDiskImageStatus | undefined,
    now: number,
  ): EndedWait | undefined {
    const reason = after && blockOf(after)
    const known = this.#blocks.get(uid) ?? (before && blockBefore(before, now))
    if (after === undefined) this.#freeSince.delete(uid)
    if (known?.reason === reason) {
      if (known !== undefined) this.#blocks.set(uid, known)
      return undefined
    }
    if (reason === undefined) this.#blocks.delete(uid)
    else this.#blocks.set(uid, { reason, since: now })
    if (known === undefined || after === undefined) return undefined
    if (reason === undefined) this.#freeSince.set(uid, now)
    return { reason: known.reason, seconds: Math.max(0, now - known.since) / 1_000 }
  }

  /** Returns since when an image that gets a slot now has waited for nothing else; undefined if it has no ticket. */
  freeSince(uid: string, status: VMDiskImageStatus, now: number): number | undefined {
    const queued = fromTime(status.queuedAt)
    // It gets a slot, but its status does not show yet that nothing is missing.
    if (queued !== undefined && blockOf(status) !== undefined) return now
    return queued === undefined ? undefined : Math.max(queued, this.#freeSince.get(uid) ?? 0)
  }
}

function blockOf(status: VMDiskImageStatus): string | undefined {
  const reason = reasonOf(status)
  return status.phase === 'Queued' && reason !== undefined && !NOT_BLOCKED.has(reason) ? reason : undefined
}

function blockBefore(status: VMDiskImageStatus, now: number): Block | undefined {
  const reason = blockOf(status)
  return reason === undefined ? undefined : { reason, since: fromTime(status.queuedAt) ?? now }
}
