import { describe, expect, it } from 'vitest'
import { runSchedule } from './run.ts'
import { scheduleSuite } from './schedule-suite.ts'
import { scheduleOf, storyOf } from './story.ts'
import { runStory } from './story-run.ts'

describe('every invariant holds', () => {
  scheduleSuite(0.1)
})

describe('a story', () => {
  it.each(['varied:12', 'disconnected:7'])('is the same when it is told again: %s', async (name) => {
    const schedule = scheduleOf(storyOf(name))
    const tell = async () => {
      const commits: string[] = []
      const { violations, events } = await runSchedule(schedule, {
        isIdleChecked: false,
        onCommit: ({ revision, type, actor, object }) =>
          commits.push(`${revision} ${type} by ${actor}: ${JSON.stringify(object)}`),
      })
      return { violations, events, commits }
    }
    const first = await tell()
    expect(first.events.size).toBeGreaterThan(3)
    expect(await tell()).toEqual(first)
  })
})

describe('what was found', () => {
  // Two DataSyncs that share an image bring their requests to it at the same time: the one that comes second has to look again.
  it('dataSyncsLagging:14: a request reaches an image in one write', async () => {
    expect((await runStory(storyOf('dataSyncsLagging:14'))).violations).toEqual([])
  })
})
