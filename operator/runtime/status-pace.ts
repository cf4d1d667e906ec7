import { isSame } from './owned-fields.ts'
import type { Wake } from './wake.ts'

/** Whether a status is written now, and when to look again where it is not. */
export interface StatusPace {
  readonly isStatusDue: boolean
  readonly wake?: Wake | undefined
}

/** Something that a status tells, and how often it is written, in milliseconds. */
type Aspect<S> = readonly [of: (status: S) => unknown, everyMs: number]

/**
 * A status is written when the first aspect in which it differs is due; what is in none of them is written every `otherwiseMs`.
 * @param because says what is written when the time has come
 */
export function paceBetween<S>(
  [before, after]: readonly [S, S],
  aspects: readonly Aspect<S>[],
  otherwiseMs: number,
  sinceWriteMs: number | undefined,
  because: string,
): StatusPace {
  if (isSame(before, after)) return { isStatusDue: false }
  const changed = aspects.find(([of]) => !isSame(of(before), of(after)))
  const everyMs = changed?.[1] ?? otherwiseMs
  const leftMs = everyMs - (sinceWriteMs ?? everyMs)
  return leftMs <= 0 ? { isStatusDue: true } : { isStatusDue: false, wake: { afterMs: leftMs, because } }
}
