import { z } from 'zod'
import type { ConditionRules, WithConditions } from '../schema/condition-rules.ts'
import { namesIn } from './reason-help.ts'
import { conditionOfPhase, count, dateTime, maybeFlag, maybeText, PROGRESS_CONDITIONS, statusOf } from './shared.ts'
import type { VirtualMachineReason } from './virtual-machine-reasons.ts'
import { PHASES } from './vm-disk-image-status.ts'

export const VIRTUAL_MACHINE_PHASES = {
  /** Waits for its image, for its clone or for KubeVirt. */
  Provisioning: 'Provisioning',
  /** Needs attention. The machine leaves this phase by itself when it becomes ready, its spec changes or a missing object appears. */
  Failed: 'Failed',
  /** The machine runs, is off as its spec allows, or is not to be deployed and its image is ready. */
  Ready: 'Ready',
} as const
export type VirtualMachinePhase = (typeof VIRTUAL_MACHINE_PHASES)[keyof typeof VIRTUAL_MACHINE_PHASES]

/** A condition that is True while there is something to say beside the summary. */
function remark<R extends VirtualMachineReason, G extends 'reason' | 'none'>(
  means: string,
  gauge: G,
  reasons: readonly R[],
) {
  return { means, presence: 'passing', told: 'whenTrue', gauge, reasons } as const
}

export const VIRTUAL_MACHINE_CONDITION_RULES = {
  Ready: conditionOfPhase('the machine runs, is off as its spec allows, or is not to be deployed'),
  ImageReady: { means: 'a disk can be cloned', presence: 'always', told: 'never', gauge: 'none' },
  ...PROGRESS_CONDITIONS,
  Settled: conditionOfPhase('the machine is Ready or Failed with this spec: processing of this spec has ended'),
  UpToDate: {
    means:
      'the root disk is of the image and the spec of now, and nothing waits for a restart; Unknown if that is not recorded',
    presence: 'always',
    told: 'whenFalse',
    // A machine is in its phase whether or not it is outdated.
    gauge: 'none',
  },
  SpecWarning: remark('a field of the spec cannot be applied exactly as written', 'reason', [
    'LoginRenamed',
    'GroupsOfImage',
    'PasswordLocked',
    'NoLogin',
    'NoSuchNodeLabel',
    'Overridden',
    'WindowsLogin',
    'WindowsGuest',
    'UserDataOverridden',
    'UserDataUnreadable',
    'DiskSmallerThanImage',
    'DiskMissing',
    'DiskKept',
    'DiskSizeKept',
    'DiskImageKept',
    'NoVolumeExpansion',
  ]),
  ImageMismatch: remark('the image differs from the template', 'reason', ['ImageMismatch']),
  FullCopy: remark('CDI copied the disk instead of cloning it', 'reason', ['FullCopy']),
  RestartRequired: remark('a change waits for a restart', 'reason', ['RestartRequired']),
  RebuildRequired: remark('a change waits for a new disk', 'reason', ['RebuildRequired']),
  NamesNotCurrent: remark('the guest started with other hostAliases', 'none', ['NamesNotCurrent']),
  Replacing: remark('somebody asks for a new root disk, and the message says what is lost', 'reason', [
    'Replacing',
    'ReplacementBlocked',
  ]),
  OldDiskKept: remark('the root disk that was replaced, and when it is deleted', 'reason', ['OldDiskKept']),
  DiskLost: remark(
    'the disk that the guest ran from is gone or is being deleted, and no other one is made before somebody asks for it',
    'reason',
    ['DiskLost', 'DiskBeingDeleted'],
  ),
  DiskRestored: remark('a restore of KubeVirt replaced the root disk', 'none', ['DiskRestored']),
  RestoredDiskLost: remark('the disk of a restore is gone', 'reason', ['RestoredDiskLost']),
  AddedByOthers: remark('the VirtualMachine of KubeVirt has parts that others added', 'none', ['AddedByOthers']),
  ChangeUndone: remark('its root disk was changed without a restore', 'reason', ['ChangeUndone']),
} as const satisfies ConditionRules<VirtualMachineReason>
export const VIRTUAL_MACHINE_CONDITIONS = namesIn(VIRTUAL_MACHINE_CONDITION_RULES)

const image = z
  .object({
    namespace: z.string().max(63).describe('Its namespace.'),
    name: z.string().max(253).describe('Its name.'),
    uid: maybeText(64, 'Its uid. Absent while it does not exist.'),
    phase: z
      .enum(PHASES)
      .describe('Its phase. Absent while it does not exist or has no status, and once the machine has a disk.')
      .optional(),
    queuePosition: count()
      .describe(
        'Its place in the queue at queuePositionTime; 1 is next. Absent while it does not wait, and once the machine has a disk.',
      )
      .optional(),
    queuePositionTime: dateTime('When it had this queuePosition.').optional(),
    revision: maybeText(64, 'Revision of its published artifact.'),
  })
  .describe('The VMDiskImage that the disk is cloned from, as it was last seen.')

const clone = z
  .object({
    name: z.string().max(63).describe('Its name, in the namespace of the virtual machine; its claim is called alike.'),
    uid: maybeText(64, 'Its uid. Absent while it does not exist.'),
    image: maybeText(320, 'The image that it is made from, as <namespace>/<name>.'),
    diskSize: maybeText(64, 'Size that was asked for when it was made. Absent where none was.'),
    generation: count().describe('metadata.generation that it was made for.').optional(),
    sourceRevision: maybeText(64, 'Revision of the image that it is made from.'),
    imageUID: maybeText(64, 'Uid of that image. Absent for disks from before this was recorded.'),
    phase: maybeText(64, 'Its phase in the words of CDI.'),
    progress: maybeText(16, 'How far it is, such as 42.0%.'),
    progressTime: dateTime(
      'Since when phase and progress are the same. Absent while CDI waits for something, and once the disk is complete.',
    ).optional(),
  })
  .describe('The DataVolume that is the root disk.')

const replacement = z
  .object({
    asked: z
      .enum(['Reset', 'Rebuild'])
      .describe('Which annotation asks for it: reset-requested-at or rebuild-requested-at.'),
    disk: clone.describe('The DataVolume that is to be the root disk.'),
    claim: maybeText(253, 'Name of the PersistentVolumeClaim that it is to replace.'),
    claimUID: maybeText(64, 'Uid of that claim. A disk that takes its place meanwhile is not replaced.'),
    givenUp: maybeText(64, 'The same uid, once the operator is about to delete that claim first.'),
  })
  .describe('The replacement of the root disk that is under way. Absent if none is.')

const oldDisk = z
  .object({
    claim: z.string().max(253).describe('Name of its PersistentVolumeClaim, in the namespace of the virtual machine.'),
    claimUID: maybeText(64, 'Uid of that claim. No other one of that name is deleted.'),
    dataVolumeUID: maybeText(
      64,
      'Uid of its DataVolume, which has the same name. Absent if a restore of KubeVirt made it.',
    ),
    expiresAt: dateTime('When it is deleted. Absent until the disk that replaces it is complete.').optional(),
  })
  .describe('The root disk that was replaced last, as long as it is kept.')

const disk = z
  .object({
    name: z.string().max(63).describe('Its name in spec.disks.'),
    claim: z.string().max(253).describe('Name of its PersistentVolumeClaim, in the namespace of the virtual machine.'),
    volume: maybeText(253, 'Volume that spec.disks named when this was written. Absent for a disk of the operator.'),
    image: maybeText(320, 'Image that the disk was cloned from, as <namespace>/<name>. Absent if it is of no image.'),
    size: maybeText(64, 'Size that was asked for when the disk was made. Absent where none was.'),
    claimUID: maybeText(
      64,
      'Uid of the claim that the guest has had as this disk. If that claim is gone, no other one is made before somebody asks for it: none once somebody has.',
    ),
  })
  .describe('One disk beside the root disk.')

const kubevirt = z
  .object({
    name: z.string().max(63).describe('Its name, in the namespace of the virtual machine.'),
    uid: maybeText(64, 'Its uid. Absent while it does not exist.'),
    printableStatus: maybeText(64, 'Its state in the words of KubeVirt.'),
    nodeName: maybeText(253, 'Node that the machine runs on.'),
    instanceUID: maybeText(64, 'Uid of its instance: another one after each start.'),
    cores: maybeFlag('True: it was made with its CPUs as cores of one socket. Stays while it does not exist.'),
  })
  .describe('The VirtualMachine of KubeVirt.')

const firstStart = z
  .object({
    os: maybeText(16, 'Hash of spec.os.'),
    name: maybeText(16, 'Hash of the host name.'),
    users: maybeText(16, 'Hash of spec.users without passwords.'),
    userData: maybeText(16, 'Hash of spec.userData, or of the name and key of its Secret.'),
    interfaces: maybeText(16, 'Hash of spec.interfaces.'),
    secretHash: maybeText(64, 'status.secretHash at that time.'),
  })
  .describe(
    'What the guest read at its first start, without passwords and contents of Secrets. Absent, or without fields, if it is not known.',
  )

const missingSecretKey = z
  .object({
    name: z.string().max(253).describe('Name of the Secret, in the namespace of the virtual machine.'),
    key: z.string().max(253).describe('A key that it has to have.'),
  })
  .describe('One key of a Secret.')

const kicks = z
  .object({
    count: count().describe(
      'How many times the operator deleted an instance, or a disk that was not complete, to make it again.',
    ),
    lastTime: dateTime('When one was last deleted.').optional(),
    instanceUID: maybeText(64, 'Uid of the instance that was last deleted, so that none is counted twice.'),
    dataVolumeUID: maybeText(64, 'Uid of the DataVolume that was last deleted, so that none is counted twice.'),
  })
  .describe('What was done to revive the machine since it was last ready or its spec changed.')

export const virtualMachineStatus = statusOf(
  z.enum(VIRTUAL_MACHINE_PHASES),
  'machine',
  {
    phase: 'Current phase: Provisioning, Failed or Ready.',
    conditions: VIRTUAL_MACHINE_CONDITION_RULES,
  },
  {
    image: image.optional(),
    clone: clone.optional(),
    disks: z
      .array(disk)
      .max(64)
      .describe(
        'The disks beside the root disk, in the order of spec.disks, without those that wait for their images. Absent where there are none.',
      )
      .optional(),
    restoredClaim: maybeText(
      253,
      'Name of the PersistentVolumeClaim that a restore of KubeVirt made the root disk. Absent if there was none.',
    ),
    kubevirt: kubevirt.optional(),
    addresses: z
      .array(z.string().max(64).describe('One address, without prefix length.'))
      .max(64)
      .describe('Addresses that the machine reports, in the order of its interfaces.')
      .optional(),
    provisioningSince: dateTime(
      'When provisioning started, after the image was ready. A timeout counts from it, or from the last kick.',
    ).optional(),
    bootedAt: dateTime(
      'When the machine was first seen running from its disk. From then on the disk is never replaced, unless it is lost and somebody asks for another one.',
    ).optional(),
    specHash: maybeText(
      64,
      'Fingerprint of the cloud-init data of the first start. If it differs from the current one, a change waits.',
    ),
    firstStart: firstStart.optional(),
    secretHash: maybeText(
      64,
      'Hash of the uid of the Secret that specHash is about. The uid itself would let readers try passwords against specHash.',
    ),
    diskUID: maybeText(
      64,
      'Uid of the PersistentVolumeClaim that the guest runs from. Another claim in its place has other data.',
    ),
    rebuildRequest: maybeText(
      64,
      'Fingerprint of the last value of annotation pelotech.ot/rebuild-requested-at that was seen. Each value counts once.',
    ),
    earlierRebuilds: maybeText(
      64,
      'Fingerprints of values before that, the newest one last: none of them counts again.',
    ),
    resetRequest: maybeText(
      64,
      'Fingerprint of the last value of annotation pelotech.ot/reset-requested-at that was seen; `none` if there was none. Each value counts once. Absent for a machine that was not looked at since resets are known: a value that it has then does not count.',
    ),
    earlierResets: maybeText(64, 'Fingerprints of values before that, the newest one last: none of them counts again.'),
    replacement: replacement.optional(),
    oldDisk: oldDisk.optional(),
    kicks: kicks.optional(),
    warnings: count().describe('How many warnings the condition SpecWarning has. Absent where it has none.').optional(),
    missingSecretKeys: z
      .array(missingSecretKey)
      .max(16)
      .describe('Keys of Secrets that a machine which is not made yet waits for. Absent where it waits for none.')
      .optional(),
  },
)

export type VirtualMachineStatus = WithConditions<
  z.output<typeof virtualMachineStatus>,
  typeof VIRTUAL_MACHINE_CONDITION_RULES
>
