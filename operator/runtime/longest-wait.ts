import { fromTime, type StatusCondition } from './conditions.ts'

/** An object with a phase, as far as its wait goes. */
export interface Waiter {
  readonly metadata?: {
    readonly creationTimestamp?: string | undefined
    readonly deletionTimestamp?: string | undefined
  }
  readonly status?: {
    readonly phase?: string | undefined
    readonly conditions?: readonly Pick<StatusCondition, 'type' | 'status' | 'lastTransitionTime'>[] | undefined
  }
}

/**
 * For how many seconds the object that has waited longest has not been ready; 0 where none waits. One waits while it is `Provisioning`: one that has come to
 * an end, or is being deleted, does not.
 */
export function longestWaitSeconds(objects: Iterable<Waiter>, now: number): number {
  let longest = 0
  for (const object of objects) longest = Math.max(longest, now - (waitsSince(object) ?? now))
  return longest / 1_000
}

function waitsSince({ metadata, status }: Waiter): number | undefined {
  const { phase = 'Provisioning', conditions = [] } = status ?? {}
  if (phase !== 'Provisioning' || metadata?.deletionTimestamp !== undefined) return undefined
  const ready = conditions.find(({ type }) => type === 'Ready')
  return (
    fromTime(ready?.status === 'True' ? undefined : ready?.lastTransitionTime) ?? fromTime(metadata?.creationTimestamp)
  )
}
