import { describe } from 'vitest'
import { gateSuite } from './gate-suite.ts'

describe('the gate keeps limit, slots and order', () => {
  gateSuite(8)
})
