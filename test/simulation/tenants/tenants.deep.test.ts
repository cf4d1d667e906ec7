import { describe } from 'vitest'
import { QUICK_TENANTS, tenantSuite } from './tenant-suite.ts'

describe('a tenant who forges at random', () => {
  tenantSuite(Number(process.env['SIMULATION_SCALE'] ?? 1) * 3, QUICK_TENANTS)
})
