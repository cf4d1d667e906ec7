import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage or a VirtualMachine', () => {
  specSuite({ count: 8_000, isEachRuleNeeded: true })
})
