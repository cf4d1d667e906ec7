import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { describeViolations, runSchedule } from './run.ts'
import { scheduleOf, storyOf, WHOLE_KINDS, type WholeKind } from './story.ts'
import { runWhole } from './story-run.ts'

// Random schedules through the real operator and the real simulators, in the deterministic cluster. A failure prints the
// seed, the path and the smallest schedule that was found; this runs it again, or any of them for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… npm test -- --project simulation simulation.test -t 'kind varied'
//   SIMULATION_SCALE=10 npm test -- --project simulation simulation.test
//
// Without a seed it is always the same schedules, so that a change is judged by what it does. New ones each time are what
// `npm run simulate` is for.

const SCALE = Number(process.env['SIMULATION_SCALE'] ?? 1)
const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const PATH = process.env['SIMULATION_PATH']

const LONGEST_MS = 200_000 * Math.max(1, SCALE)
const TIMEOUT_MS = LONGEST_MS + 100_000

/** How many schedules of each kind make about three minutes of CPU time together. */
const RUNS: Partial<Readonly<Record<WholeKind, number>>> = {
  varied: 120,
  undisturbed: 40,
  curators: 30,
  unattended: 40,
  disconnected: 60,
  lagging: 40,
  rush: 20,
  delayed: 60,
  crowded: 1,
  endsVaried: 30,
  endsUnattended: 20,
  endsDisconnected: 20,
  endsLagging: 10,
  writesVaried: 20,
  writesUnattended: 20,
  writesDisconnected: 20,
  writesLagging: 15,
  writesRush: 10,
  writesDelayed: 20,
  writesTakeOvers: 10,
  writesLaggingTakeOvers: 10,
}

describe('every invariant holds', () => {
  it.each(Object.entries(RUNS) as [WholeKind, number][])(
    'in schedules of the kind %s',
    async (kind, usual) => {
      const { schedules, run } = WHOLE_KINDS[kind]
      const runs = Math.max(1, Math.round(usual * SCALE))
      let ended = 0
      const property = fc.asyncProperty(schedules, async (schedule) => {
        const { violations } = await runWhole(schedule, run)
        if (violations.length > 0) throw new Error(describeViolations(violations))
        ended += 1
      })
      await fc.assert(property, {
        numRuns: runs,
        seed: SEED,
        ...(PATH !== undefined && { path: PATH }),
        // On a slow machine fewer schedules run; shrinking one that fails ends then, too.
        interruptAfterTimeLimit: LONGEST_MS,
      })
      // fast-check is content with a single one. A path leads to one alone.
      if (PATH === undefined) expect(ended).toBeGreaterThanOrEqual(runs / 2)
    },
    TIMEOUT_MS,
  )
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
