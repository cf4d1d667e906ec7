import { describe } from 'vitest'
import { tenantSuite } from './tenant-suite.ts'

describe('a tenant who forges at random', () => {
  tenantSuite(1)
})
