import { LABELS } from '@open-terrain/constructs'
import {
  type Attempt,
  type Policy,
  type Reason,
  shortHash,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { fromTime, toTime } from '../../../base/time.ts'
import { ATTEMPT_MAX, attemptOf } from '../../../cluster/import-facts.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import type { ImageWorld } from '../world.ts'
import { isPermanent } from './final-errors.ts'
import type { Failure } from './judge.ts'

const KEPT = 5
const RECORDED_MESSAGE_LIMIT = 1_000
/** Part of a wait by which retries are spread, to both sides. */
const JITTER = 0.1

/** Number of the next attempt: counted from 1 within a budget. */
export function nextAttempt({ budget, attempts, revision }: VMDiskImageStatus): number {
  const last = attempts?.findLast((attempt) => attempt.revision === revision)
  if (budget === undefined || budget.downloads === 0 || last === undefined) return 1
  return last.outcome === 'Failed' ? Math.min(last.number + 1, ATTEMPT_MAX) : last.number
}

/** Records the failure of an attempt. This is written before anything is torn down, so a crash cannot lose the record. */
export function recordFailure(
  status: VMDiskImageStatus,
  subject: AttemptSubject,
  failure: Failure,
  world: ImageWorld,
  now: number,
): VMDiskImageStatus {
  const { reason, message, downloads } = failure
  const { key = '', downloads: used = 0, unstarted = 0 } = status.budget ?? {}
  // An attempt that never reached its source uses no download. It is not counted, and each retry waits longer.
  const hasRun = downloads > 0
  const end = { outcome: hasRun ? 'Failed' : 'Cancelled', reason, message, downloads } as const
  const next: VMDiskImageStatus = {
    ...withAttempt(status, subject, end, now),
    budget: { key, downloads: used + downloads, ...(!hasRun && { unstarted: unstarted + 1 }) },
    ticket: undefined,
    // Only marks that there is a wait. The policy determines how long it is.
    nextRetryTime: toTime(now),
  }
  return withRetryTime(next, world.policy)
}

/** Counts downloads that began after the failure was recorded: until its pod is gone, the kubelet may start a failed importer again. */
export function recount(status: VMDiskImageStatus, { observation, policy }: ImageWorld): VMDiskImageStatus {
  const { attempts = [], budget, dataVolumeUID } = status
  const { dataVolumeUid, starts = 0 } = observation
  const last = attempts.at(-1)
  const isOfBudget = budget !== undefined && budget.downloads >= (last?.downloads ?? 0)
  const isCounted = last?.outcome === 'Failed' && last.dataVolumeUID === dataVolumeUID && isOfBudget
  const more = starts - (last?.downloads ?? 0)
  if (!isCounted || dataVolumeUID === undefined || dataVolumeUid !== dataVolumeUID || more <= 0) return status
  const recounted: Attempt = { ...last, downloads: starts }
  const downloads = budget.downloads + more
  return withRetryTime(
    { ...status, attempts: [...attempts.slice(0, -1), recounted], budget: { ...budget, downloads } },
    policy,
  )
}

export function recordCancel(
  status: VMDiskImageStatus,
  subject: AttemptSubject,
  reason: Reason,
  message: string,
  now: number,
): VMDiskImageStatus {
  // A stray download is stopped while the image is queued. This costs the image nothing, and it keeps its place.
  const isStray = status.phase === 'Queued' && status.dataVolumeUID !== subject.uid
  const { dataVolumeUID, startedAt, attempt, ticket } = status
  const recorded = withAttempt(status, subject, { outcome: 'Cancelled', reason, message, downloads: 1 }, now)
  return isStray ? { ...recorded, dataVolumeUID, startedAt, attempt, ticket } : { ...recorded, ticket: undefined }
}

/** Takes the place of another end of the same attempt: what was to be stopped, and was done before that, was no failure. */
export function recordSuccess(status: VMDiskImageStatus, subject: AttemptSubject, now: number): VMDiskImageStatus {
  const downloads = 1 + subject.restarts
  const end = { outcome: 'Succeeded', reason: 'Synced', message: 'downloaded', downloads } as const
  const attempts = status.attempts?.filter(({ dataVolumeUID }) => dataVolumeUID !== subject.uid)
  // From here on only a person can cause another download: deleting what was finished grants a new budget.
  return renewed(withAttempt({ ...status, attempts }, subject, end, now))
}

/** Whether the attempt with this DataVolume is recorded as a success. */
export function hasSucceeded({ attempts = [] }: VMDiskImageStatus, uid: string | undefined): boolean {
  return attempts.some(({ dataVolumeUID, outcome }) => dataVolumeUID === uid && outcome === 'Succeeded')
}

/** Grants the full budget of downloads again, for an action of a person. */
export function renewed(status: VMDiskImageStatus): VMDiskImageStatus {
  return { ...status, budget: { key: status.budget?.key ?? '', downloads: 0 }, nextRetryTime: undefined }
}

/** The attempt that a record is about. */
type AttemptSubject = ReturnType<typeof subjectOf>

/**
 * @param written status of the image as it is stored: it still says who asked for a download that a later change stops
 * @param revision required where its label cannot be trusted
 */
export function subjectOf(
  dataVolume: DataVolumeView,
  written: VMDiskImageStatus,
  revision = dataVolume.metadata.labels?.[LABELS.revision] ?? '',
) {
  const { uid = '', creationTimestamp } = dataVolume.metadata
  const number = attemptOf(dataVolume)
  const requestedBy = written.revision === revision ? written.requestedBy : undefined
  return { uid, number, revision, createdAt: creationTimestamp, restarts: dataVolume.restartCount, requestedBy }
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
    ...(subject.requestedBy !== undefined && { requestedBy: subject.requestedBy }),
  }
  return {
    ...status,
    attempt: subject.number,
    dataVolumeUID: subject.uid,
    startedAt,
    attempts: newest([...(status.attempts ?? []), attempt]),
  }
}

/** Keeps the last failure however many attempts follow: whether and when there is a retry depends on it. */
function newest(attempts: readonly Attempt[]): Attempt[] {
  const last = attempts.slice(-KEPT)
  const failure = attempts.findLast(({ outcome }) => outcome === 'Failed')
  return failure === undefined || last.includes(failure) ? last : [failure, ...last.slice(1)]
}

/** Returns the attempt that ended all attempts: a retry cannot fix it, or the policy allows no more. Undefined while one is left. */
export function finalAttempt({ budget, attempts }: VMDiskImageStatus, { retryLimit }: Policy): Attempt | undefined {
  const last = attempts?.findLast(({ outcome }) => outcome === 'Failed')
  if (budget === undefined || budget.downloads === 0 || last === undefined) return undefined
  return isPermanent(last.reason) || budget.downloads > retryLimit ? last : undefined
}

/** Returns the status with the time of the next attempt. The current policy also applies to images that already wait or have failed. */
export function withRetryTime(status: VMDiskImageStatus, policy: Policy): VMDiskImageStatus {
  const { ticket, budget, attempts, nextRetryTime } = status
  const downloads = budget?.downloads ?? 0
  // An attempt that used no download has a wait too. Only its time in the status shows that.
  const isWaiting = ticket === undefined && (nextRetryTime !== undefined || downloads > 0)
  const last = attempts?.findLast(({ outcome, downloads }) => outcome === 'Failed' || downloads === 0)
  const endedAt = fromTime(last?.endedAt)
  if (!isWaiting || last === undefined || endedAt === undefined || finalAttempt(status, policy) !== undefined)
    return { ...status, nextRetryTime: undefined }
  const delayMs = retryDelay(Math.max(downloads, budget?.unstarted ?? 0), last.dataVolumeUID ?? '', policy)
  return { ...status, nextRetryTime: toTime(endedAt + delayMs) }
}

/** Returns the first wait, doubled for each further failed download or attempt in which nothing ran, up to the maximum. */
function retryDelay(failures: number, seed: string, { retryBackoffMs, retryBackoffMaxMs }: Policy): number {
  const longest = Math.max(retryBackoffMs, retryBackoffMaxMs)
  const step = Math.min(retryBackoffMs * 2 ** Math.min(Math.max(0, failures - 1), 30), longest)
  const [least, most] = [step * (1 - JITTER), Math.min(step * (1 + JITTER), longest)]
  // A hash spreads retries as well as random numbers do, and keeps the plan a pure function of its arguments.
  const spread = Number.parseInt(shortHash([seed]), 16) / 0xffff_ffff
  return least + (most - least) * spread
}
