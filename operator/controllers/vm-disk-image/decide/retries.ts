import { type Attempt, type Policy, shortHash, type VMDiskImageStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { isPermanent } from './judge.ts'

/**
 * Decides whether and when a failed image is retried. Both follow from the attempts in its status and from the current policy: a policy
 * change also applies to images that already wait or have failed.
 */

const JITTER = 0.1

/** Returns the attempt that ended all attempts: a retry cannot fix it, or the policy allows no more. Undefined while one is left. */
export function finalAttempt({ budget, attempts }: VMDiskImageStatus, { retryLimit }: Policy): Attempt | undefined {
  const last = attempts?.findLast(({ outcome }) => outcome === 'Failed')
  if (budget === undefined || budget.downloads === 0 || last === undefined) return undefined
  return isPermanent(last.reason) || budget.downloads > retryLimit ? last : undefined
}

/** Returns the status with the time of the next attempt by this policy. No time if there is nothing to wait for, or no attempt is left. */
export function withRetryTime(status: VMDiskImageStatus, policy: Policy): VMDiskImageStatus {
  const dueAt = finalAttempt(status, policy) === undefined ? retryDueAt(status, policy) : undefined
  return { ...status, nextRetryTime: dueAt === undefined ? undefined : toTime(dueAt) }
}

/** Counts from the end of the last attempt. Undefined for an image that has its place in the queue, or did not fail. */
function retryDueAt(status: VMDiskImageStatus, policy: Policy): number | undefined {
  const { ticket, nextRetryTime, budget, attempts } = status
  const downloads = budget?.downloads ?? 0
  // An attempt that used no download has a wait too. Only its time in the status shows that.
  const isWaiting = ticket === undefined && (nextRetryTime !== undefined || downloads > 0)
  const last = attempts?.findLast(({ outcome, downloads }) => outcome === 'Failed' || downloads === 0)
  const endedAt = fromTime(last?.endedAt)
  if (!isWaiting || last === undefined || endedAt === undefined) return undefined
  return endedAt + retryDelay(Math.max(downloads, budget?.unstarted ?? 0), last.dataVolumeUID ?? '', policy)
}

/** Returns the first wait, doubled for each further failed download or attempt in which nothing ran, give or take 10%, up to the maximum. */
function retryDelay(failures: number, seed: string, { retryBackoffMs, retryBackoffMaxMs }: Policy): number {
  const longest = Math.max(retryBackoffMs, retryBackoffMaxMs)
  const step = Math.min(retryBackoffMs * 2 ** Math.min(Math.max(0, failures - 1), 30), longest)
  const [least, most] = [step * (1 - JITTER), Math.min(step * (1 + JITTER), longest)]
  // A hash spreads retries as well as random numbers do, and keeps the plan a pure function of its arguments.
  const spread = Number.parseInt(shortHash([seed]), 16) / 0xffff_ffff
  return least + (most - least) * spread
}
