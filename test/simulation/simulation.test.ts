import { describe, expect, it } from 'vitest'
import { runSchedule } from './run.ts'
import { QUICK_SCHEDULES, RUNS, scheduleSuite } from './schedule-suite.ts'
import { scheduleOf, storyOf } from './story.ts'
import { runStory } from './story-run.ts'

describe('every invariant holds', () => {
  scheduleSuite(RUNS, { scale: QUICK_SCHEDULES })
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
  // The snapshot controller can see a snapshot before it sees that its claim is bound, and reports that for a few milliseconds.
  it('writesLaggingTakeOvers:76: what a snapshot waits for is told as often as it takes', async () => {
    expect((await runStory(storyOf('writesLaggingTakeOvers:76'))).violations).toEqual([])
  })

  // Two DataSyncs that share an image write their requests to it at the same time: the second one must look again.
  it('dataSyncsLagging:14: a request reaches an image in one write', async () => {
    expect((await runStory(storyOf('dataSyncsLagging:14'))).violations).toEqual([])
  })

  // For 34 s the API server tells nothing new, so that CDI does not seem to act on its DataVolume.
  it('writesLagging:354949933: what the API server does not tell looks as if CDI did not act', async () => {
    expect((await runStory(storyOf('writesLagging:354949933'))).violations).toEqual([])
  })
})
