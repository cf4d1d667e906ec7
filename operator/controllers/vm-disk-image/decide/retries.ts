import { type Attempt, type Policy, shortHash, type VMDiskImageStatus } from '@open-terrain/constructs'
import { fromTime, toTime } from '../../../runtime/conditions.ts'
import { isPermanent } from './judge.ts'

/**
 * When a failed image is tried again, and when it is not. Both follow from what the status says of its attempts and from the policy
 * as it is now: a change of the policy changes them for the images that wait, and that have failed, already.
 */

const JITTER = 0.1

/** The attempt that ended all attempts: no retry can mend it, or the policy allows no more. Undefined while one is left. */
export function finalAttempt({ budget, attempts }: VMDiskImageStatus, { retryLimit }: Policy): Attempt | undefined {
  const last = attempts?.findLast(({ outcome }) => outcome === 'Failed')
  if (budget === undefined || budget.downloads === 0 || last === undefined) return undefined
  return isPermanent(last.reason) || budget.downloads > retryLimit ? last : undefined
}

/** The same status, with the time of the next attempt by this policy. None where nothing has to be waited for, or no attempt is left. */
export function withRetryTime(status: VMDiskImageStatus, policy: Policy): VMDiskImageStatus {
  const dueAt = finalAttempt(status, policy) === undefined ? retryDueAt(status, policy) : undefined
  return { ...status, nextRetryTime: dueAt === undefined ? undefined : toTime(dueAt) }
}

/** Counted from the end of the last attempt. Undefined for an image that has its place in the queue, or did not fail. */
function retryDueAt(status: VMDiskImageStatus, policy: Policy): number | undefined {
  const { ticket, nextRetryTime, budget, attempts } = status
  const downloads = budget?.downloads ?? 0
  // One that cost nothing is waited out too. That it is, its time in the status tells alone.
  const isWaiting = ticket === undefined && (nextRetryTime !== undefined || downloads > 0)
  const last = attempts?.findLast(({ outcome, downloads }) => outcome === 'Failed' || downloads === 0)
  const endedAt = fromTime(last?.endedAt)
  if (!isWaiting || last === undefined || endedAt === undefined) return undefined
  return endedAt + retryDelay(Math.max(downloads, budget?.unstarted ?? 0), last.dataVolumeUID ?? '', policy)
}

/** The first wait, doubled for each further failed download, or attempt in which nothing ran, give or take a tenth, and never longer than the longest one. */
function retryDelay(failures: number, seed: string, { retryBackoffMs, retryBackoffMaxMs }: Policy): number {
  const longest = Math.max(retryBackoffMs, retryBackoffMaxMs)
  const step = Math.min(retryBackoffMs * 2 ** Math.min(Math.max(0, failures - 1), 30), longest)
  const [least, most] = [step * (1 - JITTER), Math.min(step * (1 + JITTER), longest)]
  // A hash spreads retries as well as chance does, and keeps a plan a function of what it is given.
  const spread = Number.parseInt(shortHash([seed]), 16) / 0xffff_ffff
  return least + (most - least) * spread
}
