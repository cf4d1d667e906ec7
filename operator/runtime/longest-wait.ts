import { fromTime, type StatusCondition } from './conditions.ts'

/** The fields of an object with a phase that describe its wait. */
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
 * Returns for how many seconds the object that has waited longest has not been ready; 0 if none waits. An object waits while it is
 * `Provisioning`, unless it is being deleted.
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
