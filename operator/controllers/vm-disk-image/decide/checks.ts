import { isUrlAllowed } from '@open-terrain/constructs'
import type { Blocked, ImageWorld } from '../world.ts'
import { isFinished } from './judge.ts'
import { type DefaultedField, originOf, type Target } from './target.ts'

type Check = (target: Target, world: ImageWorld) => Blocked | undefined

/** What must exist before a download may start, in the order in which people want to read about it. */
const CHECKS: readonly Check[] = [
  namespaceIsTerminating,
  sourceTypeIsMissing,
  diskSizeIsMissing,
  sourceDoesNotFit,
  urlIsNotAllowed,
  cdiIsMissing,
  secretIsMissing,
  certConfigMapIsMissing,
  storageClassIsMissing,
  storageProfileIsEmpty,
  snapshotterIsMissing,
  snapshotClassIsMissing,
  nameIsTaken,
  isBeingCleared,
  quotaIsFull,
]

export function whatBlocks(target: Target, world: ImageWorld): Blocked | undefined {
  const found = CHECKS.values().map((check) => check(target, world))
  return found.find((blocked) => blocked !== undefined)
}

function namespaceIsTerminating(_target: Target, { namespaceTerminating, image }: ImageWorld): Blocked | undefined {
  if (!namespaceTerminating) return undefined
  return {
    reason: 'NamespaceTerminating',
    message: `namespace ${image.metadata.namespace} is being deleted, so nothing can be created in it: create the image in another namespace`,
  }
}

function sourceTypeIsMissing({ sourceType }: Target): Blocked | undefined {
  if (sourceType !== undefined) return undefined
  return { reason: 'SourceTypeMissing', message: 'set spec.sourceType, or the policy key defaultSourceType' }
}

function diskSizeIsMissing({ diskSize }: Target): Blocked | undefined {
  if (diskSize !== undefined) return undefined
  return { reason: 'DiskSizeMissing', message: 'set spec.diskSize, or the policy key defaultDiskSize' }
}

/** The CRD validates the spec alone. A source type from the policy may still not fit the URL. */
function sourceDoesNotFit({ sourceType, url }: Target, world: ImageWorld): Blocked | undefined {
  const scheme = url?.slice(0, url.indexOf(':'))
  const accepted: readonly (string | undefined)[] = {
    s3: ['https', 'http'],
    http: ['https', 'http'],
    gcs: ['gs', 'https', 'http'],
    registry: ['docker', 'oci-archive'],
    blank: [undefined],
  }[sourceType ?? 'blank']
  if (sourceType === undefined || accepted.includes(scheme)) return undefined
  return {
    reason: 'UrlNotAllowed',
    message: `spec.url does not fit sourceType ${sourceType} (${originOf('sourceType', world)}): set spec.sourceType`,
  }
}

function urlIsNotAllowed({ url }: Target, { policy }: ImageWorld): Blocked | undefined {
  if (url === undefined || isUrlAllowed(url, policy)) return undefined
  const message =
    policy.allowedSourceUrls === undefined
      ? 'spec.url names a private address, or a host that is not a valid name: use a host name or a public address, or have the source listed in the policy key allowedSourceUrls'
      : 'spec.url is not on the list of allowed sources in the policy key allowedSourceUrls, or has "." or ".." in its path: use one that is, or have the source added'
  return { reason: 'UrlNotAllowed', message }
}

function cdiIsMissing(_target: Target, { surroundings }: ImageWorld): Blocked | undefined {
  if (surroundings.hasDataVolumes) return undefined
  return {
    reason: 'CDIMissing',
    message: 'the cluster does not serve DataVolumes: install CDI (Containerized Data Importer)',
  }
}

function secretIsMissing({ secretRef }: Target, world: ImageWorld): Blocked | undefined {
  if (secretRef === undefined || world.lookup.secret(secretRef)) return undefined
  const what = `Secret ${secretRef} in namespace ${world.image.metadata.namespace}`
  return { reason: 'SecretMissing', message: waitingFor(what, 'secretRef', world) }
}

function certConfigMapIsMissing({ certConfigMap }: Target, world: ImageWorld): Blocked | undefined {
  if (certConfigMap === undefined || world.lookup.configMap(certConfigMap)) return undefined
  const what = `ConfigMap ${certConfigMap} in namespace ${world.image.metadata.namespace}`
  return { reason: 'CertConfigMapMissing', message: waitingFor(what, 'certConfigMap', world) }
}

function waitingFor(what: string, field: DefaultedField, world: ImageWorld): string {
  return `waiting for ${what} (${originOf(field, world)}): create it, or correct the name`
}

function storageClassIsMissing({ storageClass }: Target, world: ImageWorld): Blocked | undefined {
  const { lookup } = world
  if (storageClass === undefined) {
    if (lookup.hasDefaultStorageClass) return undefined
    return {
      reason: 'StorageClassMissing',
      message:
        'no storage class is named and the cluster has no default: set spec.storageClass or the policy key defaultStorageClass',
    }
  }
  if (lookup.storageClass(storageClass)) return undefined
  return { reason: 'StorageClassMissing', message: waitingFor(`StorageClass ${storageClass}`, 'storageClass', world) }
}

/** CDI would wait forever, and the slot would be wasted. */
function storageProfileIsEmpty({ storageClass }: Target, { lookup }: ImageWorld): Blocked | undefined {
  if (storageClass === undefined || !lookup.hasEmptyProfile(storageClass)) return undefined
  return {
    reason: 'ClaimInvalid',
    message: `CDI knows no access mode for claims of StorageClass ${storageClass}: give StorageProfile ${storageClass} its spec.claimPropertySets`,
  }
}

function quotaIsFull(
  { diskSize = '0', storageClass }: Target,
  { lookup, image, dataVolumes }: ImageWorld,
): Blocked | undefined {
  // What the image itself uses of the quota does not block it.
  if (dataVolumes.some((one) => !isFinished(one))) return undefined
  const lack = lookup.lackOfRoom({ diskSize, storageClass })
  if (lack === undefined) return undefined
  return {
    reason: 'QuotaExceeded',
    message: `ResourceQuota ${lack.quota} of namespace ${image.metadata.namespace} leaves no room for ${lack.what}: raise it, or delete what nobody needs there`,
  }
}

function snapshotterIsMissing({ snapshotClass }: Target, world: ImageWorld): Blocked | undefined {
  if (snapshotClass === undefined || world.surroundings.hasSnapshots) return undefined
  return {
    reason: 'SnapshotterMissing',
    message: `the cluster does not serve VolumeSnapshots: install the snapshot controller and its CRDs, or remove VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)})`,
  }
}

function snapshotClassIsMissing({ snapshotClass }: Target, world: ImageWorld): Blocked | undefined {
  if (snapshotClass === undefined || world.lookup.snapshotClass(snapshotClass)) return undefined
  const what = `VolumeSnapshotClass ${snapshotClass}`
  return { reason: 'SnapshotClassMissing', message: waitingFor(what, 'snapshotClass', world) }
}

/** Waits for leftovers of an earlier download: CDI could not start beside the claim, and beside the pod there would be two downloads. */
function isBeingCleared({ volumeName }: Target, { lookup, dataVolumes }: ImageWorld): Blocked | undefined {
  if (dataVolumes.some(({ metadata }) => metadata.name === volumeName)) return undefined
  const pod = lookup.leftoverImporter(volumeName)
  const claim = lookup.leftoverClaim(volumeName)
  if (claim === 'orphaned') {
    return {
      reason: 'LeftoverClaim',
      message: `PersistentVolumeClaim ${volumeName} of an earlier download lost its DataVolume, and nobody is deleting it: delete it to continue`,
    }
  }
  const left = claim === 'going' ? `PersistentVolumeClaim ${volumeName}` : pod && `importer pod ${pod}`
  if (left === undefined) return undefined
  return {
    reason: 'Stopping',
    message: `waiting until ${left} of an earlier download is gone; if this lasts, see what uses it and which finalizers it has`,
  }
}

function nameIsTaken({ volumeName, snapshotName, snapshotClass }: Target, { lookup }: ImageWorld): Blocked | undefined {
  const volume = lookup.foreignVolume(volumeName)
  const taken =
    volume ??
    (snapshotClass !== undefined && lookup.foreignSnapshot(snapshotName) ? `VolumeSnapshot ${snapshotName}` : undefined)
  if (taken === undefined) return undefined
  return {
    reason: 'NameConflict',
    message: `${taken} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`,
  }
}
