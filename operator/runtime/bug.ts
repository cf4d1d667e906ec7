import type { KubeObject } from '../kube/kube-object.ts'
import { cutMessage, mergeConditions, type StatusCondition } from './conditions.ts'
import { redactUrls } from './redact.ts'

/** Reason of the condition and of the Event. */
export const BUG_REASON = 'InternalError'

/** Returns the status of an object that cannot be planned because of a bug. What it reported before may still be true, so it is kept. */
export function statusWithBug(object: KubeObject, error: unknown, now: number) {
  const { status = {} } = object as { readonly status?: { readonly conditions?: readonly StatusCondition[] } }
  const text = redactUrls(error instanceof Error ? error.message : String(error))
  const message = cutMessage(`internal error in the operator: ${text}; see its log, and report it`)
  const stalled = { type: 'Stalled', status: 'True', reason: BUG_REASON, message } as const
  const { generation: observedGeneration } = object.metadata
  const conditions = mergeConditions(status.conditions ?? [], [stalled], observedGeneration, now)
  return {
    ...status,
    ...(observedGeneration !== undefined && { observedGeneration }),
    reason: BUG_REASON,
    message,
    conditions,
  }
}
