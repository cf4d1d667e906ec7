import { internalErrorHelp, NOTHING, namesIn, type ReasonHelp, refusedHelp } from './reason-help.ts'

/**
 * Every reason that a condition, a member in the status or an Event of a WorkspaceSnapshot can have, with its meaning and its remedy. The API reference is
 * generated from this table, so every reason has a remedy.
 */
export const WORKSPACE_SNAPSHOT_REASON_HELP = {
  /** Some snapshot is not ready yet, or does not exist yet. */
  Taking: {
    meaning: 'The snapshots of the machines and volumes are being taken. The message says what holds one up.',
    remedy: `${NOTHING} If it lasts, see the message: it has the words of KubeVirt and of the storage driver. What is not ready after spec.failureDeadline fails.`,
  },
  /** All snapshots are ready. */
  Taken: { meaning: 'Every snapshot is ready to be restored from.', remedy: 'No action needed.' },
  /** For a member in the status: nothing was seen of its snapshot yet. */
  NotCreated: { meaning: 'The snapshot of the member does not exist yet: the operator creates it.', remedy: NOTHING },
  /** For a machine in the status. */
  NotDeployed: {
    meaning: 'The machine did not exist in KubeVirt at that time, so it has no snapshot in this point in time.',
    remedy: 'No action needed. To have the machine in it, take another snapshot when the machine is deployed.',
  },
  /** For a volume in the status. */
  NotBound: {
    meaning:
      'The claim of the volume was not bound at that time: nothing has been written to it, and it has no snapshot in this point in time.',
    remedy: 'No action needed. To have the volume in it, take another snapshot when a container has mounted it.',
  },
  /** KubeVirt or the storage gave up. */
  MemberFailed: {
    meaning:
      'A snapshot has failed, and no other one is under way. The message names it, with the words of KubeVirt or of the storage driver.',
    remedy:
      'Do what the message says. A snapshot is not tried again, since it would be of another time: delete the WorkspaceSnapshot and create a new one.',
  },
  /** A snapshot that existed is gone. */
  SnapshotLost: {
    meaning:
      'Somebody has deleted a snapshot of a member, or is about to. The operator does not take it again, since it would be of another time. The others stay.',
    remedy:
      'Find out who deletes snapshots: the audit log of the API server shows it. Then create a new WorkspaceSnapshot.',
  },
  /** The name of a snapshot is taken. */
  NameConflict: {
    meaning: 'An object of somebody else has the name of a snapshot. The operator does not touch it.',
    remedy:
      'Delete the object that the message names if nobody needs it, or create a WorkspaceSnapshot of another name.',
  },
  /** The policy allows no more. */
  LimitReached: {
    meaning:
      'The workspace has as many snapshots as the policy key workspaceSnapshotLimit allows. Nothing is taken, and no other snapshot is deleted for it.',
    remedy:
      'Delete a WorkspaceSnapshot of this namespace that is not needed: this one is then taken. Or have the limit raised.',
  },
  /** The namespace is of no workspace. */
  WorkspaceMissing: {
    meaning: 'The namespace is not that of a Workspace, or the Workspace is being deleted.',
    remedy: 'Create the WorkspaceSnapshot in the namespace of the Workspace, which has its name.',
  },
  /** Nothing to take. */
  NothingToSnapshot: {
    meaning:
      'The workspace has no machine that is deployed, and no volume that is bound. The snapshot is taken when it has one.',
    remedy: NOTHING,
  },
  /** Event: a restore begins. */
  Restoring: {
    meaning:
      'Somebody has asked for a restore (annotation pelotech.ot/restore-requested-at). The volumes get new claims from their snapshots, KubeVirt makes disks from those of the machines, and the lab starts from these. What was written to the present ones since then is not used any more. The message names the machines and volumes.',
    remedy: `${NOTHING} Leave the workspace switched off until status.restore.phase is Succeeded.`,
  },
  /** Event: a restore has ended. */
  Restored: {
    meaning:
      'Every machine of the point in time starts from its restored disk, and every volume has its restored claim. All of these are bound.',
    remedy: 'No action needed. Switch the workspace on again.',
  },
  /** Event: a restore has ended, and something has no data yet. */
  WaitForFirstConsumer: {
    meaning:
      'The machines and volumes have their restored claims, and the storage copies the data of those that the message names only when a guest or pod first uses them. Until then it is in the WorkspaceSnapshot alone.',
    remedy:
      'Switch the workspace on, and start every machine once. Do not delete the WorkspaceSnapshot before status.restore.phase is Succeeded.',
    isOffer: true,
  },
  /** Somebody deletes what a restored claim needs. */
  DeletionBlocked: {
    meaning:
      'Somebody has deleted the WorkspaceSnapshot while restored claims have not got their data from it, or while KubeVirt restores a machine from it. It stays until they have, or KubeVirt has ended, and is then gone.',
    remedy:
      'Switch the workspace on, and start every machine once. If nobody needs that data, delete the claims that the message names. Where it names VirtualMachineRestores that last, see what these say.',
  },
  /** Event: a restore was not begun. */
  RestoreRefused: {
    meaning: 'A restore that somebody has asked for was not begun, and nothing was changed. The message says why.',
    remedy:
      'Do what the message says, and set annotation pelotech.ot/restore-requested-at to another value: each one is looked at once.',
  },
  /** Event: a restore has ended without some machine. */
  RestoreFailed: {
    meaning:
      'At least one machine or volume was not restored. The message says why, in the words of KubeVirt if those are known, and names what is restored, and what is not: that keeps the disks and claims that it had.',
    remedy:
      'Do what the message says, and set annotation pelotech.ot/restore-requested-at to another value to restore all of it again.',
  },
  /** Event: a request does not count. */
  RestoreNotCounted: {
    meaning:
      'Annotation pelotech.ot/restore-requested-at was there when the operator first looked at the WorkspaceSnapshot, or has a value again that it had before. Such a value restores nothing.',
    remedy: 'To restore, set another value.',
  },
  /** Kinds are missing. */
  SnapshotsNotServed: {
    meaning: 'The cluster does not serve a kind of snapshots that is needed. The message says what to install.',
    remedy: 'Install what the message names. It then continues by itself.',
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Delete the object, and create it again with the field corrected: the spec cannot be changed.',
  },
  /** The operator keeps only a part of it. */
  TooLarge: {
    meaning:
      'The object is larger, has more values or is nested deeper than the operator reads: the message gives the limit. Nothing is created for it.',
    remedy: 'Remove annotations of pelotech.ot that are not needed. It then continues by itself.',
  },
  /** Nothing can be created any more. */
  NamespaceTerminating: {
    meaning: 'The namespace is being deleted, and its snapshots with it.',
    remedy: 'No action needed. What is in a snapshot ends with its workspace.',
  },
  /** The API server refused a write. */
  Refused: refusedHelp('WorkspaceSnapshot'),
  /** A bug in the operator. */
  InternalError: internalErrorHelp('WorkspaceSnapshot'),
} as const satisfies Record<string, ReasonHelp>

export type WorkspaceSnapshotReason = keyof typeof WORKSPACE_SNAPSHOT_REASON_HELP

/** `WORKSPACE_SNAPSHOT_REASONS.Taken` is `'Taken'`, and so on for every key of `WORKSPACE_SNAPSHOT_REASON_HELP`. */
export const WORKSPACE_SNAPSHOT_REASONS = namesIn(WORKSPACE_SNAPSHOT_REASON_HELP)
