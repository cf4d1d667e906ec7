/** Exponential back-off with jitter: a random delay from half of the step up to the step, so that retries of many objects do not coincide. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number): number {
  const step = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30))
  return step * (0.5 + random() / 2)
}
