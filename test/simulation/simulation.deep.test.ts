import { describe } from 'vitest'
import { scheduleSuite } from './schedule-suite.ts'

describe('every invariant holds', () => {
  scheduleSuite(Number(process.env['SIMULATION_SCALE'] ?? 1))
})
