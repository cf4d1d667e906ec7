import { describe } from 'vitest'
import { crashSuite } from './crash-suite.ts'
import { update } from './data-sync-flows.ts'
import { success } from './flows.ts'

describe('an operator that is killed now and then', () => {
  crashSuite([success, update], 13)
})
