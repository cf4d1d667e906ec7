import { runGate } from './gate/gate-run.ts'
import { gateStory } from './gate/gate-story.ts'
import { type RunResult, runSchedule } from './run.ts'
import type { Schedule } from './schedule.ts'
import { type HowToRun, howToRun, isOfGate, isOfTenants, type Story, scheduleOf } from './story.ts'
import { runTenants } from './tenants/tenant-run.ts'
import { compareEnds, compareWrites } from './twice.ts'

/** The result that all kinds of stories have. */
export type StoryRun = Pick<RunResult, 'violations' | 'counts' | 'events' | 'elapsedMs'>

export async function runStory(story: Story): Promise<StoryRun> {
  if (isOfGate(story)) return await runGate(gateStory(story.kind, story.seed))
  if (isOfTenants(story)) return await runTenants(story.seed)
  return await runWhole(scheduleOf(story), howToRun(story))
}

/** Runs a schedule of the whole operator. */
export async function runWhole(schedule: Schedule, how: HowToRun): Promise<StoryRun> {
  switch (how) {
    case 'inFull':
      return await runSchedule(schedule)
    case 'briefly':
      return await runSchedule(schedule, { isIdleChecked: false })
    case 'comparingEnds':
      return await compareEnds(schedule)
    case 'comparingWrites':
      return await compareWrites(schedule)
  }
}
