import { isUrlAllowed, type Reason } from '@open-terrain/constructs'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Blocked, ImageWorld } from '../world.ts'
import { isFinished } from './judge.ts'
import { type DefaultedField, originOf, type Target } from './target.ts'

/** By reason: each returns one sentence that says what is missing, and what to do. */
type Checks = { readonly [reason in Reason]?: (target: Target, world: ImageWorld) => string | undefined }

/** What must exist before a download may start, in the order in which people want to read about it. */
const BEFORE_DOWNLOAD: Checks = {
  NamespaceTerminating(_target, { namespaceTerminating, image }) {
    if (!namespaceTerminating) return undefined
    return `namespace ${image.metadata.namespace} is being deleted, so nothing can be created in it: create the image in another namespace`
  },
  SourceTypeMissing({ sourceType }) {
    return sourceType === undefined ? 'set spec.sourceType, or the policy key defaultSourceType' : undefined
  },
  DiskSizeMissing({ diskSize }) {
    return diskSize === undefined ? 'set spec.diskSize, or the policy key defaultDiskSize' : undefined
  },
  UrlNotAllowed(target, world) {
    return sourceMisfit(target, world) ?? urlRefusal(target, world)
  },
  CDIMissing(_target, { surroundings }) {
    if (surroundings.hasDataVolumes) return undefined
    return 'the cluster does not serve DataVolumes: install CDI (Containerized Data Importer)'
  },
  SecretMissing({ secretRef }, world) {
    if (secretRef === undefined || world.lookup.secret(secretRef)) return undefined
    return waitingFor(`Secret ${secretRef} in namespace ${world.image.metadata.namespace}`, 'secretRef', world)
  },
  CertConfigMapMissing({ certConfigMap }, world) {
    if (certConfigMap === undefined || world.lookup.configMap(certConfigMap)) return undefined
    const what = `ConfigMap ${certConfigMap} in namespace ${world.image.metadata.namespace}`
    return waitingFor(what, 'certConfigMap', world)
  },
  StorageClassMissing({ storageClass }, world) {
    const { lookup } = world
    if (storageClass !== undefined) {
      const isThere = lookup.storageClass(storageClass)
      return isThere ? undefined : waitingFor(`StorageClass ${storageClass}`, 'storageClass', world)
    }
    if (lookup.hasDefaultStorageClass) return undefined
    return 'no storage class is named and the cluster has no default: set spec.storageClass or the policy key defaultStorageClass'
  },
  // CDI would wait forever, and the slot would be wasted.
  ClaimInvalid({ storageClass }, { lookup }) {
    if (storageClass === undefined || !lookup.hasEmptyProfile(storageClass)) return undefined
    return `CDI knows no access mode for claims of StorageClass ${storageClass}: give StorageProfile ${storageClass} its spec.claimPropertySets`
  },
  SnapshotterMissing({ snapshotClass }, world) {
    if (snapshotClass === undefined || world.surroundings.hasSnapshots) return undefined
    return `the cluster does not serve VolumeSnapshots: install the snapshot controller and its CRDs, or remove VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)})`
  },
  SnapshotClassMissing({ snapshotClass }, world) {
    if (snapshotClass === undefined || world.lookup.snapshotClass(snapshotClass)) return undefined
    return waitingFor(`VolumeSnapshotClass ${snapshotClass}`, 'snapshotClass', world)
  },
  NameConflict({ volumeName, snapshotName, snapshotClass }, { lookup }) {
    const isSnapshotTaken = () => snapshotClass !== undefined && lookup.foreignSnapshot(snapshotName)
    const taken = lookup.foreignVolume(volumeName) ?? (isSnapshotTaken() ? `VolumeSnapshot ${snapshotName}` : undefined)
    if (taken === undefined) return undefined
    return `${taken} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`
  },
  LeftoverClaim({ volumeName }, { lookup, dataVolumes }) {
    if (hasVolume(dataVolumes, volumeName) || lookup.leftoverClaim(volumeName) !== 'orphaned') return undefined
    return `PersistentVolumeClaim ${volumeName} of an earlier download lost its DataVolume, and nobody is deleting it: delete it to continue`
  },
  // CDI could not start beside a leftover claim, and beside a leftover pod there would be two downloads.
  Stopping({ volumeName }, { lookup, dataVolumes }) {
    if (hasVolume(dataVolumes, volumeName)) return undefined
    const pod = lookup.leftoverImporter(volumeName)
    const isClaimGoing = lookup.leftoverClaim(volumeName) === 'going'
    const left = isClaimGoing ? `PersistentVolumeClaim ${volumeName}` : pod && `importer pod ${pod}`
    if (left === undefined) return undefined
    return `waiting until ${left} of an earlier download is gone; if this lasts, see what uses it and which finalizers it has`
  },
  QuotaExceeded({ diskSize = '0', storageClass }, { lookup, image, dataVolumes }) {
    // What the image itself uses of the quota does not block it.
    if (dataVolumes.some((one) => !isFinished(one))) return undefined
    const lack = lookup.lackOfRoom({ diskSize, storageClass })
    if (lack === undefined) return undefined
    return `ResourceQuota ${lack.quota} of namespace ${image.metadata.namespace} leaves no room for ${lack.what}: raise it, or delete what nobody needs there`
  },
}

/** What must exist before a snapshot of the finished download may be taken. */
const BEFORE_SNAPSHOT: Checks = {
  NamespaceTerminating(_target, { namespaceTerminating, image }) {
    return namespaceTerminating ? `namespace ${image.metadata.namespace} is being deleted` : undefined
  },
  SnapshotterMissing(_target, { surroundings }) {
    if (surroundings.hasSnapshots) return undefined
    return 'the cluster does not serve VolumeSnapshots: install the snapshot controller and its CRDs; the downloaded volume is kept'
  },
  SnapshotClassMissing({ snapshotClass = '' }, world) {
    if (world.lookup.snapshotClass(snapshotClass)) return undefined
    return `waiting for VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)}): create it, or set spec.snapshotClass to another one`
  },
  NameConflict({ snapshotName }, { lookup }) {
    if (!lookup.foreignSnapshot(snapshotName)) return undefined
    return `VolumeSnapshot ${snapshotName} exists and belongs to somebody else: the operator does not touch it; delete it to continue`
  },
}

export const whatBlocks = firstOf(BEFORE_DOWNLOAD)
export const whatBlocksSnapshot = firstOf(BEFORE_SNAPSHOT)

function firstOf(checks: Checks) {
  const inOrder = Object.entries(checks) as [Reason, NonNullable<Checks[Reason]>][]
  return (target: Target, world: ImageWorld): Blocked | undefined => {
    for (const [reason, check] of inOrder) {
      const message = check(target, world)
      if (message !== undefined) return { reason, message }
    }
    return undefined
  }
}

/** The CRD validates the spec alone. A source type from the policy may still not fit the URL. */
function sourceMisfit({ sourceType, url }: Target, world: ImageWorld): string | undefined {
  const scheme = url?.slice(0, url.indexOf(':'))
  const accepted: readonly (string | undefined)[] = {
    s3: ['https', 'http'],
    http: ['https', 'http'],
    gcs: ['gs', 'https', 'http'],
    registry: ['docker', 'oci-archive'],
    blank: [undefined],
  }[sourceType ?? 'blank']
  if (sourceType === undefined || accepted.includes(scheme)) return undefined
  return `spec.url does not fit sourceType ${sourceType} (${originOf('sourceType', world)}): set spec.sourceType`
}

function urlRefusal({ url }: Target, { policy }: ImageWorld): string | undefined {
  if (url === undefined || isUrlAllowed(url, policy)) return undefined
  return policy.allowedSourceUrls === undefined
    ? 'spec.url names a private address, or a host that is not a valid name: use a host name or a public address, or have the source listed in the policy key allowedSourceUrls'
    : 'spec.url is not on the list of allowed sources in the policy key allowedSourceUrls, or has "." or ".." in its path: use one that is, or have the source added'
}

function waitingFor(what: string, field: DefaultedField, world: ImageWorld): string {
  return `waiting for ${what} (${originOf(field, world)}): create it, or correct the name`
}

function hasVolume(dataVolumes: readonly KubeObject[], name: string): boolean {
  return dataVolumes.some(({ metadata }) => metadata.name === name)
}
