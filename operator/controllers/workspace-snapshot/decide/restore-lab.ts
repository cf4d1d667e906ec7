import { ANNOTATIONS } from '@open-terrain/constructs'
import type { WorkspaceSnapshotRestore } from '@open-terrain/constructs/operator'
import type { WorkspaceSnapshotWorld } from '../world.ts'

/** Returns why nothing of a point in time can be restored into the workspace of the namespace, and what to do about it; undefined if it can. */
export function whyNotOfLab({
  snapshot,
  workspace,
  namespaceTerminating,
  found,
}: WorkspaceSnapshotWorld): string | undefined {
  const { namespace } = snapshot.metadata
  if (workspace === undefined || namespaceTerminating)
    return `there is no Workspace ${namespace}, or it is being deleted: create it again first`
  const isOfAnother = Object.values(found).some(
    ({ workspaceUid }) => workspaceUid !== undefined && workspaceUid !== workspace.uid,
  )
  if (!isOfAnother) return undefined
  return `the point in time is of another Workspace, which had the name ${workspace.name} before: restore a WorkspaceSnapshot of this one`
}

/** Returns why nothing is restored now, as far as that concerns the whole workspace; undefined if it may be. */
export function whyNotOff({ restore, workspace }: WorkspaceSnapshotWorld): string | undefined {
  if (restore.isLabOff) return undefined
  return `Workspace ${workspace?.name} is not switched off: set its spec.powerState to Halted, and wait until its machines are off`
}

/** A reset that the machines have not been given yet would replace the restored disks. */
export function whyResetComes({ restore, workspace }: WorkspaceSnapshotWorld): string | undefined {
  if (restore.lab?.isResetAsked !== true) return undefined
  return `Workspace ${workspace?.name} has a reset that its machines have not been given yet, and would lose the restored disks to it: wait until they have been given it, or remove annotation ${ANNOTATIONS.resetRequestedAt} from the Workspace`
}

/**
 * Returns why a restore of volumes does not go on. That takes as long as the storage needs, and nobody may have worked in the lab meanwhile: switching it on
 * and off again changes its spec twice, also while no operator runs.
 */
export function whyChanged(
  { restore: { lab }, workspace }: WorkspaceSnapshotWorld,
  { workspaceGeneration: before }: Pick<WorkspaceSnapshotRestore, 'workspaceGeneration'>,
): string | undefined {
  if (before === undefined || lab?.object.metadata.generation === before) return undefined
  return `the spec of Workspace ${workspace?.name} was changed during the restore: leave it as it is until the restore has ended`
}
