import { describe } from 'vitest'
import { crashSuite } from './crash-suite.ts'
import { IMAGE_FLOWS } from './flows.ts'
import { MACHINE_FLOWS } from './machine-flows.ts'
import { REMOVAL_FLOWS } from './removal-flows.ts'

describe('an operator that is killed', () => {
  crashSuite([...IMAGE_FLOWS, ...REMOVAL_FLOWS, ...MACHINE_FLOWS], 73)
})
