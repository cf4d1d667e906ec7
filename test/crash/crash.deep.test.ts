import { describe } from 'vitest'
import { crashesIn, crashSuite } from './crash-suite.ts'
import { DATA_SYNC_FLOWS } from './data-sync-flows.ts'
import { IMAGE_FLOWS } from './flows.ts'
import { MACHINE_FLOWS } from './machine-flows.ts'
import { REMOVAL_FLOWS } from './removal-flows.ts'
import { WORKSPACE_FLOWS } from './workspace-flows.ts'

/** Which plans to run: `all`, or with a number n every n-th one. Unset: as the flows say. */
const PLANS = process.env['CRASH_PLANS']

describe('an operator that is killed', () => {
  crashSuite([...IMAGE_FLOWS, ...REMOVAL_FLOWS, ...MACHINE_FLOWS, ...DATA_SYNC_FLOWS, ...WORKSPACE_FLOWS], (flow) => {
    const step = PLANS === 'all' ? 1 : Number(PLANS ?? flow.sample ?? 1)
    return crashesIn(flow).filter((_, at) => at % step === 0)
  })
})
