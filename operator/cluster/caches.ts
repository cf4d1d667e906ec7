import { LABELS } from '@open-terrain/constructs'
import { virtualMachine, vmChildNames, vmDiskImage, workspace } from '@open-terrain/constructs/operator'
import type { Selection } from '../kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import * as types from '../kube/resource-types.ts'
import type { Reflectors } from '../runtime/reflectors.ts'
import { Store, type Stored } from '../runtime/store.ts'
import { cloneSourceKey, unfinishedCloneOf } from './clone-sources.ts'
import { BY_CLAIM, claimIndex } from './importers.ts'
import { BY_OWNER, byOwnerOf, controllerOfKind, familyKey } from './ownership.ts'
import { viewQuota } from './quotas.ts'
import * as views from './views.ts'

export const BY_NAMESPACE = 'namespace'
export function byNamespace({ metadata }: KubeObject): readonly string[] {
  return [metadata.namespace ?? '']
}

/** Index over Open Terrain objects: `<namespace>/<name>` of their existing and future children. */
export const BY_CHILD = 'child'
/** Index over objects that CDI creates, by {@link familyKey} of the image in their label. Their owner is another CDI object. */
export const BY_IMAGE_LABEL = 'image label'
/** Index over DataVolumes: source of an unfinished clone. */
export const BY_CLONE_SOURCE = 'clone source'
/** Index over DataSources: their target, in the form in which clones name it. */
export const BY_TARGET = 'target'
/** Index over StorageClasses: default classes are filed under `yes`. */
export const BY_DEFAULT = 'default'

const ofImage = byOwnerOf(vmDiskImage)
const [ofWorkspace, ofMachine] = [byOwnerOf(workspace), byOwnerOf(virtualMachine)]
/** Volumes of Workspaces, and disks of machines beside their root disks. A root disk belongs to its DataVolume. */
export const ofWorkspaceOrMachine = (claim: KubeObject) => [...ofWorkspace(claim), ...ofMachine(claim)]

/** Leaves out the first root disks of machines. They are DataVolumes too, and known by their names. */
export function ofImageOrMachine(dataVolume: KubeObject): readonly string[] {
  const owner = controllerOfKind(dataVolume, virtualMachine)
  const isRoot = owner !== undefined && dataVolume.metadata.name === vmChildNames(owner.name).clone
  return [...ofImage(dataVolume), ...(isRoot ? [] : ofMachine(dataVolume))]
}

export type ClusterCaches = ReturnType<typeof clusterCaches>

/** Everything that is not ours and more than one kind rests on: one cache of each, for all readers. */
export function clusterCaches(reflectors: Reflectors) {
  const cacheOf = <T extends Stored>(type: ResourceType, view: (object: KubeObject) => T, selection?: Selection) => {
    const store = new Store<T>()
    reflectors.add(type, store, view, selection)
    return store
  }
  const metadataOnly = { metadataOnly: true }
  return {
    reflectors,
    dataVolumes: cacheOf(types.DATA_VOLUME, views.viewDataVolume)
      .index(BY_OWNER, ofImageOrMachine)
      .index(BY_CLONE_SOURCE, unfinishedCloneOf),
    claims: cacheOf(types.PERSISTENT_VOLUME_CLAIM, views.viewClaim)
      .index(BY_IMAGE_LABEL, byImageLabel)
      .index(BY_OWNER, ofWorkspaceOrMachine),
    snapshots: cacheOf(types.VOLUME_SNAPSHOT, views.viewSnapshot).index(BY_OWNER, ofImage),
    dataSources: cacheOf(types.DATA_SOURCE, views.viewDataSource).index(BY_TARGET, targetOf),
    // Only importer pods: a cluster has far more pods.
    pods: cacheOf(types.POD, views.viewPod, { labelSelector: LABELS.imageUid })
      .index(BY_IMAGE_LABEL, byImageLabel)
      .index(BY_CLAIM, claimIndex),
    secrets: cacheOf(types.SECRET, views.viewSecret, metadataOnly).index(BY_OWNER, ofWorkspace),
    configMaps: cacheOf(types.CONFIG_MAP, views.viewMeta, metadataOnly),
    namespaces: cacheOf(types.NAMESPACE, views.viewNamespace, metadataOnly),
    storageClasses: cacheOf(types.STORAGE_CLASS, views.viewStorageClass).index(BY_DEFAULT, byDefault),
    snapshotClasses: cacheOf(types.VOLUME_SNAPSHOT_CLASS, views.viewSnapshotClass),
    storageProfiles: cacheOf(types.STORAGE_PROFILE, views.viewStorageProfile),
    quotas: cacheOf(types.RESOURCE_QUOTA, viewQuota).index(BY_NAMESPACE, byNamespace),
  }
}

function targetOf(dataSource: views.DataSourceView): readonly string[] {
  const target = views.targetOfDataSource(dataSource)
  return target === undefined ? [] : [cloneSourceKey(target)]
}

function byImageLabel({ metadata }: KubeObject): readonly string[] {
  const uid = metadata.labels?.[LABELS.imageUid]
  return uid === undefined ? [] : [familyKey(metadata.namespace, uid)]
}

function byDefault(storageClass: views.StorageClassView): readonly string[] {
  return views.isDefaultClass(storageClass) ? ['yes'] : []
}
