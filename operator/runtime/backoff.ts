/** Exponential back-off with full jitter: spread evenly over (half of the step, the step], so that retries of many do not meet. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number): number {
  const step = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30))
  return step * (0.5 + random() / 2)
}
