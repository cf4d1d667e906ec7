import { describe } from 'vitest'
import { RUNS, scheduleSuite } from './schedule-suite.ts'

describe('every invariant holds', () => {
  scheduleSuite(Number(process.env['SIMULATION_SCALE'] ?? 0.3), RUNS)
})
