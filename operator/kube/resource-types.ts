import type { ResourceType } from './kube-object.ts'

function typeOf(apiVersion: string, kind: string, plural: string, isNamespaced: boolean): ResourceType {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return { group, version, kind, plural, namespaced: isNamespaced }
}
const namespaced = (apiVersion: string, kind: string, plural: string) => typeOf(apiVersion, kind, plural, true)
const clusterScoped = (apiVersion: string, kind: string, plural: string) => typeOf(apiVersion, kind, plural, false)

/** Third-party kinds that the operator reads or writes. */
export const CONFIG_MAP = namespaced('v1', 'ConfigMap', 'configmaps')
export const SECRET = namespaced('v1', 'Secret', 'secrets')
export const EVENT = namespaced('v1', 'Event', 'events')
export const POD = namespaced('v1', 'Pod', 'pods')
export const PERSISTENT_VOLUME_CLAIM = namespaced('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims')
export const PERSISTENT_VOLUME = clusterScoped('v1', 'PersistentVolume', 'persistentvolumes')
export const NAMESPACE = clusterScoped('v1', 'Namespace', 'namespaces')
export const DEPLOYMENT = namespaced('apps/v1', 'Deployment', 'deployments')
export const NETWORK_POLICY = namespaced('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies')
export const LEASE = namespaced('coordination.k8s.io/v1', 'Lease', 'leases')
export const STORAGE_CLASS = clusterScoped('storage.k8s.io/v1', 'StorageClass', 'storageclasses')
export const CUSTOM_RESOURCE_DEFINITION = clusterScoped(
  'apiextensions.k8s.io/v1',
  'CustomResourceDefinition',
  'customresourcedefinitions',
)
export const DATA_VOLUME = namespaced('cdi.kubevirt.io/v1beta1', 'DataVolume', 'datavolumes')
export const DATA_SOURCE = namespaced('cdi.kubevirt.io/v1beta1', 'DataSource', 'datasources')
/** CDI's settings for a storage class of the same name. */
export const STORAGE_PROFILE = clusterScoped('cdi.kubevirt.io/v1beta1', 'StorageProfile', 'storageprofiles')
export const RESOURCE_QUOTA = namespaced('v1', 'ResourceQuota', 'resourcequotas')
export const VOLUME_SNAPSHOT = namespaced('snapshot.storage.k8s.io/v1', 'VolumeSnapshot', 'volumesnapshots')
export const VOLUME_SNAPSHOT_CLASS = clusterScoped(
  'snapshot.storage.k8s.io/v1',
  'VolumeSnapshotClass',
  'volumesnapshotclasses',
)
/** Defined by Multus. */
export const NETWORK_ATTACHMENT_DEFINITION = namespaced(
  'k8s.cni.cncf.io/v1',
  'NetworkAttachmentDefinition',
  'network-attachment-definitions',
)
export const KUBEVIRT_VIRTUAL_MACHINE = namespaced('kubevirt.io/v1', 'VirtualMachine', 'virtualmachines')
export const VIRTUAL_MACHINE_INSTANCE = namespaced(
  'kubevirt.io/v1',
  'VirtualMachineInstance',
  'virtualmachineinstances',
)
