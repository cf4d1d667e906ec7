import { ANNOTATIONS, type Attempt, LABELS, type Reason, type VMDiskImageStatus } from '@open-terrain/constructs'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import type { ImageWorld } from '../world.ts'
import type { Failure } from './judge.ts'
import { withRetryTime } from './retries.ts'

const KEPT = 5
const RECORDED_MESSAGE_LIMIT = 1_000

/** Number of the next attempt: counted from 1 within a budget. */
export function nextAttempt({ budget, attempts, revision }: VMDiskImageStatus): number {
  const last = attempts?.findLast((attempt) => attempt.revision === revision)
  if (budget === undefined || budget.downloads === 0 || last === undefined) return 1
  return last.outcome === 'Failed' ? last.number + 1 : last.number
}

/**
 * Writes the failure of an attempt down: what it cost, and when the next one may start. This goes to the API server
 * before anything is torn down, so that no crash can make it forgotten.
 */
export function recordFailure(
  status: VMDiskImageStatus,
  subject: AttemptSubject,
  failure: Failure,
  world: ImageWorld,
  now: number,
): VMDiskImageStatus {
  const downloads = (status.budget?.downloads ?? 0) + failure.downloads
  // One that never got to its source cost nothing: it is not counted, and tried again after a longer wait each time.
  const hasRun = failure.downloads > 0
  const outcome = hasRun ? 'Failed' : 'Cancelled'
  const unstarted = hasRun ? 0 : (status.budget?.unstarted ?? 0) + 1
  const { reason, message } = failure
  const next: VMDiskImageStatus = {
    ...withAttempt(status, subject, { outcome, reason, message, downloads: failure.downloads }, now),
    budget: { key: status.budget?.key ?? '', downloads, ...(!hasRun && { unstarted }) },
    ticket: undefined,
    // That there is a wait. How long it is, the policy says.
    nextRetryTime: toTime(now),
  }
  return withRetryTime(next, world.policy)
}

export function recordCancel(
  status: VMDiskImageStatus,
  subject: AttemptSubject,
  reason: Reason,
  message: string,
  now: number,
): VMDiskImageStatus {
  // A stray is stopped while the image waits its turn: that costs it nothing, least of all its place.
  const isStray = status.phase === 'Queued' && status.dataVolumeUID !== subject.uid
  const { dataVolumeUID, startedAt, attempt, ticket } = status
  const recorded = withAttempt(status, subject, { outcome: 'Cancelled', reason, message, downloads: 1 }, now)
  return isStray ? { ...recorded, dataVolumeUID, startedAt, attempt, ticket } : { ...recorded, ticket: undefined }
}

export function recordSuccess(status: VMDiskImageStatus, subject: AttemptSubject, now: number): VMDiskImageStatus {
  const downloads = 1 + subject.restarts
  const end = { outcome: 'Succeeded', reason: 'Synced', message: 'downloaded', downloads } as const
  // From here on only a person can make it download again: deleting what was finished grants a new budget.
  return renewed(withAttempt(status, subject, end, now))
}

/** A person's act: all downloads are granted again. */
export function renewed(status: VMDiskImageStatus): VMDiskImageStatus {
  return { ...status, budget: { key: status.budget?.key ?? '', downloads: 0 }, nextRetryTime: undefined }
}

/** The attempt that a record is about. */
export interface AttemptSubject {
  readonly uid: string
  readonly number: number
  readonly revision: string
  readonly createdAt: string | undefined
  readonly restarts: number
}

/** @param revision where its label may not be relied on */
export function subjectOf(
  dataVolume: DataVolumeView,
  revision = dataVolume.metadata.labels?.[LABELS.revision] ?? '',
): AttemptSubject {
  const { uid = '', creationTimestamp } = dataVolume.metadata
  const number = attemptOf(dataVolume)
  return { uid, number, revision, createdAt: creationTimestamp, restarts: dataVolume.restartCount }
}

function withAttempt(
  status: VMDiskImageStatus,
  subject: AttemptSubject,
  { outcome, reason, message, downloads }: Pick<Attempt, 'outcome' | 'reason' | 'message' | 'downloads'>,
  now: number,
): VMDiskImageStatus {
  const startedAt = (status.dataVolumeUID === subject.uid ? status.startedAt : undefined) ?? subject.createdAt
  const started = fromTime(startedAt)
  const attempt: Attempt = {
    number: subject.number,
    revision: subject.revision,
    outcome,
    reason,
    message: message.slice(0, RECORDED_MESSAGE_LIMIT),
    ...(startedAt !== undefined && { startedAt }),
    endedAt: toTime(now),
    ...(started !== undefined && { durationSeconds: Math.max(0, Math.round((now - started) / 1_000)) }),
    downloads,
    dataVolumeUID: subject.uid,
  }
  return {
    ...status,
    attempt: subject.number,
    dataVolumeUID: subject.uid,
    startedAt,
    attempts: [...(status.attempts ?? []), attempt].slice(-KEPT),
  }
}

/** Number of the attempt that a DataVolume was made for, from 1. */
export function attemptOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[ANNOTATIONS.attempt] ?? 1)
}
