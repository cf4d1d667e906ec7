import {
  conditionsOf,
  cutMessage,
  type KindConditions,
  type Saying,
  type Sayings,
  type StatusCondition,
  saying,
} from './conditions.ts'

/** What users read of an object at a glance: its phase, the reason for it, and a message. */
export interface Summary<P extends string = string, R extends string = string> {
  readonly phase: P
  readonly reason: R
  readonly message: string
  /** The message without what changes by itself: progress, or the time of the next retry. Absent if nothing in it changes. */
  readonly steady?: string
}

/** Returns the message as it stays while nothing but time passes. */
export function steadyOf({ message, steady = message }: Pick<Summary, 'message' | 'steady'>): string {
  return steady
}

/** Returns the same summary with a text added to its message. */
export function withMore<S extends Pick<Summary, 'message' | 'steady'>>(summary: S, text: string): S {
  const { message, steady } = summary
  return { ...summary, message: message + text, ...(steady !== undefined && { steady: steady + text }) }
}

/** Whether an object is busy, needs intervention, or is done. */
interface Course {
  readonly isBusy: boolean
  /** It cannot continue without a change. */
  readonly isStalled: boolean
  /** The current spec causes no more changes by itself. */
  readonly isSettled: boolean
}

/** Returns the conditions that every kind has in addition to its own. All have the reason of the phase. */
export function courseConditions<Reason extends string>(
  { reason, message }: { readonly reason: Reason; readonly message: string },
  { isBusy, isStalled, isSettled }: Course,
): Readonly<Record<'Reconciling' | 'Stalled' | 'Settled', Saying<Reason>>> {
  return {
    Reconciling: saying(isBusy, { reason, message: isBusy ? message : '' }),
    Stalled: saying(isStalled, { reason, message: isStalled ? message : '' }),
    Settled: saying(isSettled, { reason, message: '' }),
  }
}

interface Subject {
  readonly metadata: { readonly generation?: number | undefined }
  /** As it is stored: only the transition times of its conditions matter. */
  readonly status: { readonly conditions?: readonly StatusCondition[] | undefined }
}

/** The conditions of a kind that has none but those of its phase. */
type EndRules = Readonly<Record<'Ready' | 'Reconciling' | 'Stalled' | 'Settled', KindConditions[string]>>

/** Returns the status, without its figures, of a kind that ends with the phase Succeeded or Failed. */
export function statusToTheEnd<S extends Summary>(
  rules: EndRules,
  { metadata: { generation }, status }: Subject,
  summary: S,
  now: number,
) {
  const phase: S['phase'] = summary.phase
  const reason: S['reason'] = summary.reason
  const why = { reason, message: cutMessage(summary.message) }
  const isSettled = phase === 'Succeeded' || phase === 'Failed'
  const said: Sayings<EndRules, S['reason']> = {
    Ready: saying(phase === 'Succeeded', why),
    ...courseConditions(why, { isBusy: !isSettled, isStalled: phase === 'Failed', isSettled }),
  }
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    ...why,
    conditions: conditionsOf(rules, said, status.conditions, { generation, now }),
  }
}

/** Adds a refusal to the message. Planned writes are retried; until they succeed, the message says why they fail. */
export function withRefusal<S extends Summary, R extends S['reason']>(
  summary: S,
  refusal: string | undefined,
  /** The phase of an object that only waits, and its reason after a refusal. */
  { phase, reason }: { readonly phase: S['phase']; readonly reason: R },
): S {
  if (refusal === undefined) return summary
  const explained = withMore(summary, `; the API server rejected the change: ${refusal}`)
  return summary.phase === phase ? { ...explained, reason } : explained
}

/** Returns the reason for the state of an object. */
export function reasonOf(status: {
  readonly conditions?: readonly Pick<StatusCondition, 'type' | 'reason'>[] | undefined
}): string | undefined {
  return status.conditions?.find(({ type }) => type === 'Reconciling')?.reason
}
