import { isSame } from '../base/equality.ts'

/** When to requeue without a watch event. */
export interface Requeue {
  readonly afterMs: number
  /** What will be true then; for the log. */
  readonly because: string
}

/** Of what goes by the clock of the API server, while that is not known: see `ServerClock`. */
export const SERVER_TIME_REQUEUE: Requeue = {
  afterMs: 10_000,
  because: 'the time of the API server is known by then',
}

export function sooner(one: Requeue | undefined, other: Requeue): Requeue {
  return one !== undefined && one.afterMs <= other.afterMs ? one : other
}

/** Whether to write a status now and, if not, when to requeue. */
export interface StatusThrottle {
  readonly isStatusDue: boolean
  readonly requeue?: Requeue | undefined
}

/** A part of a status, and how long after the last status write a change of it is written, in milliseconds. */
type Aspect<S> = readonly [of: (status: S) => unknown, everyMs: number]

/** A status is due when the first aspect that differs is due, or else `otherwiseMs` after the last write. `because`: what is written then, for the log. */
export function throttleBetween<S>(
  [before, after]: readonly [S, S],
  aspects: readonly Aspect<S>[],
  otherwiseMs: number,
  sinceWriteMs: number | undefined,
  because: string,
): StatusThrottle {
  if (isSame(before, after)) return { isStatusDue: false }
  const changed = aspects.find(([of]) => !isSame(of(before), of(after)))
  const everyMs = changed?.[1] ?? otherwiseMs
  const leftMs = everyMs - (sinceWriteMs ?? everyMs)
  return leftMs <= 0 ? { isStatusDue: true } : { isStatusDue: false, requeue: { afterMs: leftMs, because } }
}
