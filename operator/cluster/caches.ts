import { LABELS, vmDiskImage, workspace } from '@open-terrain/constructs'
import type { KubeObject } from '../kube/kube-object.ts'
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
} from '../kube/resource-types.ts'
import type { Reflectors } from '../runtime/reflectors.ts'
import { Store } from '../runtime/store.ts'
import { cloneSourceKey, unfinishedCloneOf } from './clone-sources.ts'
import { BY_CLAIM, claimIndex } from './importers.ts'
import { BY_OWNER, byOwnerOf, familyKey } from './ownership.ts'
import { type QuotaView, viewQuota } from './quotas.ts'
import {
  type ClaimView,
  type DataSourceView,
  type DataVolumeView,
  isDefaultClass,
  type MetaView,
  type PodView,
  type SnapshotView,
  type StorageClassView,
  type StorageProfileView,
  targetOfDataSource,
  viewClaim,
  viewDataSource,
  viewDataVolume,
  viewMeta,
  viewNamespace,
  viewPod,
  viewSecret,
  viewSnapshot,
  viewStorageClass,
  viewStorageProfile,
} from './views.ts'
import { WorkspaceChildCaches } from './workspace-child-caches.ts'

export const BY_NAMESPACE = 'namespace'
export function byNamespace({ metadata }: KubeObject): readonly string[] {
  return [metadata.namespace ?? '']
}

/** Index over Open Terrain objects: `<namespace>/<name>` that their children have, or will have. */
export const BY_CHILD = 'child'
/** Index by {@link familyKey} of the image that their label names, over what CDI makes: its owner is another object of CDI. */
export const BY_IMAGE_LABEL = 'image label'
/** Index over DataVolumes: what an unfinished clone reads from. */
export const BY_CLONE_SOURCE = 'clone source'
/** Index over DataSources: what they point to, as clones would name it. */
export const BY_TARGET = 'target'
/** Index over StorageClasses: those that are the default one are under `yes`. */
export const BY_DEFAULT = 'default'

/** Disks of machines are DataVolumes too, and nobody looks for those so. */
const ofImage = byOwnerOf(vmDiskImage)

/** Everything that is not ours and more than one kind rests on: one cache of each, for all readers. */
export class ClusterCaches {
  readonly reflectors: Reflectors
  readonly dataVolumes = new Store<DataVolumeView>().index(BY_OWNER, ofImage).index(BY_CLONE_SOURCE, unfinishedCloneOf)
  readonly claims = new Store<ClaimView>().index(BY_IMAGE_LABEL, byImageLabel).index(BY_OWNER, byOwnerOf(workspace))
  readonly snapshots = new Store<SnapshotView>().index(BY_OWNER, ofImage)
  readonly dataSources = new Store<DataSourceView>().index(BY_TARGET, targetOf)
  readonly pods = new Store<PodView>().index(BY_IMAGE_LABEL, byImageLabel).index(BY_CLAIM, claimIndex)
  readonly secrets = new Store<MetaView>()
  readonly configMaps = new Store<MetaView>()
  readonly namespaces = new Store<MetaView>()
  readonly storageClasses = new Store<StorageClassView>().index(BY_DEFAULT, (one) =>
    isDefaultClass(one) ? ['yes'] : [],
  )
  readonly snapshotClasses = new Store<MetaView>()
  readonly storageProfiles = new Store<StorageProfileView>()
  readonly quotas = new Store<QuotaView>().index(BY_NAMESPACE, byNamespace)
  readonly workspaces: WorkspaceChildCaches

  constructor(reflectors: Reflectors) {
    this.reflectors = reflectors
    const metadataOnly = { metadataOnly: true }
    reflectors.add(DATA_VOLUME, this.dataVolumes, viewDataVolume)
    reflectors.add(PERSISTENT_VOLUME_CLAIM, this.claims, viewClaim)
    reflectors.add(VOLUME_SNAPSHOT, this.snapshots, viewSnapshot)
    reflectors.add(DATA_SOURCE, this.dataSources, viewDataSource)
    // Those of the importers alone: a cluster has far more.
    reflectors.add(POD, this.pods, viewPod, { labelSelector: LABELS.imageUid })
    reflectors.add(SECRET, this.secrets, viewSecret, metadataOnly)
    reflectors.add(CONFIG_MAP, this.configMaps, viewMeta, metadataOnly)
    reflectors.add(NAMESPACE, this.namespaces, viewNamespace, metadataOnly)
    reflectors.add(STORAGE_CLASS, this.storageClasses, viewStorageClass)
    reflectors.add(VOLUME_SNAPSHOT_CLASS, this.snapshotClasses, viewMeta, metadataOnly)
    reflectors.add(STORAGE_PROFILE, this.storageProfiles, viewStorageProfile)
    reflectors.add(RESOURCE_QUOTA, this.quotas, viewQuota)
    this.workspaces = new WorkspaceChildCaches(reflectors)
  }
}

function targetOf(dataSource: DataSourceView): readonly string[] {
  const target = targetOfDataSource(dataSource)
  return target === undefined ? [] : [cloneSourceKey(target)]
}

function byImageLabel({ metadata }: KubeObject): readonly string[] {
  const uid = metadata.labels?.[LABELS.imageUid]
  return uid === undefined ? [] : [familyKey(metadata.namespace, uid)]
}
