import type { Schedule } from './schedule.ts'

const PARTS = ['steps', 'images', 'dataSyncs', 'machines'] as const
type Part = (typeof PARTS)[number]

/** Whether a schedule breaks an invariant. */
type IsBroken = (schedule: Schedule) => Promise<boolean>

/**
 * Looks for a smaller schedule that breaks an invariant as well, for so many milliseconds at most: takes steps, images, DataSyncs and machines
 * away, first many at once, then fewer.
 */
export async function shrink(schedule: Schedule, isBroken: IsBroken, forMs: number): Promise<Schedule> {
  const deadline = performance.now() + forMs
  let smallest = schedule
  for (let isSmaller = true; isSmaller; ) {
    const before = smallest
    for (const part of PARTS) smallest = await shrinkPart(smallest, part, isBroken, deadline)
    isSmaller = smallest !== before && performance.now() < deadline
  }
  return smallest
}

async function shrinkPart(schedule: Schedule, part: Part, isBroken: IsBroken, deadline: number): Promise<Schedule> {
  let smallest = schedule
  for (let size = Math.ceil(countOf(schedule, part) / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < countOf(smallest, part) && performance.now() < deadline; ) {
      const candidate = without(smallest, part, from, size)
      if (isAboutSomething(candidate) && (await isBroken(candidate))) smallest = candidate
      else from += size
    }
  }
  return smallest
}

/** The steps after those that are taken away stay when they were. */
function without(schedule: Schedule, part: Part, from: number, count: number): Schedule {
  if (part !== 'steps') return { ...schedule, [part]: schedule[part]?.toSpliced(from, count) }
  const gone = schedule.steps.slice(from, from + count).reduce((ms, { afterMs }) => ms + afterMs, 0)
  const steps = schedule.steps.toSpliced(from, count)
  return {
    ...schedule,
    steps: steps.map((step, at) => (at === from ? { ...step, afterMs: step.afterMs + gone } : step)),
  }
}

function countOf(schedule: Schedule, part: Part): number {
  return schedule[part]?.length ?? 0
}

/** Steps name objects by numbers: of each kind that there is to be one is left. */
function isAboutSomething({ images, dataSyncs, machines }: Schedule): boolean {
  const named = [dataSyncs, machines].filter((plans) => plans !== undefined)
  return (named.length === 0 ? [images] : named).every((plans) => plans.length > 0)
}
