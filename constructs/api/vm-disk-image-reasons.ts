import { internalErrorHelp, NOTHING, namesIn, type ReasonHelp, refusedHelp } from './reason-help.ts'

/**
 * Every reason that a condition, an attempt or an Event of a VMDiskImage can have (but the Event LookAlike), with its meaning and its remedy. The API
 * reference is generated from this table, so every reason has a remedy.
 */
export const REASON_HELP = {
  /** Waits for a free slot. */
  Queued: {
    meaning: 'The image waits for its turn to download.',
    remedy: `${NOTHING} status.queuePosition is the place at status.queuePositionTime. Raise the policy key concurrency to allow more downloads at once.`,
  },
  /** Holds a slot and downloads. */
  Syncing: { meaning: 'The image is being downloaded.', remedy: `${NOTHING} status.progress shows the progress.` },
  /** Holds a slot; its importer does not run yet. */
  Starting: {
    meaning: 'The image has a slot, and waits until its importer pod runs; the message says for what.',
    remedy:
      'No action needed, unless it lasts: then check what the message names. The attempt ends after the policy key stallTimeout.',
  },
  /** CDI does not process DataVolumes. */
  CDINotResponding: {
    meaning:
      'CDI does nothing about a DataVolume that it should act on at once, or its controller does not renew its Lease. The image keeps its slot, and it costs no attempt.',
    remedy: 'Check that the Deployment cdi-deployment runs. The image continues by itself when CDI is back.',
  },
  /** The download is complete, the snapshot is not ready yet. */
  Snapshotting: { meaning: 'The download is complete, and the artifact is being made.', remedy: NOTHING },
  /** The artifact of the current revision is ready. */
  Synced: { meaning: 'The artifact of the current spec is ready.', remedy: 'No action needed.' },
  /** The old artifact is in use while a new revision is made. */
  Refreshing: {
    meaning: 'An artifact of an earlier revision is in use while the new one is being made.',
    remedy: NOTHING,
  },
  /** Between two attempts. */
  RetryBackoff: {
    meaning: 'An attempt failed; the next one starts at status.nextRetryTime.',
    remedy:
      'Read status.attempts for the cause. Set annotation pelotech.ot/retry-requested-at to a new value to retry now; a shorter retryBackoffDuration in the policy also applies immediately.',
  },
  /** A download is being stopped. */
  Stopping: {
    meaning: 'The operator stops a download. The image keeps its slot until the importer pod is gone.',
    remedy:
      'No action needed, unless it lasts. Then check that CDI and its webhook run: CDI must remove its finalizer from the DataVolume.',
  },
  /** spec.suspend is true. */
  Suspended: {
    meaning: 'spec.suspend is true: no download starts, and the operator stopped a running one.',
    remedy: 'Set spec.suspend to false.',
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** The Secret in secretRef does not exist. */
  SecretMissing: {
    meaning:
      'The Secret with the credentials of the source does not exist in the namespace of the image, or lacks a key. The message says which.',
    remedy: 'Create it with the keys accessKeyId and secretKey, or correct spec.secretRef.',
  },
  /** The ConfigMap in certConfigMap does not exist. */
  CertConfigMapMissing: {
    meaning: 'The ConfigMap with the certificates of the source does not exist in the namespace of the image.',
    remedy: 'Create it, or correct spec.certConfigMap.',
  },
  /** The storage class does not exist. */
  StorageClassMissing: {
    meaning: 'The storage class does not exist, or the spec names none and the cluster has no default.',
    remedy: 'Create the class, or set spec.storageClass or the policy key defaultStorageClass.',
  },
  /** The snapshot class does not exist. */
  SnapshotClassMissing: {
    meaning: 'The volume snapshot class does not exist.',
    remedy: 'Create the class, or correct spec.snapshotClass or the policy key defaultSnapshotClass.',
  },
  /** Nothing can be created any more. */
  NamespaceTerminating: {
    meaning: 'The namespace of the image is being deleted, so nothing can be created in it.',
    remedy: 'Create the image in another namespace.',
  },
  /** The policy forbids the source. */
  UrlNotAllowed: {
    meaning: 'The policy does not allow images from this URL.',
    remedy:
      'Use an allowed source, or ask a platform engineer to extend the policy key allowedSourceUrls. If the message says that the sourceType does not fit the URL, set spec.sourceType.',
  },
  /** No sourceType, no default. */
  SourceTypeMissing: {
    meaning: 'The spec has no sourceType and the policy has no default for it.',
    remedy: 'Set spec.sourceType or the policy key defaultSourceType.',
  },
  /** No diskSize, no default. */
  DiskSizeMissing: {
    meaning: 'The spec has no diskSize and the policy has no default for it.',
    remedy: 'Set spec.diskSize or the policy key defaultDiskSize.',
  },
  /** No DataVolume kind in the cluster. */
  CDIMissing: {
    meaning: 'The cluster does not serve DataVolumes: CDI is not installed.',
    remedy: 'Install the Containerized Data Importer. Queued images then start by themselves.',
  },
  /** No VolumeSnapshot kind in the cluster. */
  SnapshotterMissing: {
    meaning: 'The cluster does not serve VolumeSnapshots.',
    remedy:
      'Install the snapshot CRDs and controller, or remove the snapshot class. Then the volume itself is the artifact.',
  },
  /** An object that is not ours has a name that the image needs. */
  NameConflict: {
    meaning: 'The name that the image needs belongs to another object. The operator does not touch that object.',
    remedy: 'Delete that object, or create the image under another name.',
  },
  /** A leftover claim of our own that nobody deletes. */
  LeftoverClaim: {
    meaning:
      'The claim of an earlier download has lost its DataVolume, and nobody deletes it. No download can use its name.',
    remedy: 'Delete the claim that the message names when nobody needs its data. The image then continues by itself.',
  },
  /** concurrency is 0. */
  Paused: {
    meaning: 'The policy allows no download: concurrency is 0.',
    remedy: 'Set the policy key concurrency to 1 or more.',
  },
  /** The API server returns errors. */
  CreateFailed: {
    meaning:
      'The DataVolume could not be created, for a reason that may be temporary. The message is the answer, or says that there is none.',
    remedy:
      "Check that CDI's webhook (cdi-apiserver) runs, and that the operator has its rights. The operator tries again by itself.",
  },
  /** CDI's webhook refused the DataVolume. */
  RejectedByCDI: {
    meaning: 'CDI refused the DataVolume; the message is its answer.',
    remedy: 'Correct the field that the answer is about.',
  },
  /** The source has no such image. */
  NotFound: {
    meaning: 'The source answered that the image does not exist (404). A retry cannot fix that.',
    remedy: 'Correct spec.url, or publish the image and set annotation pelotech.ot/retry-requested-at.',
  },
  /** The source refused access. */
  AccessDenied: {
    meaning: 'The source refused access (401 or 403). A retry cannot fix that.',
    remedy:
      'Correct the credentials in the Secret, then set annotation pelotech.ot/retry-requested-at. A public S3 bucket needs sourceType http.',
  },
  /** The image does not fit the disk. */
  DiskTooSmall: {
    meaning: 'The image is larger than diskSize. A retry cannot fix that.',
    remedy: 'Raise spec.diskSize to at least the virtual size of the image.',
  },
  /** Wrong content. */
  ChecksumMismatch: {
    meaning: 'The downloaded bytes do not have the checksum of the spec. A retry cannot fix that.',
    remedy:
      'Correct spec.checksum. If the file is wrong, replace it and set annotation pelotech.ot/retry-requested-at to a new value.',
  },
  /** Any other failure of the importer. */
  ImporterFailed: {
    meaning: 'The importer failed for another reason; the message is its error.',
    remedy: 'Read the message. The operator retries network and server errors.',
  },
  /** The importer needed more memory than it may use. */
  OutOfMemory: {
    meaning: 'The importer was killed because it used more memory than its limit.',
    remedy: 'Raise podResourceRequirements in the CDI configuration, or convert the image to raw.',
  },
  /** The importer was moved off its node. */
  Evicted: {
    meaning:
      'The importer pod was evicted from its node, or deleted before it was done, such as by the drain of its node. What it had downloaded is lost.',
    remedy:
      'It is retried. If it happens again, give the importer a priority class or the nodes more space, and see who deletes importer pods or their volumes.',
  },
  /** Nothing was downloaded. */
  ImporterNotStarted: {
    meaning:
      'No importer pod started within the policy key stallTimeout. The message says what it waited for. Nothing was downloaded, so the budget is not used.',
    remedy:
      'See what the message names: the provisioner of the storage class, room on the nodes, the registry of the container image, or CDI itself. The operator tries again by itself, after a longer wait each time.',
  },
  /** No progress. */
  Stalled: {
    meaning: 'The download made no progress for the policy key stallTimeout.',
    remedy: 'The operator retries. Check the network between the cluster and the source.',
  },
  /** A download without a slot. */
  NotAdmitted: {
    meaning: 'A download ran without a slot. The operator stops it.',
    remedy:
      'No action needed, unless it happens again. Then find out who else creates DataVolumes for images, or edits the slot ledger.',
  },
  /** CDI started a finished download again by itself. */
  ClaimDeleted: {
    meaning:
      'Somebody deleted the claim of a finished download, so CDI began to download again. The operator stops that.',
    remedy:
      'Find out who deletes claims of images. If the artifact is lost, the image downloads again when its turn comes.',
  },
  /** Took too long. */
  AttemptTimeout: {
    meaning: 'The attempt took longer than the policy key attemptTimeout.',
    remedy: 'The operator retries. Raise attemptTimeout for large images or slow links.',
  },
  /** The volume of the download is lost. */
  ClaimLost: {
    meaning: 'The volume was lost during the download.',
    remedy: 'The operator retries. Check the storage system.',
  },
  /** A quota refuses the volume. */
  QuotaExceeded: {
    meaning:
      'A ResourceQuota of the namespace leaves no room for the volume, or for the pod that imports it; the message says which.',
    remedy: 'Raise the quota, or delete what nobody needs in the namespace.',
  },
  /** The claim lacks what the class needs. */
  ClaimInvalid: {
    meaning: 'CDI cannot make a valid claim: it knows no access mode for the storage class.',
    remedy: 'Give the StorageProfile of the class its claimPropertySets.',
  },
  /** No attempt left. */
  RetryLimitExceeded: {
    meaning: 'All attempts of this revision failed (1 and the policy key retryLimit).',
    remedy:
      'Read status.attempts, fix the cause, then set annotation pelotech.ot/retry-requested-at to a new value. A higher policy key retryLimit lets all such images try again.',
  },
  /** The snapshot could not be taken. */
  SnapshotFailed: {
    meaning:
      'The snapshot was not ready within the policy key snapshotTimeout. The message has the error of its controller, if there is one. The operator takes it again, without a new download.',
    remedy: 'Read the events of the VolumeSnapshot and the log of the storage driver.',
  },
  /** Nothing left to snapshot. */
  SourceVolumeLost: {
    meaning:
      'The spec asks for a new snapshot, but the downloaded volume is gone or was not kept. The old snapshot stays in use.',
    remedy: 'Set annotation pelotech.ot/sync-requested-at to download again, or undo the change of snapshotClass.',
  },
  /** The spec has changed. */
  SpecChanged: {
    meaning:
      'The operator stopped the attempt because the spec or the refresh annotation has changed, or the spec is no longer valid.',
    remedy:
      'No action needed, unless the spec is not valid: then correct the field that the message of the image names.',
  },
  /** As an Event: an attempt was stopped without having failed. */
  SyncCancelled: {
    meaning:
      'The operator stopped the attempt because the image is suspended, its spec has changed or is not valid, or nothing refers to it any more. The message says which.',
    remedy:
      'After a change of the spec, no action is needed. Set spec.suspend to false to continue a suspended image, and correct a spec that is not valid.',
  },
  /** As an Event: the API server refused a write. */
  Refused: refusedHelp('image'),
  /** A bug in the operator. */
  InternalError: internalErrorHelp('image'),
  /** Deleted by somebody else. */
  DataVolumeDeleted: {
    meaning: 'Somebody else deleted the DataVolume while it was downloading; the attempt counts as a failed one.',
    remedy: 'Do not delete DataVolumes of images. Set spec.suspend to stop a download.',
  },
  /** Nothing refers to the image. */
  Unreferenced: {
    meaning:
      'Nothing refers to the image. If it has an artifact, status.unreferencedSince says since when. If the operator made it for a machine, a Workspace or a DataSync, and it has no artifact, it leaves the queue until something refers to it.',
    remedy: 'Delete it if nobody needs it: kubectl get vmdi -A shows the count of references.',
  },
  /** Something refers to the image. */
  Referenced: {
    meaning:
      'Virtual machines, Workspaces, DataSyncs or clones refer to the image. status.references names some of them.',
    remedy: 'No action needed.',
  },
  /** The deletion of the image waits for its users. */
  InUse: {
    meaning: 'Somebody deleted the image, but the objects that the message names still use it.',
    remedy: 'Delete those objects. The image is deleted when the last of them is deleted.',
  },
  /** Being removed. */
  Deleting: { meaning: 'The image and its children are being removed.', remedy: NOTHING },
} as const satisfies Record<string, ReasonHelp>

export type Reason = keyof typeof REASON_HELP

/** `REASONS.Queued` is `'Queued'`, and so on for every key of `REASON_HELP`. */
export const REASONS = namesIn(REASON_HELP)
