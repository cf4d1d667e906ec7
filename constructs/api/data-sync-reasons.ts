import { internalErrorHelp, NOTHING, namesIn, notRespondingHelp, type ReasonHelp, refusedHelp } from './reason-help.ts'

/**
 * Every reason that a condition, an image in the status or an Event of a DataSync can have, in addition to the reasons of its images, with its
 * meaning and its remedy. The API reference is generated from this table, so every reason has a remedy.
 */
export const DATA_SYNC_REASON_HELP = {
  /** At least one image waits, and none is being downloaded. */
  Queued: {
    meaning: 'No image is being downloaded, and at least one is queued or waits for a missing object.',
    remedy: `${NOTHING} If it lasts, status.images says which image waits, and the VMDiskImage of that name says for what.`,
  },
  /** At least one image is being downloaded or snapshotted. */
  Syncing: {
    meaning: 'At least one image is being downloaded, or its snapshot is being taken.',
    remedy: `${NOTHING} status.progress shows the progress of all of them together.`,
  },
  /** CDI is installed, and does not work. */
  CDINotResponding: notRespondingHelp('CDI', 'DataSync'),
  /** All images are ready. */
  Synced: { meaning: 'Every image is ready, and as this spec wants it.', remedy: 'No action needed.' },
  /** An image failed. */
  ImageFailed: {
    meaning: 'An image is Failed, and no other one is under way. The message names it and gives its own message.',
    remedy:
      'Do what the message says: correct spec.vms, or what the image lacks. Set annotation pelotech.ot/retry-requested-at of the DataSync to a new value to try all failed images again.',
  },
  /** The image belongs to something else, or DataSyncs require different specs for it. */
  NameConflict: {
    meaning:
      'The name of an image is taken by one that is not for this vm; or DataSyncs that share the image want different things of it; or neither this DataSync nor one beside it had the image created, and the vm or an annotation asks for a change. The message says who wants what, or who had it created. The image stays as it is.',
    remedy:
      'Give all DataSyncs of the same workspaceId, version and vm the same source, or give this one another spec.version. If the image that has the name is not needed, delete it: it is created again from the DataSync. If it is to follow this DataSync, name it in the annotation pelotech.ot/creator of the image, as the message says.',
  },
  /** For an image in the status: it does not exist yet. */
  ImageMissing: { meaning: 'The image does not exist yet: the operator creates it.', remedy: NOTHING },
  /** For an image in the status: it was changed, and its own status does not show that yet. */
  ImageChanged: {
    meaning: 'The image was given another spec or another request, and its status is still about the one before.',
    remedy: NOTHING,
  },
  /** For an image in the status: it is being deleted. */
  ImageTerminating: {
    meaning:
      'Somebody deleted the image. The DataSync waits until it is gone; then the operator creates it again. An image that is in use is not removed until nothing uses it, and until then the DataSync is Failed.',
    remedy:
      'While it is Queued, no action is needed. While it is Failed, remove the vm from all DataSyncs that have it; the condition DeletionBlocked of the VMDiskImage names the users, at most ten. When the image is gone, add the vm again.',
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** The operator keeps only a part of it. */
  TooLarge: {
    meaning:
      'The object is larger, has more values or is nested deeper than the operator reads: the message gives the limit. Its images stay; nothing is created, changed or deleted for it, and what it refers to is kept.',
    remedy:
      'Make the spec smaller, and remove annotations of pelotech.ot that are not needed. It then continues by itself.',
  },
  /** Nothing can be created any more. */
  NamespaceTerminating: {
    meaning: 'The namespace of the DataSync is being deleted, so no image can be created in it.',
    remedy: 'Use another namespace.',
  },
  /** The API server refused a write. */
  Refused: refusedHelp('DataSync'),
  /** A bug in the operator. */
  InternalError: internalErrorHelp('DataSync'),
} as const satisfies Record<string, ReasonHelp>

export type DataSyncReason = keyof typeof DATA_SYNC_REASON_HELP

/** `DATA_SYNC_REASONS.Queued` is `'Queued'`, and so on for every key of `DATA_SYNC_REASON_HELP`. */
export const DATA_SYNC_REASONS = namesIn(DATA_SYNC_REASON_HELP)
