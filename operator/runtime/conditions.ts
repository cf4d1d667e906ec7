import { redactUrls } from '../base/messages.ts'
import { toTime } from '../base/time.ts'

/** One condition of a status, as in every Kubernetes API. */
export interface StatusCondition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number | undefined
  /** RFC 3339. */
  readonly lastTransitionTime?: string | undefined
}

/** A condition without its times and its generation. */
export type NewCondition = Omit<StatusCondition, 'lastTransitionTime' | 'observedGeneration'>

/** Sets or replaces conditions. The transition time changes only with the status. Other conditions stay. */
export function mergeConditions(
  before: readonly StatusCondition[],
  wanted: readonly NewCondition[],
  generation: number | undefined,
  now: number,
): StatusCondition[] {
  const next = wanted.map((condition) => {
    const old = before.find(({ type }) => type === condition.type)
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : toTime(now)
    return { ...condition, ...(generation !== undefined && { observedGeneration: generation }), lastTransitionTime }
  })
  const kept = before.filter(({ type }) => !wanted.some((condition) => condition.type === type))
  return [...next, ...kept]
}

const MESSAGE_MAX = 4_000

/** Redacts and cuts a message for a status. The API server rejects a whole status if a message is longer. */
export function cutMessage(message: string): string {
  return redactUrls(message, MESSAGE_MAX)
}
