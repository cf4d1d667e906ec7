import { runSchedule } from './run.ts'
import { nameOf, type Story, scheduleOf } from './story.ts'
import { type StoryResult, tallyOf } from './tally.ts'

// A child process of the campaign: runs the stories that it is told of, one after the other, and tells what came of them.

process.on('disconnect', () => process.exit())
process.on('message', (story: Story) => {
  void resultOf(story).then((result) => process.send?.(result))
})

async function resultOf(story: Story): Promise<StoryResult> {
  try {
    // Crowds are for admissions: the quiet after them is as the quiet after any other schedule.
    const isIdleChecked = !story.kind.startsWith('crowd')
    const result = await runSchedule(scheduleOf(story), { isIdleChecked })
    return { story, tally: tallyOf(story, result), violations: result.violations }
  } catch (error) {
    const message = `${nameOf(story)} did not end: ${error instanceof Error ? error.stack : String(error)}`
    return { story, tally: tallyOf(story), violations: [{ invariant: 0, message, atMs: 0 }] }
  }
}
