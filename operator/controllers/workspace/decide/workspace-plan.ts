import type { WorkspaceStatus } from '@open-terrain/constructs'
import type { ObjectPlan } from '../../../runtime/plan-writer.ts'

/** Holds a Workspace until all that it consists of is gone. */
export const FINALIZER = 'pelotech.ot/workspace'

/** What is to be done about one workspace, as printable data. */
export interface WorkspacePlan extends ObjectPlan {
  readonly status: WorkspaceStatus
}
