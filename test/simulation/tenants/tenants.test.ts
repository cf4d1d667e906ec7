import { describe } from 'vitest'
import { QUICK_TENANTS, tenantSuite } from './tenant-suite.ts'

describe('a tenant who forges at random', () => {
  tenantSuite(QUICK_TENANTS)
})
