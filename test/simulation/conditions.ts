import { conditionOf, type DataSync, type Workspace, type WorkspaceSnapshot } from '../harness/kinds.ts'

/** Returns which conditions do not have the status that they should have. */
export function wrongConditions(
  object: DataSync | Workspace | WorkspaceSnapshot,
  wanted: Readonly<Record<string, boolean>>,
): string[] {
  return Object.entries(wanted)
    .map(([type, holds]) => [type, holds ? 'True' : 'False'] as const)
    .filter(([type, status]) => conditionOf(object, type)?.status !== status)
    .map(([type, status]) => `${type} is not ${status}`)
}
