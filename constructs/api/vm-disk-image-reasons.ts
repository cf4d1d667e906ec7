/**
 * Every reason that a condition, an attempt or an Event of a VMDiskImage can carry: what it means, and what a person can do about it.
 * The API reference is made from this table, so a reason without a remedy cannot exist.
 */
export interface ReasonHelp {
  readonly meaning: string
  readonly remedy: string
}

const NOTHING = 'Nothing: it goes on by itself.'

export const REASON_HELP = {
  /** Waits for a free slot. */
  Queued: {
    meaning: 'The image waits for its turn to download.',
    remedy: `${NOTHING} status.queuePosition tells the place; raise the policy key concurrency to let more download at once.`,
  },
  /** Holds a slot and downloads. */
  Syncing: { meaning: 'The image is being downloaded.', remedy: `${NOTHING} status.progress tells how far it is.` },
  /** Holds a slot; its importer does not run yet. */
  Starting: {
    meaning: 'The image has a slot, and waits until its importer pod runs; the message says for what.',
    remedy:
      'Nothing, unless it lasts: then see what the message names. It is given up after the policy key stallTimeout.',
  },
  /** Nobody acts on DataVolumes. */
  CDINotResponding: {
    meaning:
      'CDI does nothing about a DataVolume that it should act on at once. The image keeps its slot, and it costs no attempt.',
    remedy: 'See whether the Deployment cdi-deployment runs. It goes on by itself when CDI is back.',
  },
  /** Download over, snapshot not ready yet. */
  Snapshotting: { meaning: 'The download is over and its snapshot is being taken.', remedy: NOTHING },
  /** The artifact of the current revision is ready. */
  Synced: { meaning: 'The artifact of the current spec is ready to be cloned.', remedy: 'Nothing to do.' },
  /** The old artifact serves while a new revision is made. */
  Refreshing: {
    meaning: 'An artifact of an earlier revision serves while the new one is being made.',
    remedy: NOTHING,
  },
  /** Between two attempts. */
  RetryBackoff: {
    meaning: 'An attempt failed; the next one starts at status.nextRetryTime.',
    remedy:
      'Read status.attempts for the cause. Set annotation pelotech.ot/retry-requested-at to a new value to retry now; a shorter retryBackoffDuration in the policy counts at once too.',
  },
  /** A download is being torn down. */
  Stopping: {
    meaning: 'A download is being stopped; its slot is kept until its importer pod is gone.',
    remedy:
      'Nothing, unless it lasts: then see whether CDI and its webhook run, since CDI has to let its DataVolume go.',
  },
  /** spec.suspend is true. */
  Suspended: {
    meaning: 'spec.suspend is true: no download starts, and a running one was stopped.',
    remedy: 'Set spec.suspend to false.',
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** secretRef names nothing. */
  SecretMissing: {
    meaning: 'The Secret with the credentials of the source does not exist in the namespace of the image.',
    remedy: 'Create it with the keys accessKeyId and secretKey, or correct spec.secretRef.',
  },
  /** certConfigMap names nothing. */
  CertConfigMapMissing: {
    meaning: 'The ConfigMap with the certificates of the source does not exist in the namespace of the image.',
    remedy: 'Create it, or correct spec.certConfigMap.',
  },
  /** storageClass names nothing. */
  StorageClassMissing: {
    meaning: 'The storage class does not exist, or none was named and the cluster has no default.',
    remedy: 'Create the class, or set spec.storageClass or the policy key defaultStorageClass.',
  },
  /** snapshotClass names nothing. */
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
      'Use an allowed source, or have the policy key allowedSourceUrls extended. Where the message says that the sourceType does not fit the URL, set spec.sourceType.',
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
    remedy: 'Install the Containerized Data Importer. Queued images start by themselves then.',
  },
  /** No VolumeSnapshot kind in the cluster. */
  SnapshotterMissing: {
    meaning: 'The cluster does not serve VolumeSnapshots.',
    remedy:
      'Install the snapshot CRDs and controller, or leave the snapshot class out: the volume is the artifact then.',
  },
  /** A foreign object has the name we need. */
  NameConflict: {
    meaning: 'An object that is not ours already has the name that the image needs; it is left alone.',
    remedy: 'Delete or rename that object, or give the image another name.',
  },
  /** Our own, and nobody deletes it. */
  LeftoverClaim: {
    meaning:
      'The claim of an earlier download lost its DataVolume and is not being deleted, so nothing can be downloaded under its name.',
    remedy: 'Delete the claim that the message names, once nobody needs its data. The image goes on by itself then.',
  },
  /** concurrency is 0. */
  Paused: {
    meaning: 'The policy admits no download: concurrency is 0.',
    remedy: 'Set the policy key concurrency to 1 or more.',
  },
  /** The API server answers with errors. */
  CreateFailed: {
    meaning:
      'The DataVolume could not be created, for a reason that may pass; the message is the answer, or says that none comes.',
    remedy:
      "See whether CDI's webhook (cdi-apiserver) runs, and whether the operator has its rights. It is tried again by itself.",
  },
  /** CDI's webhook refused the DataVolume. */
  RejectedByCDI: {
    meaning: 'CDI refused the DataVolume; the message is its answer.',
    remedy: 'Correct the field that the answer is about.',
  },
  /** The source has no such image. */
  NotFound: {
    meaning: 'The source answered that the image does not exist (404). No retry can mend that.',
    remedy: 'Correct spec.url, or publish the image and set annotation pelotech.ot/retry-requested-at.',
  },
  /** The source refused us. */
  AccessDenied: {
    meaning: 'The source refused access (401 or 403). No retry can mend that.',
    remedy:
      'Correct the credentials in the Secret, then set annotation pelotech.ot/retry-requested-at. A public S3 bucket needs sourceType http.',
  },
  /** The image does not fit the disk. */
  DiskTooSmall: {
    meaning: 'The image is larger than diskSize. No retry can mend that.',
    remedy: 'Raise spec.diskSize to at least the virtual size of the image.',
  },
  /** Wrong content. */
  ChecksumMismatch: {
    meaning: 'The downloaded bytes do not have the checksum of the spec. No retry can mend that.',
    remedy: 'Correct spec.checksum, or find out who changed the image.',
  },
  /** Any other failure of the importer. */
  ImporterFailed: {
    meaning: 'The importer failed for another reason; the message is its error.',
    remedy: 'Read the message. Network and server errors are retried.',
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
      'It is retried. Where it recurs, give the importer a priority class or the nodes more space, and see who deletes importer pods or their volumes.',
  },
  /** Nothing was downloaded. */
  ImporterNotStarted: {
    meaning:
      'No importer pod got to run within the policy key stallTimeout; the message says what it waited for. Nothing was downloaded, so it takes nothing from the budget.',
    remedy:
      'See what the message names: the provisioner of the storage class, room on the nodes, the registry of the container image, or CDI itself. It is tried again by itself, after a longer wait each time.',
  },
  /** No progress. */
  Stalled: {
    meaning: 'The download made no progress for the policy key stallTimeout.',
    remedy: 'It is retried. See the network between the cluster and the source.',
  },
  /** A download without a slot. */
  NotAdmitted: {
    meaning: 'A download ran that holds no slot; it is stopped.',
    remedy: 'Nothing, unless it recurs: then see who else creates DataVolumes for images, or edits the slot ledger.',
  },
  /** CDI began again by itself. */
  ClaimDeleted: {
    meaning: 'Somebody deleted the claim of a finished download, so CDI began to download again; that is stopped.',
    remedy:
      'Leave the claims of an image alone; see who deletes them. What is missing then is downloaded when its turn comes.',
  },
  /** Took too long. */
  AttemptTimeout: {
    meaning: 'The attempt took longer than the policy key attemptTimeout.',
    remedy: 'It is retried. Raise attemptTimeout for large images or slow links.',
  },
  /** The volume under the download is gone. */
  ClaimLost: {
    meaning: 'The volume that was being filled was lost.',
    remedy: 'It is retried. See the storage system.',
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
      'Read status.attempts, mend the cause, then set annotation pelotech.ot/retry-requested-at to a new value. A higher policy key retryLimit lets all such images try again.',
  },
  /** The snapshot could not be taken. */
  SnapshotFailed: {
    meaning:
      'The snapshot was not ready within the policy key snapshotTimeout, or its driver reported an error. It is taken again, the download is not.',
    remedy: 'See the events of the VolumeSnapshot and the storage driver.',
  },
  /** Nothing left to snapshot. */
  SourceVolumeLost: {
    meaning:
      'A new snapshot is wanted, and the downloaded volume that it would be taken from is gone or was not kept. The old snapshot serves on.',
    remedy:
      'Ask for a new download with the annotation pelotech.ot/sync-requested-at, or take the change of snapshotClass back.',
  },
  /** The spec asks for something else now. */
  SpecChanged: {
    meaning: 'The attempt was stopped because the spec, or the refresh annotation, asks for something else now.',
    remedy: NOTHING,
  },
  /** As an Event: an attempt was stopped without having failed. */
  SyncCancelled: {
    meaning: 'The attempt was stopped because the image was suspended, or wants something else now.',
    remedy: NOTHING,
  },
  /** As an Event: the API server refused a write. */
  Refused: {
    meaning: 'The API server refuses something that the image needs; the message is its answer.',
    remedy:
      'Read the message: a right of the operator, a quota or an admission rule stands in the way. It is tried again by itself.',
  },
  /** A fault of ours. */
  InternalError: {
    meaning: 'The operator met an error of its own while it worked on this image; other images are not affected.',
    remedy: 'Report it with the message and the log of the operator. It is tried again by itself.',
  },
  /** Not by us. */
  DataVolumeDeleted: {
    meaning: 'Somebody else deleted the DataVolume while it was downloading; the attempt counts as a failed one.',
    remedy: 'Leave the DataVolumes of an image alone; set spec.suspend to stop a download.',
  },
  /** Nobody names the image. */
  Unreferenced: {
    meaning:
      'Nothing refers to the image. Where it has an artifact, status.unreferencedSince tells since when; where it has none, it has left the queue until something refers to it.',
    remedy: 'Delete it if nobody needs it: kubectl get vmdi -A shows the count of references.',
  },
  /** Something names the image. */
  Referenced: {
    meaning: 'Virtual machines or clones refer to the image; status.references names some.',
    remedy: 'Nothing to do.',
  },
  /** A deletion waits for its users. */
  InUse: {
    meaning: 'The image was deleted, but the objects that the message names still use it.',
    remedy: 'Delete those objects; the image goes when the last one goes.',
  },
  /** Being removed. */
  Deleting: { meaning: 'The image and its children are being removed.', remedy: NOTHING },
} as const satisfies Record<string, ReasonHelp>

export type Reason = keyof typeof REASON_HELP

/** `REASONS.Queued` is `'Queued'`, and so on for every key of `REASON_HELP`. */
export const REASONS = Object.fromEntries(Object.keys(REASON_HELP).map((reason) => [reason, reason])) as {
  readonly [R in keyof typeof REASON_HELP]: R
}
