import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage, a VirtualMachine or a DataSync', () => {
  specSuite({ count: 1_500, isEachRuleNeeded: false })
})
