import { describe } from 'vitest'
import { workspaceChildrenSuite } from './workspace-children-suite.fixtures.ts'

describe('the children of a workspace at random', () => {
  workspaceChildrenSuite(2_000)
})
