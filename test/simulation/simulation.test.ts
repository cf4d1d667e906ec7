import fc from 'fast-check'
import { describe, it } from 'vitest'
import { FAMILIES, type Family } from './arbitraries.ts'
import { describeViolations, runSchedule } from './run.ts'
import { withoutDisturbances } from './schedule.ts'

// Random schedules through the real operator and the real simulators, in the deterministic cluster. A failure tells a
// seed and a path; run again with them, or for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… SIMULATION_SCALE=10 npx vitest run --project simulation
//
// Without a seed each run has its own.

const SCALE = Number(process.env['SIMULATION_SCALE'] ?? 1)
const SEED = process.env['SIMULATION_SEED']
const PATH = process.env['SIMULATION_PATH']

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
  ...(SEED !== undefined && { seed: Number(SEED) }),
  ...(PATH !== undefined && { path: PATH }),
  // Shrinking is worth minutes, not hours.
  interruptAfterTimeLimit: 500_000 * SCALE,
})

describe('every invariant holds', () => {
  it.each(Object.entries(RUNS) as [Family, number][])('in schedules of the family %s', async (family, runs) => {
    const property = fc.asyncProperty(FAMILIES[family], async (schedule) => {
      const { violations } = await runSchedule(schedule, { isIdleChecked: family !== 'crowded' })
      if (violations.length > 0) throw new Error(describeViolations(violations))
    })
    await fc.assert(property, parameters(runs))
  })
})

describe('the end', () => {
  it('is the same as without crashes, bad links and lost events', async () => {
    const property = fc.asyncProperty(FAMILIES.varied, async (schedule) => {
      const disturbed = await runSchedule(schedule, { isIdleChecked: false })
      const undisturbed = await runSchedule(withoutDisturbances(schedule), { isIdleChecked: false })
      const violations = [...disturbed.violations, ...undisturbed.violations]
      if (violations.length > 0) throw new Error(describeViolations(violations))
      const [a, b] = [disturbed.outcome, undisturbed.outcome].map((outcome) => JSON.stringify([...outcome], null, 1))
      if (a !== b) throw new Error(`[7] with disturbances: ${a}\nwithout: ${b}`)
    })
    await fc.assert(property, parameters(30))
  })
})
