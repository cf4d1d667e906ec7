import type { WorkspaceStatus } from '@open-terrain/constructs'
import type { ObjectPlan } from '../../../runtime/plan.ts'

/** What to do about one workspace, as printable data. */
export interface WorkspacePlan extends ObjectPlan {
  readonly status: WorkspaceStatus
}
