import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage, a VirtualMachine, a DataSync or a Workspace', () => {
  specSuite({ count: 16_000, isEachRuleNeeded: true })
})
