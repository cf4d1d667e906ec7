import type { Wake } from './wake.ts'

/** Whether a status is written now, and when to look again where it is not. */
export interface StatusPace {
  readonly isStatusDue: boolean
  readonly wake?: Wake | undefined
}

/** What moves all the time is written so often; `because` says what is written when the time has come. */
export function dueEvery(everyMs: number, sinceWriteMs: number | undefined, because: string): StatusPace {
  const leftMs = everyMs - (sinceWriteMs ?? everyMs)
  return leftMs <= 0 ? { isStatusDue: true } : { isStatusDue: false, wake: { afterMs: leftMs, because } }
}
