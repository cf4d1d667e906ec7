import { describe } from 'vitest'
import { QUICK_SCHEDULES, RUNS, scheduleSuite } from './schedule-suite.ts'

describe('every invariant holds', () => {
  scheduleSuite(RUNS, { scale: Number(process.env['SIMULATION_SCALE'] ?? 0.3), after: QUICK_SCHEDULES })
})
