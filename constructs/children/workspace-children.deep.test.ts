import { describe } from 'vitest'
import { workspaceChildrenSuite } from '../../test/prepared/children/workspace-children-suite.ts'

describe('the children of a workspace at random', () => {
  workspaceChildrenSuite(600)
})
