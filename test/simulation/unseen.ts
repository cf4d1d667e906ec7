import { SECOND } from '../../operator/runtime/times.fixtures.ts'
import type { Action, Schedule } from './schedule.ts'

/** Somebody deletes the first object of a kind, and from `frozenAfterMs` later on nobody tells the operator of those to come: only a live look finds them. */
export function unseenAfter(deletion: Action, kind: string, frozenAfterMs: number): Schedule['steps'] {
  return [
    { afterMs: 30 * SECOND, action: deletion },
    {
      afterMs: frozenAfterMs,
      action: { do: 'watchFaults', fault: 'frozen', percent: 100, forMs: 90 * SECOND, kind },
    },
    { afterMs: 100 * SECOND, action: { do: 'compact' } },
  ]
}
