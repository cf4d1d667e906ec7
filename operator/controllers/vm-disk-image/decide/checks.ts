import {
  CERTIFICATE_ENDINGS,
  type CredentialKey,
  isUrlAllowed,
  type Reason,
  SOURCE_CREDENTIALS,
} from '@open-terrain/constructs/operator'
import { isFinished } from '../../../cluster/import-facts.ts'
import { lackAfter, lackOfRoom, type QuotaRefusal, quotaRefusalIn } from '../../../cluster/quotas.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Blocked, ImageWorld, Lookup } from '../world.ts'
import type { ImageDraft } from './draft.ts'
import type { ContentRead } from './image-plan.ts'
import { firstDropped } from './sent-fields.ts'
import { type DefaultedField, originOf, type Target } from './target.ts'

/** By reason: each returns one sentence that says what is missing, and what to do. */
type Checks = { readonly [reason in Reason]?: (target: Target, world: ImageWorld) => string | undefined }

/** The first of {@link BEFORE_DOWNLOAD}: while one of them blocks, nobody needs to know what is in the objects that the image names. */
const BEFORE_READING: Checks = {
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
  ChecksumMissing({ sourceType, checksum }, { policy }) {
    if (!policy.requireChecksum || sourceType !== 'http' || checksum !== undefined) return undefined
    return 'spec.checksum is missing, and the policy key requireChecksum asks for it: set it to the checksum of the file behind spec.url, such as sha256:<64 hexadecimal digits>'
  },
  CDIMissing(_target, { surroundings }) {
    if (surroundings.hasDataVolumes) return undefined
    return 'the cluster does not serve DataVolumes: install CDI (Containerized Data Importer)'
  },
  // The API server would drop the field without a word, and the download would succeed all the same.
  CDITooOld(target, world) {
    const dropped = firstDropped(target, world.lookup.droppedFields ?? NONE)
    if (dropped === undefined) return undefined
    const { path, field, since } = dropped
    const upgrade = since === undefined ? 'upgrade CDI' : `upgrade CDI to ${since} or newer`
    const otherwise = field === 'sourceType' ? 'use another spec.sourceType' : `remove ${fieldName(field, world)}`
    return `the DataVolumes of this cluster have no field ${path}, so it would be ignored: ${upgrade}, or ${otherwise}`
  },
  SecretMissing({ secretRef }, world) {
    if (secretRef === undefined || world.lookup.secret !== 'missing') return undefined
    return waitingFor(`Secret ${secretRef} in namespace ${world.image.metadata.namespace}`, 'secretRef', world)
  },
  CertConfigMapMissing({ certConfigMap }, world) {
    if (certConfigMap === undefined || world.lookup.certificates !== 'missing') return undefined
    const what = `ConfigMap ${certConfigMap} in namespace ${world.image.metadata.namespace}`
    return waitingFor(what, 'certConfigMap', world)
  },
}

/** What must exist before a download may start, in the order in which people want to read about it. */
const BEFORE_DOWNLOAD: Checks = {
  ...BEFORE_READING,
  SecretInvalid: secretProblem,
  CertConfigMapInvalid: certificateProblem,
  StorageClassMissing({ storageClass }, world) {
    if (world.lookup.hasStorageClass) return undefined
    if (storageClass !== undefined) return waitingFor(`StorageClass ${storageClass}`, 'storageClass', world)
    return 'no storage class is named and the cluster has no default: set spec.storageClass or the policy key defaultStorageClass'
  },
  // CDI would wait forever, and the slot would be wasted.
  ClaimInvalid({ storageClass }, { lookup }) {
    if (storageClass === undefined || !lookup.hasEmptyProfile) return undefined
    return `CDI knows no access mode for claims of StorageClass ${storageClass}: give StorageProfile ${storageClass} its spec.claimPropertySets`
  },
  SnapshotterMissing({ snapshotClass }, world) {
    if (snapshotClass === undefined || world.surroundings.hasSnapshots) return undefined
    return `the cluster does not serve VolumeSnapshots: install the snapshot controller and its CRDs, or remove VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)})`
  },
  SnapshotClassMissing({ snapshotClass }, world) {
    if (snapshotClass === undefined || world.lookup.hasSnapshotClass) return undefined
    return waitingFor(`VolumeSnapshotClass ${snapshotClass}`, 'snapshotClass', world)
  },
  SnapshotClassMismatch: classMismatch,
  NameConflict({ snapshotName, snapshotClass }, { lookup }) {
    const isSnapshotTaken = snapshotClass !== undefined && lookup.hasForeignSnapshot
    const taken = lookup.foreignVolume ?? (isSnapshotTaken ? `VolumeSnapshot ${snapshotName}` : undefined)
    if (taken === undefined) return undefined
    return `${taken} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`
  },
  LeftoverClaim({ volumeName }, { lookup, dataVolumes }) {
    if (hasVolume(dataVolumes, volumeName) || lookup.leftoverClaim !== 'orphaned') return undefined
    return `PersistentVolumeClaim ${volumeName} of an earlier download lost its DataVolume, and nobody is deleting it: delete it to continue`
  },
  // CDI could not start beside a leftover claim, and beside a leftover pod there would be two downloads.
  Stopping({ volumeName }, { lookup, dataVolumes }) {
    if (hasVolume(dataVolumes, volumeName)) return undefined
    const pod = lookup.leftoverImporter
    const left = lookup.leftoverClaim === 'going' ? `PersistentVolumeClaim ${volumeName}` : pod && `importer pod ${pod}`
    if (left === undefined) return undefined
    return `waiting until ${left} of an earlier download is gone; if this lasts, see what uses it and which finalizers it has`
  },
  QuotaExceeded({ diskSize = '0', storageClass }, world) {
    const { lookup, image, dataVolumes } = world
    // What the image itself uses of the quota does not block it.
    if (dataVolumes.some((one) => !isFinished(one))) return undefined
    const lack = lackOfRoom(lookup.quotas, { diskSize, storageClass })
    if (lack === undefined) return lackAfterRefusal(image.status, world)
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
    if (world.lookup.hasSnapshotClass) return undefined
    return `waiting for VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)}): create it, or set spec.snapshotClass to another one`
  },
  SnapshotClassMismatch: classMismatch,
  NameConflict({ snapshotName }, { lookup }) {
    if (!lookup.hasForeignSnapshot) return undefined
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

/** The snapshot controller would leave such a snapshot alone, for ever and without a word. */
function classMismatch({ storageClass, snapshotClass }: Target, world: ImageWorld): string | undefined {
  if (snapshotClass === undefined) return undefined
  const apart = world.lookup.driversApart
  if (apart === undefined) return undefined
  const ofVolumes = storageClass === undefined ? 'the default storage class' : `StorageClass ${storageClass}`
  return `VolumeSnapshotClass ${snapshotClass} (${originOf('snapshotClass', world)}) is of driver ${apart.ofSnapshots}, and ${ofVolumes} of ${apart.ofVolumes}: no snapshot could ever be taken; name a snapshot class of driver ${apart.ofVolumes}, or another storage class`
}

/** Returns what a quota has no room for, if it refused that to CDI in the last attempt: such as scratch space, which not every image needs. */
export function lackAfterRefusal(
  { attempts }: ImageWorld['image']['status'],
  { lookup, image }: ImageWorld,
): string | undefined {
  const refusal = refusedByQuota(attempts)
  const lack = refusal && lackAfter(lookup.quotas, refusal)
  if (lack === undefined) return undefined
  return `ResourceQuota ${refusal?.quota} of namespace ${image.metadata.namespace} leaves no room for ${lack}: raise it, or delete what nobody needs there; the image starts when there is room`
}

/** Returns what a quota refused in the last attempt. */
export function refusedByQuota(attempts: ImageWorld['image']['status']['attempts']): QuotaRefusal | undefined {
  const last = attempts?.at(-1)
  return last?.reason === 'QuotaExceeded' ? quotaRefusalIn(last.message) : undefined
}

const NONE: ReadonlySet<string> = new Set()

function fieldName(field: DefaultedField | 'checksum', world: ImageWorld): string {
  return field === 'checksum' ? 'spec.checksum' : originOf(field, world)
}

/** Reports whether what the image names was read, so that {@link whatBlocks} could judge it. */
export function areContentsKnown({ secret, certificates }: Lookup): boolean {
  return [secret, certificates].every((found) => found !== 'missing' && found !== 'pending')
}

/** Returns what is to be read before {@link whatBlocks} can judge what the image names. @param blocked what blocks it as far as that is known */
export function contentsToRead({ target, world }: ImageDraft, blocked?: Blocked): readonly ContentRead[] {
  const { secretRef, certConfigMap } = target
  const { secret, certificates } = world.lookup
  if (blocked !== undefined && Object.hasOwn(BEFORE_READING, blocked.reason)) return []
  return [
    ...(secret === 'pending' && secretRef !== undefined ? [{ kind: 'Secret', name: secretRef } as const] : []),
    ...(certificates === 'pending' && certConfigMap !== undefined
      ? [{ kind: 'ConfigMap', name: certConfigMap } as const]
      : []),
  ]
}

function secretProblem({ secretRef, sourceType }: Target, world: ImageWorld): string | undefined {
  if (secretRef === undefined || sourceType === undefined) return undefined
  const content = world.lookup.secret
  if (content === undefined || typeof content === 'string') return undefined
  const lacking = SOURCE_CREDENTIALS[sourceType].filter(({ key, needs }) => !isUsable(content.keys[key], needs))
  if (lacking.length === 0) return undefined
  const { namespace = '' } = world.image.metadata
  const keys = lacking
    .map(({ key, is, needs }) => `${needs === 'key' ? '' : 'usable '}key ${key} (${is})`)
    .join(' and ')
  const pull = content.isPullSecret ? ' is a pull secret of Kubernetes, which CDI cannot read: it' : ''
  return `Secret ${secretRef} in namespace ${namespace} (${originOf('secretRef', world)})${pull} has no ${keys}, which CDI reads for sourceType ${sourceType}: add what is missing, such as with kubectl -n ${namespace} edit secret ${secretRef} (stringData)`
}

function isUsable(value: string | undefined, needs: CredentialKey['needs']): boolean {
  if (value === undefined || needs === 'key') return value !== undefined
  return needs === 'JSON' ? value === 'JSON' : value !== 'empty'
}

function certificateProblem({ certConfigMap, sourceType, url = '' }: Target, world: ImageWorld): string | undefined {
  // Without TLS, certificates do not matter.
  if (certConfigMap === undefined || url.startsWith('http://')) return undefined
  const { certificates } = world.lookup
  const isMisnamed = certificates === 'unnamed' && sourceType === 'registry'
  if (certificates !== 'none' && !isMisnamed) return undefined
  const { namespace } = world.image.metadata
  const where = isMisnamed ? ` under a key that ends in ${CERTIFICATE_ENDINGS.join(' or ')}` : ''
  return `ConfigMap ${certConfigMap} in namespace ${namespace} (${originOf('certConfigMap', world)}) has no certificate in PEM${where}: add one, under a key such as ca.crt`
}

function waitingFor(what: string, field: DefaultedField, world: ImageWorld): string {
  return `waiting for ${what} (${originOf(field, world)}): create it, or correct the name`
}

function hasVolume(dataVolumes: readonly KubeObject[], name: string): boolean {
  return dataVolumes.some(({ metadata }) => metadata.name === name)
}
