import { z } from 'zod'
import type { ConditionRules, WithConditions } from '../schema/condition-rules.ts'
import { namesIn } from './reason-help.ts'
import { conditionOfPhase, count, dateTime, maybeText, PROGRESS_CONDITIONS, statusOf } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import type { WorkspaceSnapshotReason } from './workspace-snapshot-reasons.ts'

/** Maximum number of members: all machines and volumes that a workspace can have. */
const MEMBERS_MAX = WORKSPACE_LIMITS.vms + WORKSPACE_LIMITS.volumes

/** Maximum length of the message about one member: those of all of them fit into one object. */
export const SNAPSHOT_MESSAGE_MAX = 1_024

export const WORKSPACE_SNAPSHOT_PHASES = {
  /** No snapshot was asked for yet. */
  Pending: 'Pending',
  /** Some snapshot is not ready yet. */
  InProgress: 'InProgress',
  /** Every snapshot is ready. */
  Succeeded: 'Succeeded',
  /** At least one snapshot has failed or is lost, and no other one is under way. */
  Failed: 'Failed',
} as const
export type WorkspaceSnapshotPhase = (typeof WORKSPACE_SNAPSHOT_PHASES)[keyof typeof WORKSPACE_SNAPSHOT_PHASES]

export const WORKSPACE_SNAPSHOT_CONDITION_RULES = {
  Ready: conditionOfPhase('every snapshot can be restored from'),
  ...PROGRESS_CONDITIONS,
  Settled: conditionOfPhase('the WorkspaceSnapshot is Succeeded or Failed: nothing more happens to it by itself'),
} as const satisfies ConditionRules<WorkspaceSnapshotReason>
export const WORKSPACE_SNAPSHOT_CONDITIONS = namesIn(WORKSPACE_SNAPSHOT_CONDITION_RULES)

const phase = z.enum(WORKSPACE_SNAPSHOT_PHASES)

/** What a point in time is of. */
export const SNAPSHOT_MEMBER_KINDS = ['Machine', 'Volume'] as const

/** A member that is left out has no snapshot. */
export const SNAPSHOT_MEMBER_PHASES = [...Object.values(WORKSPACE_SNAPSHOT_PHASES), 'LeftOut'] as const

const member = z
  .object({
    kind: z
      .enum(SNAPSHOT_MEMBER_KINDS)
      .describe('Machine: a machine with its disks. Volume: a volume of spec.volumes.'),
    name: z
      .string()
      .max(253)
      .describe(
        'Name of the VirtualMachine, or of the claim that the volume has if it was never restored, in this namespace.',
      ),
    snapshot: maybeText(
      253,
      'Name of its VirtualMachineSnapshot (of a machine) or VolumeSnapshot (of a volume), in this namespace.',
    ),
    phase: z
      .enum(SNAPSHOT_MEMBER_PHASES)
      .describe(
        'Current phase. LeftOut: the machine was not deployed, or the claim not bound, and it has no snapshot.',
      ),
    reason: z.string().max(1024).describe('Why it is in this phase.'),
    ready: z.boolean().describe('Whether the snapshot can be restored from.'),
    consistency: maybeText(
      256,
      'How a machine was snapshotted, in the words of KubeVirt. Offline: it was switched off. GuestAgent,Online: the guest agent froze its file systems. ' +
        'NoGuestAgent,Online: there was no guest agent, so the disks are as after a power failure. QuiesceFailed: the freeze failed.',
    ),
    time: dateTime('When the snapshot was taken.').optional(),
    message: maybeText(
      SNAPSHOT_MESSAGE_MAX,
      'What KubeVirt or the storage driver says, and which disks are not in it.',
    ),
  })
  .describe('One machine or volume of the workspace.')

/** Maximum number of claims that the status lists. It does not list what a restore has beyond that. */
export const UNFILLED_MAX = 1_000

/** No member or volume of a restore is Pending or InProgress any more in any other phase than InProgress. */
export const SNAPSHOT_RESTORE_PHASES = {
  /** Claims are filled for the volumes, or KubeVirt restores the machines. */
  InProgress: 'InProgress',
  /** As Succeeded, but for claims that get their data only when something first uses them. */
  WaitForFirstConsumer: 'WaitForFirstConsumer',
  /** Every machine of it has its disks of then, and every volume its claim, and all of them are bound. */
  Succeeded: 'Succeeded',
  /** At least one machine or volume was not restored, and no other one is under way. */
  Failed: 'Failed',
  /** Nothing was begun. */
  Refused: 'Refused',
} as const

const restoredMember = z
  .object({
    name: z.string().max(253).describe('Name of the VirtualMachine, in this namespace.'),
    restore: z.string().max(253).describe('Name of its VirtualMachineRestore. It is deleted when it has ended.'),
    phase: z
      .enum(['Pending', 'InProgress', 'Succeeded', 'Failed'])
      .describe('Current phase. Pending: no VirtualMachineRestore was seen yet.'),
    claim: maybeText(253, 'Claim of the restored root disk.'),
    message: maybeText(SNAPSHOT_MESSAGE_MAX, 'What KubeVirt says.'),
  })
  .describe('One machine that is restored.')

const restoredVolume = z
  .object({
    name: z.string().max(253).describe('Name as in status.members.'),
    claim: z.string().max(253).describe('Name of the claim that is made from its VolumeSnapshot.'),
    phase: z
      .enum(['Pending', 'InProgress', 'Succeeded', 'Failed'])
      .describe(
        'Current phase. Pending: the claim was not seen yet. InProgress: it gets its data. Succeeded: the volume is that claim now.',
      ),
    message: maybeText(SNAPSHOT_MESSAGE_MAX, 'What it waits for, or why it has failed.'),
  })
  .describe('One volume that is restored.')

const restore = z
  .object({
    phase: z
      .enum(SNAPSHOT_RESTORE_PHASES)
      .describe('Current phase: InProgress, WaitForFirstConsumer, Succeeded, Failed or Refused.'),
    request: maybeText(16, 'Fingerprint of the value that asked for it.'),
    message: z.string().max(4096).describe('What is replaced, how far it is, or why it was refused.'),
    startTime: dateTime('When it was accepted or refused.'),
    endTime: dateTime('When it has ended.').optional(),
    members: z
      .array(restoredMember)
      .max(WORKSPACE_LIMITS.vms)
      .meta({
        description: 'The machines. The list is written before the first VirtualMachineRestore is created.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      })
      .optional(),
    volumes: z
      .array(restoredVolume)
      .max(WORKSPACE_LIMITS.volumes)
      .meta({
        description:
          'The volumes. The list is written before the first claim is created. All of them are switched to their claims in one write, before the machines are restored.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      })
      .optional(),
    workspaceGeneration: count()
      .describe(
        'metadata.generation of the Workspace when it was accepted. With another one, nothing is switched any more: somebody may have worked in the lab.',
      )
      .optional(),
    switchTime: dateTime('When the operator saw that the volumes are switched.').optional(),
    unfilled: z
      .array(z.string().max(253).describe('Name of a claim, in this namespace.'))
      .max(UNFILLED_MAX)
      .meta({
        description:
          'Restored claims that are not bound. They get their data from the snapshots only when something first uses them: until then it is in this point in time alone.',
        'x-kubernetes-list-type': 'set',
      })
      .optional(),
  })
  .describe('The last restore that was asked for.')

export const workspaceSnapshotStatus = statusOf(
  phase,
  'WorkspaceSnapshot',
  {
    phase: 'Current phase: Pending, InProgress, Succeeded or Failed.',
    conditions: WORKSPACE_SNAPSHOT_CONDITION_RULES,
  },
  {
    ready: maybeText(16, 'Snapshots that can be restored from, of all, such as 3/5.'),
    counts: z
      .object({
        total: count().describe('Machines and volumes with a snapshot.'),
        succeeded: count().describe('Snapshots that are ready.'),
        inProgress: count().describe('Snapshots that are being taken, or do not exist yet.'),
        failed: count().describe('Snapshots that failed or are lost.'),
        leftOut: count().describe('Machines that were not deployed, and volumes that were not bound.'),
      })
      .describe('How many members are in which phase.')
      .optional(),
    members: z
      .array(member)
      .max(MEMBERS_MAX)
      .meta({
        description:
          'The machines and volumes of the workspace when this was taken. The list is written before the first snapshot is created, and keeps its members from then on.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['kind', 'name'],
      })
      .optional(),
    restore: restore.optional(),
    restoreRequest: maybeText(
      64,
      'Fingerprints of the last values of annotation pelotech.ot/restore-requested-at that were looked at, the newest one last; none if there was none.',
    ),
  },
)

export type WorkspaceSnapshotStatus = WithConditions<
  z.output<typeof workspaceSnapshotStatus>,
  typeof WORKSPACE_SNAPSHOT_CONDITION_RULES
>
export type WorkspaceSnapshotMember = z.output<typeof member>
export type WorkspaceSnapshotRestore = z.output<typeof restore>
export type RestoredMember = z.output<typeof restoredMember>
export type RestoredVolumeState = z.output<typeof restoredVolume>
