import { workspaceChildrenSuite } from './workspace-children-suite.ts'

workspaceChildrenSuite(3)
