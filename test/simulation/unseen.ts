import { SECOND } from '../prepared/runtime/times.ts'
import type { Action, Schedule } from './schedule.ts'

/** Somebody deletes the first object of a kind. From `frozenAfterMs` later on, no watch event reports new ones: only a live read finds them. */
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
