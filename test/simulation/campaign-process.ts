import { nameOf, type Story } from './story.ts'
import { runStory } from './story-run.ts'
import { type StoryResult, tallyOf } from './tally.ts'

// A child process of the campaign. Runs the stories that it receives, one after the other, and sends back their results.

process.on('disconnect', () => process.exit())
process.on('message', (story: Story) => {
  void resultOf(story).then((result) => process.send?.(result))
})

async function resultOf(story: Story): Promise<StoryResult> {
  try {
    const before = process.cpuUsage()
    const result = await runStory(story)
    const { user, system } = process.cpuUsage(before)
    const busyMs = (user + system) / 1_000
    return { story, tally: tallyOf(story, { result, busyMs }), violations: result.violations }
  } catch (error) {
    const message = `${nameOf(story)} did not end: ${error instanceof Error ? error.stack : String(error)}`
    return { story, tally: tallyOf(story), violations: [{ invariant: 0, message, atMs: 0 }] }
  }
}
