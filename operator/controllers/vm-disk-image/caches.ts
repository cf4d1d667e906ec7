import { childName, LABELS, vmDiskImage } from '@open-terrain/constructs'
import { cloneSourceKey, unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import { BY_CLAIM, claimIndex } from '../../cluster/importers.ts'
import { controllerOfKind, familyKey } from '../../cluster/ownership.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  RESOURCE_QUOTA,
  SECRET,
  STORAGE_CLASS,
  STORAGE_PROFILE,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../kube/resource-types.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { Store } from '../../runtime/store.ts'
import { IMPORTING_INDEX, importingIndex } from './admission/downloads.ts'
import { snapshotNameFor } from './decide/target.ts'
import { type QuotaView, type StorageProfileView, viewQuota, viewStorageProfile } from './room.ts'
import {
  type ClaimView,
  type DataSourceView,
  type DataVolumeView,
  type ImageView,
  isDefaultClass,
  type MetaView,
  type PodView,
  type SnapshotView,
  type StorageClassView,
  targetOfDataSource,
  viewClaim,
  viewDataSource,
  viewDataVolume,
  viewImage,
  viewMeta,
  viewPod,
  viewSecret,
  viewSnapshot,
  viewStorageClass,
} from './views.ts'

export const IMAGE: ResourceType = vmDiskImage

/** Indexes over images; all but the uid are `<namespace>/<name>` of what they name, wait for or make. */
export const BY_NAMESPACE = 'namespace'
export const BY_UID = 'uid'
export const BY_SECRET = 'secret'
export const BY_CONFIG_MAP = 'configMap'
export const BY_CHILD = 'child'
/** Index over DataVolumes: what an unfinished clone reads from. */
export const BY_CLONE_SOURCE = 'clone source'
/** Index over DataSources: what they point to, as clones would name it. */
export const BY_TARGET = 'target'
/** Index over children, by {@link familyKey} of the image that their owner or label names. It finds them; whose they are, `ownership.ts` tells. */
export const BY_IMAGE = 'image'

/** Characters of an image: its schema bounds what it says, and nothing that it says may be lost. */
const OWN_MAX = 64_000

/** Everything that decisions about images rest on. */
export class Caches {
  readonly reflectors: Reflectors
  readonly images = new Store<ImageView>()
    .index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? ''])
    .index(BY_UID, ({ metadata }) => [metadata.uid ?? ''])
    .index(BY_SECRET, (image) => named(image, 'secretRef'))
    .index(BY_CONFIG_MAP, (image) => named(image, 'certConfigMap'))
    .index(BY_CHILD, childrenOf)
  readonly dataVolumes = new Store<DataVolumeView>()
    .index(BY_IMAGE, byOwner)
    .index(IMPORTING_INDEX, importingIndex)
    .index(BY_CLONE_SOURCE, unfinishedCloneOf)
  readonly claims = new Store<ClaimView>().index(BY_IMAGE, byLabel)
  readonly snapshots = new Store<SnapshotView>().index(BY_IMAGE, byOwner)
  readonly dataSources = new Store<DataSourceView>().index(BY_TARGET, targetOf)
  readonly pods = new Store<PodView>().index(BY_IMAGE, byLabel).index(BY_CLAIM, claimIndex)
  readonly secrets = new Store<MetaView>()
  readonly configMaps = new Store<MetaView>()
  readonly namespaces = new Store<MetaView>()
  readonly storageClasses = new Store<StorageClassView>().index('default', (item) =>
    isDefaultClass(item) ? ['yes'] : [],
  )
  readonly snapshotClasses = new Store<MetaView>()
  readonly storageProfiles = new Store<StorageProfileView>()
  readonly quotas = new Store<QuotaView>().index(BY_NAMESPACE, ({ metadata }) => [metadata.namespace ?? ''])

  constructor(reflectors: Reflectors) {
    this.reflectors = reflectors
    const metadataOnly = { metadataOnly: true }
    reflectors.add(IMAGE, this.images, viewImage, { keptMax: OWN_MAX })
    reflectors.add(DATA_VOLUME, this.dataVolumes, viewDataVolume)
    reflectors.add(PERSISTENT_VOLUME_CLAIM, this.claims, viewClaim)
    reflectors.add(VOLUME_SNAPSHOT, this.snapshots, viewSnapshot)
    reflectors.add(DATA_SOURCE, this.dataSources, viewDataSource)
    reflectors.add(POD, this.pods, viewPod, { labelSelector: LABELS.imageUid })
    reflectors.add(SECRET, this.secrets, viewSecret, metadataOnly)
    reflectors.add(CONFIG_MAP, this.configMaps, viewMeta, metadataOnly)
    reflectors.add(NAMESPACE, this.namespaces, viewMeta, metadataOnly)
    reflectors.add(STORAGE_CLASS, this.storageClasses, viewStorageClass)
    reflectors.add(VOLUME_SNAPSHOT_CLASS, this.snapshotClasses, viewMeta, metadataOnly)
    reflectors.add(STORAGE_PROFILE, this.storageProfiles, viewStorageProfile)
    reflectors.add(RESOURCE_QUOTA, this.quotas, viewQuota)
  }
}

function targetOf(dataSource: DataSourceView): readonly string[] {
  const target = targetOfDataSource(dataSource)
  return target === undefined ? [] : [cloneSourceKey(target)]
}

function named(image: ImageView, field: 'secretRef' | 'certConfigMap'): readonly string[] {
  const name = specified(image, field)
  return name === undefined ? [] : [siblingKey(image, name)]
}

/** The spec is unchecked. */
function specified(
  { spec, status }: ImageView,
  field: 'secretRef' | 'certConfigMap' | 'snapshotClass',
): string | undefined {
  const fields = spec as { readonly [name in typeof field]?: unknown } | null
  const name = fields?.[field] ?? status.defaults?.[field]
  return typeof name === 'string' ? name : undefined
}

/** Names that its children have or will have: what takes or frees such a name concerns it. */
function childrenOf(image: ImageView): readonly string[] {
  const { metadata, status } = image
  const { revision, artifact } = status
  const wanted =
    revision === undefined
      ? []
      : [
          childName(metadata.name, revision),
          snapshotNameFor(metadata.name, revision, specified(image, 'snapshotClass'), status),
        ]
  const names = artifact === undefined ? wanted : [...wanted, artifact.name]
  return [...new Set(names)].map((name) => siblingKey(image, name))
}

function byOwner(object: KubeObject): readonly string[] {
  const owner = controllerOfKind(object, IMAGE)
  return owner === undefined ? [] : [familyKey(object.metadata.namespace, owner.uid)]
}

function byLabel({ metadata }: KubeObject): readonly string[] {
  const uid = metadata.labels?.[LABELS.imageUid]
  return uid === undefined ? [] : [familyKey(metadata.namespace, uid)]
}

/** Key of a namesake in the same namespace. */
export function siblingKey({ metadata }: KubeObject, name: string): string {
  return keyOf({ ...(metadata.namespace !== undefined && { namespace: metadata.namespace }), name })
}
