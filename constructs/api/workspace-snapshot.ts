import { z } from 'zod'
import { defineResource } from '../schema/define-resource.ts'
import { ageColumn, MESSAGE_COLUMN, phaseColumn, reasonColumn } from './columns.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { cel, duration, GROUP, objectName, text, VERSION } from './shared.ts'
import { WORKSPACE_SNAPSHOT_CONDITION_RULES, workspaceSnapshotStatus } from './workspace-snapshot-status.ts'

export {
  WORKSPACE_SNAPSHOT_REASON_HELP,
  WORKSPACE_SNAPSHOT_REASONS,
  type WorkspaceSnapshotReason,
} from './workspace-snapshot-reasons.ts'
export {
  type RestoredMember,
  type RestoredVolumeState,
  SNAPSHOT_MESSAGE_MAX,
  UNFILLED_MAX,
  WORKSPACE_SNAPSHOT_CONDITION_RULES,
  WORKSPACE_SNAPSHOT_CONDITIONS,
  WORKSPACE_SNAPSHOT_PHASES,
  type WorkspaceSnapshotMember,
  type WorkspaceSnapshotPhase,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotStatus,
} from './workspace-snapshot-status.ts'

/** How long KubeVirt gives a snapshot of a machine that says nothing else. */
export const SNAPSHOT_DEADLINE = '5m'

const spec = cel(
  z.object({
    description: text('description', 253)
      .describe('What this point in time is, for people.')
      .meta({ example: 'before the exam' })
      .optional(),
    snapshotClass: objectName()
      .describe(
        'Volume snapshot class of the snapshots of spec.volumes. Default: the default class of the cluster for their driver. KubeVirt chooses that of the disks of machines itself.',
      )
      .meta({ example: 'ebs-snapshot' })
      .optional(),
    failureDeadline: duration()
      .describe(`How long a snapshot may take until it has failed. 0s: without a limit. Default: ${SNAPSHOT_DEADLINE}.`)
      .meta({ example: '10m' })
      .optional(),
  }),
  {
    rule: 'self == oldSelf',
    message: 'cannot be changed: a point in time is taken once; create another WorkspaceSnapshot',
    // About a change: a spec alone cannot break it.
    holds: () => true,
  },
).describe('How the point in time is taken. It cannot be changed.')

export const workspaceSnapshot = defineResource({
  group: GROUP,
  version: VERSION,
  kind: 'WorkspaceSnapshot',
  plural: 'workspacesnapshots',
  singular: 'workspacesnapshot',
  shortNames: ['otwss'],
  categories: ['ot'],
  namespaced: true,
  description:
    'A point in time of the Workspace whose namespace it is in: a VirtualMachineSnapshot of KubeVirt for each machine that is deployed, and a VolumeSnapshot for each ' +
    'volume. They are deleted with it, and it is deleted with its Workspace.',
  spec,
  status: workspaceSnapshotStatus,
  conditions: WORKSPACE_SNAPSHOT_CONDITION_RULES,
  printerColumns: [
    phaseColumn('Current phase.'),
    reasonColumn('Why the WorkspaceSnapshot is in this phase.'),
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.ready',
      description: 'Snapshots that can be restored from, of all.',
    },
    {
      name: 'Restore',
      type: 'string',
      jsonPath: '.status.restore.phase',
      description: 'Phase of the last restore that was asked for.',
    },
    ageColumn('WorkspaceSnapshot'),
    MESSAGE_COLUMN,
    {
      name: 'Description',
      type: 'string',
      jsonPath: '.spec.description',
      description: 'What it is, for people.',
      priority: 1,
    },
  ],
})

/** The spec as the operator reads it. */
export type WorkspaceSnapshotSpec = z.output<typeof spec>

export type ParsedWorkspaceSnapshotSpec = Parsed<WorkspaceSnapshotSpec>

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseWorkspaceSnapshotSpec(raw: unknown): ParsedWorkspaceSnapshotSpec {
  return parseSpec(spec, raw)
}
