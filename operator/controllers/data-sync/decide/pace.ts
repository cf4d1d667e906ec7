import type { DataSyncStatus } from '@open-terrain/constructs'
import { paceBetween, type StatusPace } from '../../../runtime/wake.ts'
import { isUnderWay } from './status.ts'

/** Hundreds of images may change together, so their DataSync writes its counts at a steady pace. */
const COUNTS_EVERY_MS = 2_000
const PROGRESS_EVERY_MS = 30_000

/**
 * Decides when a status is written: at once if the standing of the DataSync changed, every 2 s if the counts of images did, and every 30 s if only
 * the progress did. Between two downloads none may run for a moment, so Queued and Syncing alternate: this is treated as a change of counts.
 */
export function dataSyncPaceOf(before: DataSyncStatus, after: DataSyncStatus, sinceWriteMs?: number): StatusPace {
  const counted = (status: DataSyncStatus) => ({ ...status, progress: '' })
  const aspects = [[standing, 0] as const, [counted, COUNTS_EVERY_MS] as const]
  return paceBetween([before, after], aspects, PROGRESS_EVERY_MS, sinceWriteMs, 'how far the images are is written')
}

function standing({ phase, reason, observedGeneration, conditions = [] }: DataSyncStatus): unknown {
  const stand = isUnderWay(reason) ? ['under way'] : [phase, reason]
  return [...stand, observedGeneration, conditions.map(({ type, status }) => [type, status])]
}
