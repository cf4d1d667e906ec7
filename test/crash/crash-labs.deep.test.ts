import { describe } from 'vitest'
import { askedCrashesIn, crashSuite } from './crash-suite.ts'
import { DATA_SYNC_FLOWS } from './data-sync-flows.ts'
import { WORKSPACE_FLOWS } from './workspace-flows.ts'

/** A file of its own, so that these run beside those of images. */
describe('an operator that is killed', () => {
  crashSuite([...DATA_SYNC_FLOWS, ...WORKSPACE_FLOWS], askedCrashesIn)
})
