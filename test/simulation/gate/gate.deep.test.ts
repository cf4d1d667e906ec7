import { describe } from 'vitest'
import { gateSuite, QUICK_GATES } from './gate-suite.ts'

describe('the gate keeps limit, slots and order', () => {
  gateSuite(8, QUICK_GATES)
})
