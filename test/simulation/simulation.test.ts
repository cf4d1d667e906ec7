import fc from 'fast-check'
import { describe, it } from 'vitest'
import { FAMILIES, type Family } from './arbitraries.ts'
import { describeViolations, runSchedule } from './run.ts'
import { withoutDisturbances } from './schedule.ts'

// Random schedules through the real operator and the real simulators, in the deterministic cluster. A failure prints the
// seed, the path and the smallest schedule that was found; this runs it again, or any of them for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… npm test -- --project simulation simulation.test -t 'family varied'
//   SIMULATION_SCALE=10 npm test -- --project simulation simulation.test
//
// Without a seed it is always the same schedules, so that a change is judged by what it does. New ones each time are what
// `npm run simulate` is for.

const SCALE = Number(process.env['SIMULATION_SCALE'] ?? 1)
const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const PATH = process.env['SIMULATION_PATH']

const LONGEST_MS = 200_000 * Math.max(1, SCALE)
const TIMEOUT_MS = LONGEST_MS + 100_000

/** How many schedules of each kind make about two minutes of CPU time together. */
const RUNS: Readonly<Record<Family, number>> = {
  varied: 120,
  undisturbed: 40,
  curators: 30,
  unattended: 40,
  disconnected: 60,
  rush: 20,
  delayed: 60,
  crowded: 1,
}

const parameters = (runs: number) => ({
  numRuns: Math.max(1, Math.round(runs * SCALE)),
  seed: SEED,
  ...(PATH !== undefined && { path: PATH }),
  // On a slow machine fewer schedules run; shrinking one that fails ends then, too.
  interruptAfterTimeLimit: LONGEST_MS,
})

describe('every invariant holds', () => {
  it.each(Object.entries(RUNS) as [Family, number][])(
    'in schedules of the family %s',
    async (family, runs) => {
      const property = fc.asyncProperty(FAMILIES[family], async (schedule) => {
        const { violations } = await runSchedule(schedule, { isIdleChecked: family !== 'crowded' })
        if (violations.length > 0) throw new Error(describeViolations(violations))
      })
      await fc.assert(property, parameters(runs))
    },
    TIMEOUT_MS,
  )
})

describe('the end', () => {
  it(
    'is the same as without crashes, bad links and lost events',
    async () => {
      const property = fc.asyncProperty(FAMILIES.varied, async (schedule) => {
        const disturbed = await runSchedule(schedule, { isIdleChecked: false })
        const undisturbed = await runSchedule(withoutDisturbances(schedule), { isIdleChecked: false })
        const violations = [...disturbed.violations, ...undisturbed.violations]
        if (violations.length > 0) throw new Error(describeViolations(violations))
        const [a, b] = [disturbed.outcome, undisturbed.outcome].map((outcome) => JSON.stringify([...outcome], null, 1))
        if (a !== b) throw new Error(`[7] with disturbances: ${a}\nwithout: ${b}`)
      })
      await fc.assert(property, parameters(30))
    },
    TIMEOUT_MS,
  )
})
