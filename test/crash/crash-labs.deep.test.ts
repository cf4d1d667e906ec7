import { describe } from 'vitest'
import { crashSuite } from './crash-suite.ts'
import { DATA_SYNC_FLOWS } from './data-sync-flows.ts'
import { WORKSPACE_FLOWS } from './workspace-flows.ts'

/** A separate file, so that these run in parallel with those of images. */
describe('an operator that is killed', () => {
  crashSuite([...DATA_SYNC_FLOWS, ...WORKSPACE_FLOWS], 85)
})
