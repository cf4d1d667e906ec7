import type { VMDiskImageStatus } from '@open-terrain/constructs'
import { fromTime } from '../../runtime/conditions.ts'
import { reasonOf } from '../../runtime/standing.ts'

/** Waits of an image in phase `Queued` that are not for something that is missing. */
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
 * Tells the wait for a slot from the wait for something that is missing, by the statuses that watches report. Where an image waits already when this
 * process begins to lead, its wait counts from its ticket.
 */
export class ImageWaits {
  readonly #blocks = new Map<string, Block>()
  /** When the last block of an image ended. */
  readonly #freeSince = new Map<string, number>()

  /** Takes in a change. Returns the wait that it ends. */
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

  /** Since when an image that gets a slot now has waited for nothing else; undefined where it has no ticket. */
  freeSince(uid: string, status: VMDiskImageStatus, now: number): number | undefined {
    const queued = fromTime(status.queuedAt)
    // It gets a slot, and its status is still to say that nothing is missing.
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
