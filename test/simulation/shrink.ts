import type { Schedule } from './schedule.ts'

const PARTS = ['steps', 'images', 'dataSyncs', 'machines', 'sources', 'points', 'workspaces'] as const
type Part = (typeof PARTS)[number]

/** Reports whether a schedule breaks an invariant. */
type IsBroken = (schedule: Schedule) => Promise<boolean>

/**
 * Looks for a smaller schedule that also breaks an invariant, for at most `forMs` milliseconds. Removes steps and
 * objects of each kind, first many at once, then fewer.
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
      if (isAboutSomething(candidate, part) && (await isBroken(candidate))) smallest = candidate
      else from += size
    }
  }
  return smallest
}

/** Steps after the removed ones keep their times. */
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

/** Steps name objects by number: one of each kind must be left. All images may go where the schedule has something else. */
function isAboutSomething(schedule: Schedule, part: Part): boolean {
  const needed = part === 'images' ? (['images', 'dataSyncs', 'machines', 'workspaces'] as const) : [part]
  return part === 'steps' || needed.some((one) => countOf(schedule, one) > 0)
}
