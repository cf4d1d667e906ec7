import { describe } from 'vitest'
import { crashSuite } from './crash-suite.ts'
import { update } from './data-sync-flows.ts'
import { cancellation, success } from './flows.ts'
import { creation } from './machine-flows.ts'
import { atOnce } from './removal-flows.ts'

describe('an operator that is killed now and then', () => {
  crashSuite([success, cancellation, atOnce, creation, update], 13)
})
