import { LABELS } from '@open-terrain/constructs'
import { childName } from '@open-terrain/constructs/operator'
import { BY_DEFAULT, BY_IMAGE_LABEL, BY_NAMESPACE, type ClusterCaches } from '../../cluster/caches.ts'
import { mayFill } from '../../cluster/importers.ts'
import { familyKey, isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import { isAlive, mayBeSnapshotted } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { isTerminating } from '../../kube/kube-object.ts'
import { type ImageCaches, siblingKey } from './caches.ts'
import type { ResolvedSpec, Target } from './decide/target.ts'
import type { ServedFields } from './served-fields.ts'
import type { SourceContents } from './source-contents.ts'
import type { DriversApart, Holder, Lookup } from './world.ts'

interface Sources {
  readonly caches: Pick<ImageCaches, 'cluster'>
  readonly fields: Pick<ServedFields, 'dropped'>
  readonly contents: Pick<SourceContents, 'secret' | 'certificates'>
}

const NOTHING_NAMED = {
  secret: undefined,
  certificates: undefined,
  hasStorageClass: false,
  hasEmptyProfile: false,
  hasSnapshotClass: false,
  driversApart: undefined,
  quotas: [],
  foreignVolume: undefined,
  leftoverClaim: 'none',
  leftoverImporter: undefined,
  hasForeignSnapshot: false,
} as const

/** Gathers what the caches have of what an image names, and of the names that its children take. */
export function lookUp(image: ImageView, spec: ResolvedSpec, slot: Holder | undefined, sources: Sources): Lookup {
  const { fields, caches } = sources
  return {
    ...(spec.ok ? ofTarget(image, spec.target, sources) : NOTHING_NAMED),
    droppedFields: fields.dropped,
    foreignSlotVolume: slot && foreignVolume(image, childName(image.metadata.name, slot.revision), caches.cluster),
  }
}

function ofTarget(
  image: ImageView,
  target: Target,
  { caches: { cluster }, contents }: Sources,
): Omit<Lookup, 'droppedFields' | 'foreignSlotVolume'> {
  const { namespace = '', uid = '' } = image.metadata
  const { secretRef, certConfigMap, storageClass, snapshotClass, volumeName, snapshotName } = target
  const claim = claimState(image, volumeName, cluster)
  const snapshot = cluster.snapshots.get(siblingKey(image, snapshotName))
  const pods = cluster.pods.find(BY_IMAGE_LABEL, familyKey(namespace, uid))
  return {
    secret: secretRef === undefined ? undefined : contents.secret(siblingKey(image, secretRef)),
    certificates: certConfigMap === undefined ? undefined : contents.certificates(siblingKey(image, certConfigMap)),
    hasStorageClass:
      storageClass === undefined
        ? cluster.storageClasses.count(BY_DEFAULT, 'yes') > 0
        : cluster.storageClasses.get(storageClass) !== undefined,
    hasEmptyProfile: storageClass !== undefined && cluster.storageProfiles.get(storageClass)?.isEmpty === true,
    hasSnapshotClass: snapshotClass !== undefined && cluster.snapshotClasses.get(snapshotClass) !== undefined,
    driversApart: driversApart(target, cluster),
    quotas: cluster.quotas.find(BY_NAMESPACE, namespace),
    foreignVolume: foreignVolume(image, volumeName, cluster),
    leftoverClaim: claim === 'foreign' ? 'none' : claim,
    leftoverImporter: pods.find((pod) => isAlive(pod) && mayFill(pod, volumeName, cluster.claims))?.metadata.name,
    hasForeignSnapshot: snapshot !== undefined && !isChildOf(snapshot, image),
  }
}

function driversApart({ storageClass, snapshotClass }: Target, cluster: ClusterCaches): DriversApart | undefined {
  if (snapshotClass === undefined) return undefined
  const defaults = storageClass === undefined ? cluster.storageClasses.find(BY_DEFAULT, 'yes') : []
  // Of several defaults, that of a claim depends on when it is created.
  const only = defaults.length === 1 ? defaults[0] : undefined
  const ofVolumes = (storageClass === undefined ? only : cluster.storageClasses.get(storageClass))?.provisioner ?? ''
  const ofSnapshots = cluster.snapshotClasses.get(snapshotClass)?.driver ?? ''
  return mayBeSnapshotted(ofVolumes, ofSnapshots) ? undefined : { ofVolumes, ofSnapshots }
}

function foreignVolume(image: ImageView, name: string, cluster: ClusterCaches): string | undefined {
  const dataVolume = cluster.dataVolumes.get(siblingKey(image, name))
  if (dataVolume !== undefined && !isChildOf(dataVolume, image)) return `DataVolume ${name}`
  return claimState(image, name, cluster) === 'foreign' ? `PersistentVolumeClaim ${name}` : undefined
}

/** Returns the state of the claim of this name, unless a DataVolume of the image has it. */
function claimState(image: ImageView, name: string, cluster: ClusterCaches): 'none' | 'foreign' | 'going' | 'orphaned' {
  const claim = cluster.claims.get(siblingKey(image, name))
  if (claim === undefined) return 'none'
  const dataVolume = cluster.dataVolumes.get(siblingKey(image, name))
  const isOfLiving = dataVolume !== undefined && isChildOf(claim, dataVolume)
  if (isOfLiving) return isChildOf(dataVolume, image) ? 'none' : 'foreign'
  // Not by the managed-by label: CDI writes its own name there.
  if (claim.metadata.labels?.[LABELS.imageUid] === undefined) return 'foreign'
  // If its owner is gone it is garbage collected; `--cascade=orphan` removes the owner reference.
  return isTerminating(claim) || !isOrphaned(claim) ? 'going' : 'orphaned'
}
