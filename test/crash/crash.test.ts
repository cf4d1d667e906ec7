import { describe } from 'vitest'
import { crashesIn, crashSuite } from './crash-suite.ts'
import { update } from './data-sync-flows.ts'
import { cancellation, success } from './flows.ts'
import { creation } from './machine-flows.ts'
import { atOnce } from './removal-flows.ts'

/** An odd number, so that crashes before and those after a write take turns. */
const SAMPLE = 13

describe('an operator that is killed now and then', () => {
  crashSuite([success, cancellation, atOnce, creation, update], (flow) =>
    crashesIn(flow).filter((_, at) => at % SAMPLE === 0),
  )
})
