import type { Schedule } from './schedule.ts'

/** Whether a schedule breaks an invariant. */
type IsBroken = (schedule: Schedule) => Promise<boolean>

/**
 * Looks for a smaller schedule that breaks an invariant as well, for so many milliseconds at most: takes steps and images
 * away, first many at once, then fewer.
 */
export async function shrink(schedule: Schedule, isBroken: IsBroken, forMs: number): Promise<Schedule> {
  const deadline = performance.now() + forMs
  let smallest = schedule
  for (let isSmaller = true; isSmaller; ) {
    const before = smallest
    for (const part of ['steps', 'images'] as const) smallest = await shrinkPart(smallest, part, isBroken, deadline)
    isSmaller = smallest !== before && performance.now() < deadline
  }
  return smallest
}

async function shrinkPart(
  schedule: Schedule,
  part: 'steps' | 'images',
  isBroken: IsBroken,
  deadline: number,
): Promise<Schedule> {
  let smallest = schedule
  for (let size = Math.ceil(schedule[part].length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < smallest[part].length && performance.now() < deadline; ) {
      const candidate = without(smallest, part, from, size)
      if (candidate.images.length > 0 && (await isBroken(candidate))) smallest = candidate
      else from += size
    }
  }
  return smallest
}

/** The steps after those that are taken away stay when they were. */
function without(schedule: Schedule, part: 'steps' | 'images', from: number, count: number): Schedule {
  if (part === 'images') return { ...schedule, images: schedule.images.toSpliced(from, count) }
  const gone = schedule.steps.slice(from, from + count).reduce((ms, { afterMs }) => ms + afterMs, 0)
  const steps = schedule.steps.toSpliced(from, count)
  return {
    ...schedule,
    steps: steps.map((step, at) => (at === from ? { ...step, afterMs: step.afterMs + gone } : step)),
  }
}
