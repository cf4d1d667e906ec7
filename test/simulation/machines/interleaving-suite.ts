import { describe } from 'vitest'
import { type Scale, scheduleSuite } from '../schedule-suite.ts'

/** Number of schedules of each kind. Together they take about two minutes of CPU time. */
const RUNS = {
  machines: 20,
  machinesCalm: 10,
  machinesRestored: 10,
  machinesDisconnected: 10,
  machinesLagging: 10,
  machinesHanging: 10,
  machinesAlone: 10,
  machinesUprooted: 12,
  endsMachines: 10,
  shared: 20,
  sharedCalm: 10,
  sharedTakeOvers: 10,
} as const

/** Of `npm test`. */
export const QUICK_INTERLEAVINGS = 0.2

/** Machines, images shared with DataSyncs, guests, deletions, refreshes, crashes and a bad link in any order. */
export function interleavingSuite(scale: Scale): void {
  describe('every invariant holds', () => {
    scheduleSuite(RUNS, scale)
  })
}
