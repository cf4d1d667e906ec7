import type { DataSyncPhase, DataSyncReason, DataSyncStatus } from '@open-terrain/constructs'
import { cutMessage, mergeConditions } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { courseConditions, said } from '../../../runtime/standing.ts'
import type { DataSyncView } from '../world.ts'
import type { ImageStep } from './image.ts'

/** Where a DataSync stands, in the words that people read. */
export interface Standing {
  readonly phase: DataSyncPhase
  readonly reason: DataSyncReason
  readonly message: string
}

/** The whole is in the first phase that one of its images is in. */
const ORDER = ['Syncing', 'Queued', 'Failed'] as const
/** More images are only counted. */
const SHOWN_MAX = 3

export function standingOf(images: readonly ImageStep[]): Standing {
  const phase = ORDER.find((one) => images.some((image) => image.phase === one)) ?? 'Succeeded'
  const failed = images.filter((image) => image.phase === 'Failed')
  const worst = failed.find(({ reason }) => reason === 'NameConflict') ?? failed[0]
  const why = worst?.reason === 'NameConflict' ? 'NameConflict' : 'ImageFailed'
  const lists = ORDER.map((one) => listed(one, images)).filter((list) => list !== '')
  const cause = worst === undefined ? [] : [`vm ${worst.vm}: ${worst.message}`]
  return {
    phase,
    reason: phase === 'Failed' ? why : phase === 'Succeeded' ? 'Synced' : phase,
    message: [`${readyOf(images)} images are ready`, ...lists, ...cause].join('; '),
  }
}

/** Who is in this phase, and why. No live numbers: a status is not written for them. */
function listed(phase: DataSyncPhase, images: readonly ImageStep[]): string {
  const those = images.filter((image) => image.phase === phase).map(({ vm, reason }) => `${vm} (${reason})`)
  if (those.length === 0) return ''
  const more = those.length > SHOWN_MAX ? ` and ${those.length - SHOWN_MAX} more` : ''
  return `${phase}: ${those.slice(0, SHOWN_MAX).join(', ')}${more}`
}

function readyOf(images: readonly ImageStep[]): string {
  return `${countOf('Succeeded', images)}/${images.length}`
}

function countOf(phase: DataSyncPhase, images: readonly ImageStep[]): number {
  return images.filter((image) => image.phase === phase).length
}

/** The whole status. Of the one before only the times of transitions count. */
export function statusOf(
  { metadata: { generation }, status: before }: DataSyncView,
  standing: Standing,
  images: readonly ImageStep[],
  now: number,
): DataSyncStatus {
  const { phase, reason } = standing
  const message = cutMessage(standing.message)
  const isSettled = phase === 'Succeeded' || phase === 'Failed'
  const why = { reason, message }
  const conditions = [
    said('Ready', phase === 'Succeeded', why),
    ...courseConditions(why, { isBusy: !isSettled, isStalled: phase === 'Failed', isSettled }),
  ]
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    reason,
    message,
    conditions: mergeConditions(before.conditions ?? [], conditions, generation, now) as DataSyncStatus['conditions'],
    ...(images.length > 0 && figuresOf(images)),
  }
}

function figuresOf(images: readonly ImageStep[]): Partial<DataSyncStatus> {
  const percent = images.reduce((sum, image) => sum + (image.percent ?? 0), 0) / images.length
  return {
    progress: `${percent.toFixed(1)}%`,
    counts: {
      total: images.length,
      succeeded: countOf('Succeeded', images),
      syncing: countOf('Syncing', images),
      queued: countOf('Queued', images),
      failed: countOf('Failed', images),
    },
    ready: readyOf(images),
    images: images.map(({ vm, name, phase, reason }) => ({ vm, name, phase, reason })),
  }
}

/** Whether it is on its way, with nothing to tell people but how far. */
export function isUnderWay(reason: string | undefined): boolean {
  return reason === 'Queued' || reason === 'Syncing'
}

/** Its beginning, its end and trouble, for people who read `kubectl describe`: the steps between them are in the status. */
export function eventsBetween(before: DataSyncStatus, { reason = '', message = '' }: DataSyncStatus): EventNote[] {
  if (reason === before.reason || (isUnderWay(reason) && isUnderWay(before.reason))) return []
  return [{ type: isUnderWay(reason) || reason === 'Synced' ? 'Normal' : 'Warning', reason, message }]
}
