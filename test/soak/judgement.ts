import { leastSquares } from '../bench/statistics.ts'
import type { Lifetime, Sample } from './replicas.ts'

/** Until then a process fills its caches, leads for the first time, and V8 compiles what runs often. */
export const WARM_UP_MINUTES = 5
/** After that. In less the heap's moving to and fro looks like a slope of any steepness. */
export const LEAST_MINUTES = 15
/** What is promised of resident memory, and only many hours can show. */
export const MB_PER_HOUR = 1
/**
 * What memory may have grown in any time without a leak: V8 lets a heap of about 20 MB grow by 40 % before it collects
 * (operator/heap.ts), so two moments differ by up to this.
 */
export const TO_AND_FRO_MB = 8
/**
 * One for each of the 16 watches, and one that is just being closed; 24 for other requests and 2 for the Lease
 * (operator/main.ts); 6 for the metrics and the standard streams. A leak with each end of a watch passes it in two minutes.
 */
export const MOST_SOCKETS = 64

/** What a process gained after its warm-up, by the line of least squares. */
export interface Growth {
  readonly minutes: number
  readonly residentMb: number
  readonly heapMb: number
  /** The most that each of both may be in that time. */
  readonly allowedMb: number
}

/** Undefined where the process did not live long enough to say anything. */
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

/** What is wrong with memory and sockets: empty when nothing is, or nothing can be told. */
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
