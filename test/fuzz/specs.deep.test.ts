import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage, a VirtualMachine or a DataSync', () => {
  specSuite({ count: 12_000, isEachRuleNeeded: true })
})
