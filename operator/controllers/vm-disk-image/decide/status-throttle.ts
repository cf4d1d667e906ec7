import { VM_DISK_IMAGE_CONDITIONS as TYPE, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { isSame } from '../../../base/equality.ts'
import type { StatusThrottle } from '../../../runtime/requeue.ts'
import { reasonOf } from '../../../runtime/summary.ts'

const PROGRESS_STEP = 10
const PROGRESS_EVERY_MS = 30_000
/** Minimum time before a status is written only because of who refers to the image: hundreds of machines may come or go at once. */
const NAMES_EVERY_MS = 2_000

/** Of an image that has a slot, and whose download does not begin: these are few, so it is written at once. */
export const PAUSED_WITH_SLOT =
  'it has a slot, but the policy key concurrency is 0, so its download does not start: set it to 1 or more'

/** Decides when a status is written. */
export function imageThrottleOf(...what: Parameters<typeof isImageStatusDue>): StatusThrottle {
  const [before, after] = what
  // Most plans change nothing.
  if (isSame(before, after)) return { isStatusDue: false }
  if (isImageStatusDue(...what)) return { isStatusDue: true }
  const names = { afterMs: NAMES_EVERY_MS, because: 'who refers to the image is written by then' }
  return { isStatusDue: false, requeue: isBehind(before, after) ? names : undefined }
}

/**
 * Reports whether a status is worth a write. Progress changes all the time: it is written in steps of 10%, at most twice a minute.
 * Queue positions change for all whenever an image leaves: they are written with other changes, or when they are due.
 */
export function isImageStatusDue(
  before: VMDiskImageStatus,
  after: VMDiskImageStatus,
  sinceWriteMs: number | undefined,
  positionDue: boolean,
): boolean {
  if (!isSame(significant(before, 'whether'), significant(after, 'whether'))) return true
  if (isBehind(before, after) && (sinceWriteMs ?? NAMES_EVERY_MS) >= NAMES_EVERY_MS) return true
  if (positionDue) return before.queuePosition !== after.queuePosition || before.reason !== after.reason
  if (after.phase !== 'Syncing') return false
  // The first progress is reported at once.
  if (percent(before.progress) === 0 && percent(after.progress) > 0) return true
  if ((sinceWriteMs ?? PROGRESS_EVERY_MS) < PROGRESS_EVERY_MS) return false
  return Math.abs(percent(after.progress) - percent(before.progress)) >= PROGRESS_STEP
}

/** Reports whether the status that people read is stale. */
export function isBehind(before: VMDiskImageStatus, after: VMDiskImageStatus): boolean {
  return !isSame(significant(before, 'who'), significant(after, 'who'))
}

/** The number in CDI's progress, `42.00%`; 0 where there is none yet (`N/A`). */
export function percent(progress: string | undefined): number {
  const value = Number.parseFloat(progress ?? '')
  return Number.isNaN(value) ? 0 : value
}

/** Conditions that name what refers to the image. While its deletion is blocked, any condition may. */
const NAMING: ReadonlySet<string> = new Set([TYPE.Unreferenced, TYPE.DeletionBlocked])

/** Returns the parts of a status whose change matters: of the references, `who` refers to the image, or only `whether` anything does. */
function significant(status: VMDiskImageStatus, references: 'who' | 'whether'): unknown {
  const { progress: _progress, queuePosition: _position, queuePositionTime: _time, ...rest } = status
  const reason = reasonOf(status)
  const isWaiting =
    status.phase === 'Queued' && (reason === 'Queued' || reason === 'Paused') && status.message !== PAUSED_WITH_SLOT
  const isBlocked = rest.conditions?.some(({ type }) => type === TYPE.DeletionBlocked) === true
  const isNamed = (type: string) => references === 'whether' && (isBlocked || NAMING.has(type))
  return {
    ...rest,
    references: references === 'who' ? rest.references : (rest.references?.count ?? 0) > 0,
    reason: isWaiting ? undefined : rest.reason,
    message: isWaiting || (isBlocked && references === 'whether') ? undefined : rest.message,
    conditions: rest.conditions?.map(
      ({ message, reason, lastTransitionTime: _time, observedGeneration: _generation, ...condition }) =>
        isWaiting || isNamed(condition.type) ? condition : { ...condition, message, reason },
    ),
  }
}
