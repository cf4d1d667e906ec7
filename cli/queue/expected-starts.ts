/** Fewer attempts than these say nothing of the next one. */
export const ATTEMPTS_MIN = 5

/** A download that has a slot. */
interface Running {
  /** If it goes on as until now. Undefined: nothing is known of its progress. */
  readonly secondsLeft?: number | undefined
  /** Since its download began. Undefined: it has not, as far as is known. */
  readonly secondsSoFar?: number | undefined
}

interface QueueNow {
  /** How many wait for a slot alone. */
  readonly waiting: number
  /** Slots that there are. */
  readonly limit: number
  readonly running: readonly Running[]
  /** How long attempts to download took, in seconds, whatever became of them. */
  readonly durations: readonly number[]
}

/**
 * Returns in how many seconds each of those who wait gets a slot, the next one first, if each download takes as long as those before it did on average.
 * Empty if that cannot be told: too few attempts were seen, or no slot is ever free.
 */
export function expectedStarts({ waiting, limit, running, durations }: QueueNow): readonly number[] {
  if (limit < 1 || durations.length < ATTEMPTS_MIN) return []
  const mean = durations.reduce((sum, one) => sum + one, 0) / durations.length
  const ends = running.map(({ secondsLeft, secondsSoFar = 0 }) => secondsLeft ?? Math.max(0, mean - secondsSoFar))
  // Of more downloads than slots, the first that end free none.
  const free = ends.toSorted((one, other) => one - other).slice(Math.max(0, running.length - limit))
  const unused = Array.from({ length: Math.max(0, limit - running.length) }, () => 0)
  const known = [...unused, ...free]
  const starts: number[] = []
  // What starts later ends later: so two lines in order are enough, what runs now, and what will.
  for (let [now, later] = [0, 0]; starts.length < waiting; ) {
    const [soonest = Number.POSITIVE_INFINITY, next = Number.POSITIVE_INFINITY] = [known[now], starts[later]]
    if (soonest <= next + mean) now++
    else later++
    starts.push(Math.min(soonest, next + mean))
  }
  return starts.map(Math.round)
}
