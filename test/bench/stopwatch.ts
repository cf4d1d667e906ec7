import { systemClock } from '../../operator/runtime/clock.ts'

/** Started by the call; tells the seconds since, each time it is asked. */
export function stopwatch(): () => number {
  const startedAt = systemClock.monotonic()
  return () => (systemClock.monotonic() - startedAt) / 1_000
}
