import fc from 'fast-check'
import { it } from 'vitest'
import { describeViolations } from './oracle/oracle.ts'
import { WHOLE_KINDS, type WholeKind } from './story.ts'
import { runWhole } from './story-run.ts'

// Runs random schedules on the real operator and the real simulators, in the deterministic cluster. A failure prints the
// seed, the path and the smallest schedule found. The first command runs it again, the second runs all kinds for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… npm run test:deep -- simulation.deep -t 'kind varied'
//   SIMULATION_SCALE=10 npm run test:deep -- simulation.deep
//
// Without a seed the schedules are always the same, so that only a change can make a difference. `npm run simulate` runs
// new ones each time.

const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const PATH = process.env['SIMULATION_PATH']

/** Whether somebody names what runs: then the quick tests have not run the beginning of it. */
export const isChosen = process.env['SIMULATION_SEED'] !== undefined || PATH !== undefined

type Runs = Partial<Readonly<Record<WholeKind, number>>>

/** Number of schedules of each kind at scale 1, which takes about ten minutes of CPU time. */
export const RUNS: Runs = {
  varied: 120,
  undisturbed: 40,
  curators: 30,
  unattended: 40,
  outages: 40,
  disconnected: 60,
  lagging: 40,
  adoptions: 20,
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
  workspacesPlayed: 20,
  workspacesPlayedCalm: 10,
  workspacesImpatient: 10,
  workspacesSharing: 15,
  workspacesRestored: 10,
  workspacesRestoredCalm: 5,
  workspacesPoints: 10,
  workspacesPointsCalm: 10,
  workspacesPointsRestored: 10,
  workspacesPointsRestoredCalm: 5,
  workspacesPointsLate: 5,
  workspacesPointsLateCalm: 5,
  workspacesReset: 10,
  workspacesResetCalm: 10,
  workspacesResetFull: 10,
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

/** Of `npm test`. */
export const QUICK_SCHEDULES = 0.025

/** Maximum number of attempts to shrink a schedule that failed: each takes a second, and without a maximum they would take hours. */
const SHRINKS = 100

export interface Scale {
  /** Factor for the number of schedules of each kind. */
  readonly scale: number
  /** The scale of the quick tests. Their schedules are the first of the same ones: only what comes after these runs. */
  readonly after?: number
}

export function scheduleSuite(runs: Runs, { scale, after }: Scale): void {
  // One of each kind at least.
  const numberOf = (usual: number, factor: number) => Math.max(1, Math.round(usual * factor))
  const wanted = Object.entries(runs).map(([kind, usual]) => ({
    kind: kind as WholeKind,
    numRuns: numberOf(usual, scale),
    skipped: after === undefined || isChosen ? 0 : numberOf(usual, after),
  }))
  const left = wanted.filter(({ numRuns, skipped }) => numRuns > skipped)
  it.each(left)('in schedules of the kind $kind', async ({ kind, numRuns, skipped }) => {
    const { schedules, run } = WHOLE_KINDS[kind]
    let begun = 0
    let shrinksLeft = Number.POSITIVE_INFINITY
    const property = fc.asyncProperty(schedules, async (schedule) => {
      begun += 1
      if (begun <= skipped || shrinksLeft === 0) return
      shrinksLeft -= 1
      const { violations } = await runWhole(schedule, run)
      if (violations.length === 0) return
      shrinksLeft = Math.min(shrinksLeft, SHRINKS)
      throw new Error(describeViolations(violations))
    })
    await fc.assert(property, { numRuns, seed: SEED, ...(PATH !== undefined && { path: PATH }) })
  })
}
