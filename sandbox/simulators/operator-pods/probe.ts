import { type Clock, sleep } from '../../../operator/base/clock.ts'
import type { ProbeSpec } from './template.ts'

/**
 * Probes as a kubelet does until `signal` aborts, and reports each change of the result: a change takes as many
 * opposite results in a row as the thresholds say. The first result is reported too.
 */
export async function probe(
  clock: Clock,
  spec: ProbeSpec,
  url: string,
  signal: AbortSignal,
  onVerdict: (isGood: boolean) => void,
): Promise<void> {
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = spec
  let verdict: boolean | undefined
  let last: boolean | undefined
  let row = 0
  if (initialDelaySeconds > 0) await pause(clock, initialDelaySeconds, signal)
  while (!signal.aborted) {
    const isGood = await answers(url, spec.timeoutSeconds ?? 1, signal)
    if (signal.aborted) return
    row = isGood === last ? row + 1 : 1
    last = isGood
    if (isGood !== verdict && row >= (isGood ? successThreshold : failureThreshold)) {
      verdict = isGood
      onVerdict(isGood)
    }
    await pause(clock, periodSeconds, signal)
  }
}

async function answers(url: string, timeoutSeconds: number, signal: AbortSignal): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutSeconds * 1_000)])
  return await fetch(url, { signal: limit }).then(
    async (response) => {
      await response.body?.cancel()
      return response.status < 400
    },
    () => false,
  )
}

async function pause(clock: Clock, seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, seconds * 1_000, signal).catch(() => undefined)
}
