import { z } from 'zod'
import type { ConditionRules, WithConditions } from '../schema/condition-rules.ts'
import { namesIn } from './reason-help.ts'
import { conditionOfPhase, count, dateTime, matching, maybeText, PROGRESS_CONDITIONS, statusOf } from './shared.ts'
import type { Reason } from './vm-disk-image-reasons.ts'

export const PHASES = {
  /** Waits for a slot, for a missing object, or for its next attempt. */
  Queued: 'Queued',
  /** Holds a slot: its DataVolume exists or is about to be created. */
  Syncing: 'Syncing',
  /** The download is over and its slot is free. The snapshot is not ready yet. */
  Snapshotting: 'Snapshotting',
  /** The artifact of the current revision is ready. */
  Succeeded: 'Succeeded',
  /** No attempt is left, or no retry can help. */
  Failed: 'Failed',
} as const
export type VMDiskImagePhase = (typeof PHASES)[keyof typeof PHASES]

export const VM_DISK_IMAGE_CONDITION_RULES = {
  Ready: conditionOfPhase('a usable artifact exists'),
  UpToDate: {
    means: 'it was made from the current spec',
    presence: 'always',
    told: 'whenFalse',
    gauge: 'phase',
  },
  ...PROGRESS_CONDITIONS,
  Settled: conditionOfPhase(
    'it is Failed, or Succeeded with an artifact of this spec: processing of this spec has ended',
  ),
  Unreferenced: {
    means: 'nothing refers to the image',
    presence: 'always',
    told: 'never',
    gauge: 'none',
    reasons: ['Referenced', 'Unreferenced'],
  },
  // The plan takes it away when the last user is gone.
  DeletionBlocked: {
    means: 'a deletion waits for its users',
    presence: 'lasting',
    told: 'whenTrue',
    gauge: 'none',
    reasons: ['InUse'],
  },
  ArtifactLost: {
    means: 'what disks are cloned from is gone and is made again; absent as soon as it is there',
    presence: 'passing',
    told: 'whenTrue',
    // A counter of its own counts losses, and an alert looks at that.
    gauge: 'none',
    reasons: ['ArtifactLost'],
  },
  Adopted: {
    means:
      'what pelotech.ot/adopt names is the artifact, or what it is made of; its reason says what is proved of it, or why it is refused',
    presence: 'passing',
    told: 'whenTrue',
    // What is refused is the reason of the phase.
    gauge: 'none',
    reasons: [
      'Adopting',
      'AdoptionInUse',
      'AdoptionInvalid',
      'AdoptionMismatch',
      'AdoptionMissing',
      'AdoptionOwned',
      'AdoptionUnchecked',
      'AdoptionUnfinished',
      'SourceAccepted',
      'SourceDiffers',
      'SourceMatches',
      'SourceUnknown',
    ],
  },
  SourceWarning: {
    means: 'the source is probably no disk image that CDI can read',
    presence: 'passing',
    told: 'whenTrue',
    gauge: 'reason',
    reasons: ['PackedSource'],
  },
} as const satisfies ConditionRules<Reason>
export const VM_DISK_IMAGE_CONDITIONS = namesIn(VM_DISK_IMAGE_CONDITION_RULES)

/** Most characters of who asked for a download: a longer text is cut. */
export const REQUESTER_MAX = 512

const attempt = z
  .object({
    number: count().describe('Number of the attempt within its revision and budget, from 1.'),
    revision: z.string().max(64).describe('Revision that was downloaded.'),
    outcome: z
      .enum(['Succeeded', 'Failed', 'Cancelled'])
      .describe(
        'How it ended. Cancelled: it was stopped for another reason than a failure, or failed before anything was downloaded.',
      ),
    reason: z.string().max(1024).describe('One word that says why it ended.'),
    message: z.string().max(4096).describe('The error in the words of the importer, or why it was stopped.'),
    startedAt: dateTime('When its download began, or where it never did, when its DataVolume was created.').optional(),
    endedAt: dateTime('When its end was seen.').optional(),
    durationSeconds: count().describe('Seconds from start to end.').optional(),
    downloads: count()
      .describe('Downloads that it cost: 0 if its importer never ran, else 1 and one for each restart that was seen.')
      .optional(),
    dataVolumeUID: maybeText(64, 'Uid of the DataVolume that downloaded it.'),
    requestedBy: maybeText(
      REQUESTER_MAX,
      'Who asked for the download, as status.requestedBy was then. Absent where that is not known.',
    ),
  })
  .describe('One attempt to download the image.')

const artifact = z
  .object({
    kind: z
      .enum(['VolumeSnapshot', 'PersistentVolumeClaim'])
      .describe('Kind of the object that disks are cloned from.'),
    name: z.string().max(253).describe('Its name, in the namespace of the image.'),
    revision: z.string().max(64).describe('Revision that it holds.'),
    storageClass: maybeText(253, 'Storage class of the downloaded volume; only a clone in the same one is cheap.'),
    snapshotClass: maybeText(253, 'Volume snapshot class that it was taken with.'),
    restoreSize: maybeText(64, 'Smallest size of a clone, as a quantity.'),
    volumeMode: maybeText(64, 'Volume mode of the downloaded volume: Filesystem or Block. Clones need the same.'),
    accessModes: z
      .array(z.string().max(64).describe('One access mode.'))
      .max(8)
      .describe('Access modes of the downloaded volume.')
      .optional(),
    adoptedUID: maybeText(64, 'Uid of an artifact that was adopted. Absent if the operator made it.'),
    publishedAt: dateTime('When the DataSource named like the image was pointed to it.').optional(),
  })
  .describe('What disks are cloned from.')

export const vmDiskImageStatus = statusOf(
  z.enum(PHASES),
  'image',
  {
    phase: 'Current phase: Queued, Syncing, Snapshotting, Succeeded or Failed.',
    conditions: VM_DISK_IMAGE_CONDITION_RULES,
  },
  {
    ticket: matching(z.string().max(64), '^[0-9]+$', 'must be a decimal number')
      .describe('Place in the queue: a decimal number, the smallest of all is served first.')
      .optional(),
    queuedAt: dateTime('When the ticket was taken.').optional(),
    queuePosition: count()
      .describe(
        'Place in the queue at queuePositionTime; 1 is next. Later it may be smaller. Absent while the image does not wait for a slot.',
      )
      .optional(),
    queuePositionTime: dateTime('When the image had this queuePosition.').optional(),
    progress: maybeText(16, 'Progress of the download, such as 42.0%.'),
    revision: maybeText(64, 'Revision that is wanted: 8 hexadecimal digits over what decides about the content.'),
    defaults: z
      .object({
        sourceType: maybeText(64, 'From the policy key defaultSourceType.'),
        diskSize: maybeText(64, 'From the policy key defaultDiskSize.'),
        storageClass: maybeText(253, 'From the policy key defaultStorageClass.'),
        snapshotClass: maybeText(253, 'From the policy key defaultSnapshotClass.'),
        secretRef: maybeText(253, 'From the policy key defaultSecretRef.'),
        certConfigMap: maybeText(253, 'From the policy key defaultCertConfigMap.'),
      })
      .describe('Policy values that apply where the spec is silent, frozen when the revision was first queued.')
      .optional(),
    cause: maybeText(1024, 'What the running or last download is for: why there has to be one.'),
    requestedBy: maybeText(
      REQUESTER_MAX,
      'Who asked for that download: the name under which a client or controller writes (its field manager), or <kind>/<namespace>/<name> of what the image was made for. The audit log has the user.',
    ),
    attempt: count().describe('Number of the running or last attempt, from 1.').optional(),
    startedAt: dateTime('When the running or last attempt began to download.').optional(),
    dataVolumeUID: maybeText(64, 'Uid of the DataVolume of the running or last attempt.'),
    nextRetryTime: dateTime('When the next attempt may start, after a failed one.').optional(),
    budget: z
      .object({
        key: z
          .string()
          .max(256)
          .describe(
            'What the budget is for: revision and the human acts that renew it. A new key starts a new budget.',
          ),
        downloads: count().describe('Downloads that were used of it.'),
        unstarted: count()
          .describe(
            'Attempts in a row in which no importer ran. They do not use the budget; each makes the next wait longer.',
          )
          .optional(),
      })
      .describe('Downloads that the revision has used; at most 1 and the policy key retryLimit.')
      .optional(),
    importerPodUID: maybeText(
      64,
      'Uid of the importer pod of the running attempt. Another one means that the download started over.',
    ),
    attempts: z.array(attempt).max(5).describe('The last attempts, oldest first.').optional(),
    artifact: artifact.optional(),
    adoption: z
      .object({
        object: z.string().max(300).describe('Value of the annotation pelotech.ot/adopt.'),
        revision: z.string().max(64).describe('Revision that it stands for. Later ones are downloaded.'),
        uid: maybeText(64, 'Uid of the claim or snapshot that was adopted. Absent until it is.'),
        storageClass: maybeText(253, 'Storage class of the adopted claim.'),
        rule: maybeText(64, 'Which rule checked who may adopt, when this was last looked at.'),
        unchecked: z
          .boolean()
          .describe('The annotation was set while nothing checked who may: it has to be set again.')
          .optional(),
      })
      .describe('What the image has adopted, or is to adopt, in place of a download.')
      .optional(),
    snapshotStartedAt: dateTime('When the wait for the current snapshot began.').optional(),
    references: z
      .object({
        count: count().describe('How many objects refer to the image.'),
        machines: count()
          .describe('How many of them are VirtualMachines. Absent until this version of the operator has looked.')
          .optional(),
        names: z
          .array(z.string().max(512).describe('<kind>/<namespace>/<name>.'))
          .max(10)
          .describe('The first few of them.'),
      })
      .describe('Virtual machines, Workspaces and DataSyncs that refer to the image, and unfinished clones of it.')
      .optional(),
    unreferencedSince: dateTime('Since when nothing refers to the image.').optional(),
    lastReferencedTime: dateTime('When something last referred to the image.').optional(),
  },
)

export type VMDiskImageStatus = WithConditions<z.output<typeof vmDiskImageStatus>, typeof VM_DISK_IMAGE_CONDITION_RULES>
export type Artifact = z.output<typeof artifact>
export type Attempt = z.output<typeof attempt>
