import {
  DATA_SYNC_CONDITION_RULES,
  type DataSyncPhase,
  type DataSyncReason,
  type DataSyncStatus,
  IMAGE_MESSAGE_MAX,
} from '@open-terrain/constructs/operator'
import { cutMessage } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { countsOf, listed, shareIn } from '../../../runtime/members.ts'
import { type StatusThrottle, throttleBetween } from '../../../runtime/requeue.ts'
import { type Summary, statusToTheEnd } from '../../../runtime/summary.ts'
import type { DataSyncView } from '../world.ts'
import type { ImageStep } from './image.ts'

export type DataSyncSummary = Summary<DataSyncPhase, DataSyncReason>

/** The DataSync is in the first of these phases that any of its images is in. */
const ORDER = ['Syncing', 'Queued', 'Failed'] as const

export function summaryOf(images: readonly ImageStep[]): DataSyncSummary {
  const phase = ORDER.find((one) => images.some((image) => image.phase === one)) ?? 'Succeeded'
  const failed = images.filter((image) => image.phase === 'Failed')
  const worst = failed.find(({ reason }) => reason === 'NameConflict') ?? failed[0]
  const why = worst?.reason === 'NameConflict' ? 'NameConflict' : 'ImageFailed'
  const members = membersOf(images)
  const lists = ORDER.map((one) => listed(one, members)).filter((list) => list !== '')
  const held = images.find(({ reason }) => reason === 'CDINotResponding')
  const waiting = images.find(({ phase: of, message }) => of !== 'Failed' && message !== undefined)
  const causes = [worst, held ?? waiting].flatMap((one) => (one === undefined ? [] : [`vm ${one.vm}: ${one.message}`]))
  return {
    phase,
    reason:
      phase === 'Failed' ? why : phase === 'Succeeded' ? 'Synced' : held === undefined ? phase : 'CDINotResponding',
    message: [...causes, `${shareIn('Succeeded', members)} images are ready`, ...lists].join('; '),
  }
}

const membersOf = (images: readonly ImageStep[]) => images.map((image) => ({ ...image, title: image.vm }))

/** Returns the whole status. Only the transition times of the previous status matter. */
export function dataSyncStatusOf(
  object: DataSyncView,
  summary: DataSyncSummary,
  images: readonly ImageStep[],
  now: number,
): DataSyncStatus {
  return {
    ...statusToTheEnd(DATA_SYNC_CONDITION_RULES, object, summary, now),
    ...(images.length > 0 && figuresOf(images)),
  }
}

function figuresOf(images: readonly ImageStep[]): Partial<DataSyncStatus> {
  const percent = images.reduce((sum, image) => sum + (image.percent ?? 0), 0) / images.length
  const members = membersOf(images)
  return {
    progress: `${percent.toFixed(1)}%`,
    counts: countsOf(['Succeeded', ...ORDER], members),
    ready: shareIn('Succeeded', members),
    images: images.map(({ vm, name, phase, reason, message = '' }) => {
      // The messages of others may change all the time while they wait.
      const why = phase === 'Failed' && message !== '' && cutMessage(message).slice(0, IMAGE_MESSAGE_MAX).toWellFormed()
      return { vm, name, phase, reason, ...(why !== false && { message: why }) }
    }),
  }
}

/** Reports whether the DataSync is in progress, with nothing to report but how far it is. */
function isUnderWay(reason: string | undefined): boolean {
  return reason === 'Queued' || reason === 'Syncing'
}

/** Returns Events for the start, the end and problems, for people who read `kubectl describe`. The steps in between are in the status. */
export function dataSyncEventsBetween(before: DataSyncStatus, after: DataSyncStatus): EventNote[] {
  const { reason = '', message = '' } = after
  if (reason === before.reason || (isUnderWay(reason) && isUnderWay(before.reason))) return []
  return [{ type: isUnderWay(reason) || reason === 'Synced' ? 'Normal' : 'Warning', reason, message }]
}

/** Hundreds of images may change together, so their DataSync writes its counts at a steady rate. */
const COUNTS_EVERY_MS = 2_000
const PROGRESS_EVERY_MS = 30_000

/**
 * Decides when a status is written: at once if the summary of the DataSync changed, every 2 s if the counts of images did, and every 30 s if only
 * the progress did. Between two downloads none may run for a moment, so Queued and Syncing alternate: this is treated as a change of counts.
 */
export function dataSyncThrottleOf(
  before: DataSyncStatus,
  after: DataSyncStatus,
  sinceWriteMs?: number,
): StatusThrottle {
  const counted = (status: DataSyncStatus) => ({ ...status, progress: '' })
  const aspects = [[summaryIn, 0] as const, [counted, COUNTS_EVERY_MS] as const]
  return throttleBetween([before, after], aspects, PROGRESS_EVERY_MS, sinceWriteMs, 'how far the images are is written')
}

function summaryIn({ phase, reason, observedGeneration, conditions = [] }: DataSyncStatus): unknown {
  const stand = isUnderWay(reason) ? ['under way'] : [phase, reason]
  return [...stand, observedGeneration, conditions.map(({ type, status }) => [type, status])]
}
