import { runGate } from './gate/gate-run.ts'
import { gateStory } from './gate/gate-story.ts'
import { runMachines } from './machines/machine-run.ts'
import { type RunResult, runSchedule } from './run.ts'
import { isOfGate, isOfMachines, machineScheduleOf, type Story, scheduleOf } from './story.ts'

/** What all kinds of stories tell in the end. */
export type StoryRun = Pick<RunResult, 'violations' | 'counts' | 'events' | 'elapsedMs'>

export async function runStory(story: Story): Promise<StoryRun> {
  if (isOfGate(story)) return await runGate(gateStory(story.kind, story.seed))
  if (isOfMachines(story)) return await runMachines(machineScheduleOf(story))
  // Crowds are for admissions: the quiet after them is as the quiet after any other schedule.
  return await runSchedule(scheduleOf(story), { isIdleChecked: !story.kind.startsWith('crowd') })
}
