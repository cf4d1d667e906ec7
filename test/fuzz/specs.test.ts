import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage, a VirtualMachine, a DataSync or a Workspace', () => {
  specSuite({ count: 2_000, isEachRuleNeeded: false })
})
