import { z } from 'zod'
import type { ConditionRules, WithConditions } from '../schema/condition-rules.ts'
import type { DataSyncReason } from './data-sync-reasons.ts'
import { namesIn } from './reason-help.ts'
import { conditionOfPhase, count, maybeText, PROGRESS_CONDITIONS, statusOf } from './shared.ts'

/** Maximum number of vms in one DataSync. */
export const VMS_MAX = 100

/** Maximum length of the message about one image: those of a hundred fit into one object. */
export const IMAGE_MESSAGE_MAX = 1_024

export const DATA_SYNC_PHASES = {
  /** No image is being downloaded, and at least one waits. */
  Queued: 'Queued',
  /** At least one image is being downloaded, or its snapshot is being taken. */
  Syncing: 'Syncing',
  /** Every image is ready. */
  Succeeded: 'Succeeded',
  /** At least one image failed or is unavailable, and no other image is in progress. */
  Failed: 'Failed',
} as const
export type DataSyncPhase = (typeof DATA_SYNC_PHASES)[keyof typeof DATA_SYNC_PHASES]

export const DATA_SYNC_CONDITION_RULES = {
  Ready: conditionOfPhase('every image is ready'),
  ...PROGRESS_CONDITIONS,
  Settled: conditionOfPhase('the DataSync is Succeeded or Failed with this spec: processing of this spec has ended'),
} as const satisfies ConditionRules<DataSyncReason>
export const DATA_SYNC_CONDITIONS = namesIn(DATA_SYNC_CONDITION_RULES)

const phase = z.enum(DATA_SYNC_PHASES)

const image = z
  .object({
    vm: z.string().max(126).describe('Name of the vm.'),
    name: z.string().max(253).describe('Name of its VMDiskImage, in the namespace of the DataSync.'),
    phase: phase.describe(
      'Current phase. An image whose snapshot is being taken is Syncing, and one that cannot be created is Failed.',
    ),
    reason: z.string().max(1024).describe('Why it is in this phase: a reason of the VMDiskImage, or of the DataSync.'),
    message: maybeText(
      IMAGE_MESSAGE_MAX,
      'If it is Failed: why, whose it is if it is not of this DataSync, and what to do.',
    ),
  })
  .describe('The image of one vm.')

export const dataSyncStatus = statusOf(
  phase,
  'DataSync',
  {
    phase: 'Current phase: Queued, Syncing, Succeeded or Failed.',
    conditions: DATA_SYNC_CONDITION_RULES,
  },
  {
    progress: maybeText(16, 'Progress of all downloads together, such as 45.3%.'),
    counts: z
      .object({
        total: count().describe('Images of this DataSync.'),
        succeeded: count().describe('Images that are ready.'),
        syncing: count().describe('Images that are being downloaded, or whose snapshot is being taken.'),
        queued: count().describe('Images that wait.'),
        failed: count().describe('Images that failed or cannot be created.'),
      })
      .describe('How many images are in which phase.')
      .optional(),
    ready: maybeText(16, 'Images that are ready, of all, such as 3/5.'),
    images: z
      .array(image)
      .max(VMS_MAX)
      .meta({
        description: 'The image of each vm, in the order of spec.vms.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['vm'],
      })
      .optional(),
  },
)

export type DataSyncStatus = WithConditions<z.output<typeof dataSyncStatus>, typeof DATA_SYNC_CONDITION_RULES>
export type DataSyncImage = z.output<typeof image>
