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
    isOffer: true,
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
    isOffer: true,
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** The operator keeps only a part of it. */
  TooLarge: {
    meaning:
      'The object is larger, has more values or is nested deeper than the operator reads: the message gives the limit. Its artifact stays, and a download that runs goes on until it fails or takes too long; nothing else is created, changed or deleted for it.',
    remedy:
      'Make the spec smaller, and remove annotations of pelotech.ot that are not needed. It then continues by itself.',
  },
  /** The Secret in secretRef does not exist. */
  SecretMissing: {
    meaning:
      'The Secret with the credentials of the source does not exist in the namespace of the image, or lacks a key. The message says which.',
    remedy:
      'Create it with the keys for the sourceType of the image (spec.secretRef lists them), or correct spec.secretRef.',
  },
  /** The Secret in secretRef is of no use. */
  SecretInvalid: {
    meaning:
      'The Secret with the credentials of the source lacks a key that CDI reads for the sourceType of the image, or the key has no usable value; the message names it. A pull secret of Kubernetes has no such key. Nothing is downloaded until it is corrected.',
    remedy:
      'Add the key that the message names to the Secret, or set spec.secretRef to a Secret that has it. The image then continues by itself.',
  },
  /** The ConfigMap in certConfigMap does not exist. */
  CertConfigMapMissing: {
    meaning: 'The ConfigMap with the certificates of the source does not exist in the namespace of the image.',
    remedy: 'Create it, or correct spec.certConfigMap.',
  },
  /** The ConfigMap in certConfigMap is of no use. */
  CertConfigMapInvalid: {
    meaning:
      'The ConfigMap with the certificates of the source has no certificate in PEM under a key that CDI reads. Nothing is downloaded until it is corrected.',
    remedy:
      'Add a certificate to the ConfigMap, under a key that ends in .crt or .pem, or set spec.certConfigMap to a ConfigMap that has one. The image then continues by itself.',
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
  /** The snapshot class is of another driver. */
  SnapshotClassMismatch: {
    meaning:
      'The volume snapshot class is of another storage driver than the storage class, so that no snapshot of the volume could ever be taken. Nothing is downloaded until they fit.',
    remedy:
      'Set spec.snapshotClass, or the policy key defaultSnapshotClass, to a class of the driver that the message names (kubectl get volumesnapshotclasses), or choose another storage class.',
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
  /** The policy wants a checksum. */
  ChecksumMissing: {
    meaning: 'The spec has no checksum, and the policy key requireChecksum is true.',
    remedy: 'Set spec.checksum to the checksum of the file behind the URL, such as sha256:<64 hexadecimal digits>.',
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
  /** CDI lacks a field that the image needs. */
  CDITooOld: {
    meaning:
      'The DataVolumes that the cluster serves lack a field that the image needs, such as the checksum before CDI 1.65. The API server would drop it without a word, so nothing is downloaded.',
    remedy: 'Upgrade CDI to the version that the message names, or remove the field from the spec.',
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
    isOffer: true,
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
    meaning: 'The source answered that the image does not exist (404, 405 or 410). A retry cannot fix that.',
    remedy: 'Correct spec.url, or publish the image and set annotation pelotech.ot/retry-requested-at.',
  },
  /** The source refused access. */
  AccessDenied: {
    meaning:
      'The source refused access (401 or 403), or the credentials are missing, wrong or expired. A retry cannot fix that.',
    remedy:
      'Correct the credentials in the Secret, then set annotation pelotech.ot/retry-requested-at. A public S3 bucket needs sourceType http.',
  },
  /** The bucket is elsewhere. */
  WrongRegion: {
    meaning:
      'The S3 bucket is in another region than the URL says; the message may say in which one. A retry cannot fix that.',
    remedy:
      'Correct spec.url: CDI takes the region from its host, which is s3.<region>.amazonaws.com, or starts with the region.',
  },
  /** There is no disk that CDI can import. */
  SourceInvalid: {
    meaning:
      'What the URL names is no disk that CDI can import: a qcow2 file that needs a backing file, a format that CDI does not know, a container image without one file in its folder /disk, or a URL that CDI cannot read. A retry cannot fix that.',
    remedy:
      'Correct spec.url, or publish a complete disk image there (qemu-img convert makes one of a file with its backing file) and set annotation pelotech.ot/retry-requested-at.',
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
    meaning:
      'The download made no progress for the policy key stallTimeout. An unknown progress is not the same as none.',
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
  /** The API server refuses what CDI makes. */
  ImportRefused: {
    meaning:
      'The API server refuses a claim or the importer pod that CDI makes for the download, because of a LimitRange, an admission policy or a webhook; the message says what is known of it. Nothing was downloaded, so the budget is not used, and the slot is free.',
    remedy:
      'Change the rule that the message names, or create the image in a namespace without it. The operator tries again by itself, after a longer wait each time.',
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
  /** As an Event, and as a condition until it is made again: what disks were cloned from is gone. */
  ArtifactLost: {
    meaning:
      'The artifact of the image is gone: somebody deleted it, or its storage is lost. Disks that were cloned from it are not affected. The image makes it again: from the downloaded volume if that still exists, otherwise by a new download.',
    remedy:
      'Find out who deletes the VolumeSnapshot or the claim that the message names: the audit log of the API server shows it. The image continues by itself.',
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
    isOffer: true,
  },
  /** As an Event: somebody asks in vain. */
  RetryNotCounted: {
    meaning:
      'The annotation pelotech.ot/retry-requested-at, or a name of its credentials, has changed while the image has its artifact: nothing is downloaded.',
    remedy: 'No action needed. To have it downloaded again, set pelotech.ot/sync-requested-at to a new value.',
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
    isOffer: true,
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
  /** CDI cannot unpack the source. */
  PackedSource: {
    meaning:
      'The URL ends in the name of a packed format or an archive that CDI does not unpack. CDI does not check what it writes: the download succeeds, and the disk has the packed bytes.',
    remedy:
      'Name a raw, qcow2, vmdk, vdi, vhd or vhdx image, as it is or packed with gzip or xz. If the name misleads, no action is needed.',
  },
  /** What is to be adopted is being looked at. */
  Adopting: {
    meaning: 'The operator looks at the object that annotation pelotech.ot/adopt names. Nothing is downloaded.',
    remedy: NOTHING,
  },
  /** The annotation is of no use. */
  AdoptionInvalid: {
    meaning: 'The value of annotation pelotech.ot/adopt names nothing that can be adopted. Nothing is downloaded.',
    remedy:
      'Set it to datavolume/NAME, persistentvolumeclaim/NAME or volumesnapshot/NAME, or remove it to have the image downloaded.',
  },
  /** Nobody checks who may. */
  AdoptionUnchecked: {
    meaning:
      'The cluster does not check, or may not have checked when the annotation was set, whether its author may delete what the image is to adopt. Nothing is adopted or downloaded.',
    remedy:
      'Install the admission rules (the message says what is wrong with the rule), then set annotation pelotech.ot/adopt to its other spelling: dv/NAME for datavolume/NAME, or the reverse. To remove it has the image downloaded.',
  },
  /** It is not there. */
  AdoptionMissing: {
    meaning:
      'What annotation pelotech.ot/adopt names does not exist in the namespace of the image, is being deleted, or has lost its volume. Nothing is downloaded.',
    remedy: 'Correct the annotation, or remove it to have the image downloaded.',
  },
  /** It is not complete. */
  AdoptionUnfinished: {
    meaning: 'What annotation pelotech.ot/adopt names is not finished, or has failed. Nothing is downloaded.',
    remedy:
      'Wait until it is finished: it is adopted then. If it has failed, remove the annotation to have the image downloaded.',
  },
  /** It does not fit the spec. */
  AdoptionMismatch: {
    meaning:
      'What annotation pelotech.ot/adopt names has another storage class than the spec, is larger, or has files and no disk.',
    remedy: 'Correct spec.storageClass or spec.diskSize as the message says, or remove the annotation.',
  },
  /** Something writes to it, or another image has it. */
  AdoptionInUse: {
    meaning: 'What annotation pelotech.ot/adopt names is the disk of a machine, or another image has adopted it.',
    remedy: 'Adopt a copy of it, or release it from what the message names.',
  },
  /** Somebody else controls it. */
  AdoptionOwned: {
    meaning:
      'What annotation pelotech.ot/adopt names has another owner, or a label by which another controller deletes it. The operator touches nothing that is not its own.',
    remedy:
      'Stop what owns it, and remove the owner reference or the label that the message names. Of DataVolumes of the older operator, ot adopt --yes does it.',
  },
  /** It is of another source. */
  SourceDiffers: {
    meaning:
      'The DataVolume that annotation pelotech.ot/adopt names was filled from another source than the one in the spec. Nothing is downloaded.',
    remedy:
      'Correct spec.url, spec.sourceType or spec.checksum, or set annotation pelotech.ot/adopt-source to any if the disk is right.',
  },
  /** As a condition: the adopted disk is of the source in the spec. */
  SourceMatches: {
    meaning: 'The DataVolume of the adopted disk names the source and the checksum that the spec has.',
    remedy: 'No action needed.',
  },
  /** As a condition: nothing says where the adopted disk is from. */
  SourceUnknown: {
    meaning:
      'Nothing proves that the adopted disk is of the source, or has the checksum, in the spec: the message says what is known.',
    remedy:
      'No action needed, if you know that it is. Otherwise remove annotation pelotech.ot/adopt, and refresh the image.',
  },
  /** As a condition: people took it although it differs. */
  SourceAccepted: {
    meaning: 'The adopted disk is of another source than the spec; annotation pelotech.ot/adopt-source allows that.',
    remedy: 'No action needed.',
  },
  /** Being removed. */
  Deleting: { meaning: 'The image and its children are being removed.', remedy: NOTHING },
} as const satisfies Record<string, ReasonHelp>

export type Reason = keyof typeof REASON_HELP

/** `REASONS.Queued` is `'Queued'`, and so on for every key of `REASON_HELP`. */
export const REASONS = namesIn(REASON_HELP)
