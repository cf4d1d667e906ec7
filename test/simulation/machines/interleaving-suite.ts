import fc from 'fast-check'
import { describe, it } from 'vitest'
import { describeViolations } from '../run.ts'
import { withoutDisturbances } from '../schedule.ts'
import { MACHINE_FAMILIES, type MachineFamily } from './machine-arbitraries.ts'
import { runMachines } from './machine-run.ts'

// Machines, images, guests, deletions, refreshes, crashes and a bad link in any order. A failure prints the seed, the path and the
// smallest schedule that was found; this runs it again, or any of them for longer:
//
//   SIMULATION_SEED=… SIMULATION_PATH=… npm run test:deep -- interleavings -t 'family machines$'
//   SIMULATION_SCALE=10 npm run test:deep -- interleavings

const SEED = Number(process.env['SIMULATION_SEED'] ?? 1)
const PATH = process.env['SIMULATION_PATH']

/** How many schedules of each kind make about a minute of CPU time together. */
const RUNS: Readonly<Record<MachineFamily, number>> = {
  machines: 20,
  machinesCalm: 10,
  machinesDisconnected: 10,
  machinesLagging: 10,
  machinesHanging: 10,
  machinesUprooted: 12,
}

/** @param scale so many times as many schedules of each family, and at least one */
export function interleavingSuite(scale: number): void {
  const parameters = (runs: number) => ({
    numRuns: Math.max(1, Math.round(runs * scale)),
    seed: SEED,
    ...(PATH !== undefined && { path: PATH }),
  })

  describe('nothing in use is deleted, nothing is kicked too often, nothing foreign is touched, and nothing leaks', () => {
    it.each(Object.entries(RUNS) as [MachineFamily, number][])(
      'in schedules of the family %s',
      async (family, runs) => {
        const property = fc.asyncProperty(MACHINE_FAMILIES[family], async (schedule) => {
          const { violations } = await runMachines(schedule)
          if (violations.length > 0) throw new Error(describeViolations(violations))
        })
        await fc.assert(property, parameters(runs))
      },
    )
  })

  describe('the end', () => {
    it('of machines and their children is the same as without crashes, bad links and lost events', async () => {
      const property = fc.asyncProperty(MACHINE_FAMILIES.machines, async (schedule) => {
        const disturbed = await runMachines(schedule, { isIdleChecked: false })
        const undisturbed = await runMachines(withoutDisturbances(schedule), { isIdleChecked: false })
        const violations = [...disturbed.violations, ...undisturbed.violations]
        if (violations.length > 0) throw new Error(describeViolations(violations))
        const [a, b] = [disturbed.outcome, undisturbed.outcome].map((outcome) => JSON.stringify([...outcome], null, 1))
        if (a !== b) throw new Error(`[7] with disturbances: ${a}\nwithout: ${b}`)
      })
      await fc.assert(property, parameters(10))
    })
  })
}
