import fc from 'fast-check'
import { it } from 'vitest'
import { describeViolations } from './run.ts'
import { WHOLE_KINDS, type WholeKind } from './story.ts'
import { runWhole } from './story-run.ts'

// Random schedules through the real operator and the real simulators, in the deterministic cluster. A failure prints the
// seed, the path and the smallest schedule that was found; this runs it again, or any of them for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… npm run test:deep -- simulation.deep -t 'kind varied'
//   SIMULATION_SCALE=10 npm run test:deep -- simulation.deep
//
// Without a seed it is always the same schedules, so that a change is judged by what it does. New ones each time are what
// `npm run simulate` is for.

const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const PATH = process.env['SIMULATION_PATH']

type Runs = Partial<Readonly<Record<WholeKind, number>>>

/** How many schedules of each kind make about three minutes of CPU time together. */
export const RUNS: Runs = {
  varied: 120,
  undisturbed: 40,
  curators: 30,
  unattended: 40,
  outages: 40,
  disconnected: 60,
  lagging: 40,
  dataSyncs: 30,
  dataSyncsCalm: 10,
  dataSyncsDisconnected: 15,
  dataSyncsLagging: 15,
  endsDataSyncs: 10,
  endsDataSyncsLagging: 5,
  workspaces: 20,
  workspacesCalm: 10,
  workspacesDisconnected: 10,
  workspacesLagging: 10,
  workspacesHanging: 10,
  sharedWorkspaces: 10,
  endsWorkspaces: 10,
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

/** Attempts to find a smaller schedule than one that failed: each takes a second, and without an end they would take hours. */
const SHRINKS = 100

/** @param scale so many times as many schedules of each kind, and at least one */
export function scheduleSuite(scale: number, runs: Runs): void {
  it.each(Object.entries(runs) as [WholeKind, number][])('in schedules of the kind %s', async (kind, usual) => {
    const { schedules, run } = WHOLE_KINDS[kind]
    let shrinksLeft = Number.POSITIVE_INFINITY
    const property = fc.asyncProperty(schedules, async (schedule) => {
      if (shrinksLeft === 0) return
      shrinksLeft -= 1
      const { violations } = await runWhole(schedule, run)
      if (violations.length === 0) return
      shrinksLeft = Math.min(shrinksLeft, SHRINKS)
      throw new Error(describeViolations(violations))
    })
    const numRuns = Math.max(1, Math.round(usual * scale))
    await fc.assert(property, { numRuns, seed: SEED, ...(PATH !== undefined && { path: PATH }) })
  })
}
