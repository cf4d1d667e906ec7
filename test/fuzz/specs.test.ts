import { describe } from 'vitest'
import { specSuite } from './spec-suite.ts'

describe('any manifest of a VMDiskImage, a VirtualMachine, a DataSync, a Workspace or a WorkspaceSnapshot', () => {
  specSuite({ count: 1_000, isEachRuleNeeded: false })
})
