import { systemClock } from '../../operator/base/clock.ts'

/** Starts now. The returned function returns the seconds since then. */
export function stopwatch(): () => number {
  const startedAt = systemClock.monotonic()
  return () => (systemClock.monotonic() - startedAt) / 1_000
}
