import { leastSquares } from '../bench/statistics.ts'
import type { Lifetime, Sample } from './replicas.ts'

/**
 * In this time a process fills its caches and leads for the first time, V8 compiles hot code, and malloc's arenas come to
 * their size. After 5 minutes of this load that still goes on: resident memory grows by 5 to 10 MB more, and the heap by half
 * of that. The limit that we promise is for the time after the first hour.
 */
export const WARM_UP_MINUTES = 20
/** The minimum after that. In a shorter time, the fluctuation of the heap can look like any slope. */
export const LEAST_MINUTES = 15
/** The limit that we promise for resident memory. Only many hours can show it. */
export const MB_PER_HOUR = 1
/**
 * How much memory may grow in any time without a leak: V8 lets a heap of about 20 MB grow by 40 % before it collects
 * (operator/node-flags.ts), so two samples may differ by this much.
 */
export const TO_AND_FRO_MB = 8
/** Of one process of the soak, which has no Workspaces: 12 of the cluster's kinds, 4 of ours, 2 of KubeVirt, and the policy. */
export const WATCHES = 19
/**
 * One for each watch, and one that is just being closed; 24 for other requests and 2 for the Lease
 * (operator/main.ts); 6 for the metrics and the standard streams. A leak with each end of a watch passes it in two minutes.
 */
export const MOST_SOCKETS = 2 * WATCHES + 24 + 2 + 6

/** The growth of a process after its warm-up, by the line of least squares. */
export interface Growth {
  readonly minutes: number
  readonly residentMb: number
  readonly heapMb: number
  /** Upper limit of each of the two in that time. */
  readonly allowedMb: number
}

/** Undefined if the process did not live long enough. */
export function growthOf({ samples }: Lifetime): Growth | undefined {
  const warm = samples.filter(({ minutes }) => minutes >= WARM_UP_MINUTES)
  const minutes = (warm.at(-1)?.minutes ?? 0) - (warm[0]?.minutes ?? 0)
  if (minutes < LEAST_MINUTES) return undefined
  const growth = (of: (sample: Sample) => number) =>
    minutes * leastSquares(warm.map((sample) => ({ x: sample.minutes, y: of(sample) }))).slope
  return {
    minutes,
    residentMb: growth(({ residentMb }) => residentMb),
    heapMb: growth(({ heapMb }) => heapMb),
    allowedMb: TO_AND_FRO_MB + (MB_PER_HOUR * minutes) / 60,
  }
}

/** Findings about memory and sockets. Empty if there are none, or if the processes did not live long enough. */
export function leaksIn(lifetimes: readonly Lifetime[]): string[] {
  return lifetimes.flatMap((lifetime) => [...memoryLeaks(lifetime), ...socketLeaks(lifetime)])
}

function memoryLeaks(lifetime: Lifetime): string[] {
  const growth = growthOf(lifetime)
  if (growth === undefined) return []
  const { minutes, allowedMb } = growth
  const grown = [['resident memory', growth.residentMb] as const, ['heap', growth.heapMb] as const]
  return grown
    .filter(([, mb]) => mb > allowedMb)
    .map(([what, mb]) => {
      return `${lifetime.name}: ${what} grew by ${mb.toFixed(1)} MB in ${minutes.toFixed(0)} min, at most ${allowedMb.toFixed(1)} are no leak`
    })
}

function socketLeaks({ name, samples }: Lifetime): string[] {
  const most = Math.max(0, ...samples.map(({ sockets }) => sockets))
  return most > MOST_SOCKETS ? [`${name}: ${most} sockets were open, at most ${MOST_SOCKETS} have a purpose`] : []
}
