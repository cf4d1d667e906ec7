import type { ResourceType } from './kube-object.ts'

/** Forms the plural as Kubernetes does: classes, policies. */
function pluralOf(kind: string): string {
  return `${kind.toLowerCase().replace(/y$/, 'ie').replace(/s$/, 'se')}s`
}

function namespaced(apiVersion: string, kind: string, plural = pluralOf(kind)): ResourceType {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  return { group, version, kind, plural, namespaced: true }
}

function clusterScoped(apiVersion: string, kind: string): ResourceType {
  return { ...namespaced(apiVersion, kind), namespaced: false }
}

/** Third-party kinds that the operator reads or writes. */
export const CONFIG_MAP = namespaced('v1', 'ConfigMap')
export const SECRET = namespaced('v1', 'Secret')
export const EVENT = namespaced('v1', 'Event')
export const POD = namespaced('v1', 'Pod')
export const PERSISTENT_VOLUME_CLAIM = namespaced('v1', 'PersistentVolumeClaim')
export const PERSISTENT_VOLUME = clusterScoped('v1', 'PersistentVolume')
export const NAMESPACE = clusterScoped('v1', 'Namespace')
export const NODE = clusterScoped('v1', 'Node')
export const SERVICE_CIDR = clusterScoped('networking.k8s.io/v1', 'ServiceCIDR')
export const DEPLOYMENT = namespaced('apps/v1', 'Deployment')
export const JOB = namespaced('batch/v1', 'Job')
export const NETWORK_POLICY = namespaced('networking.k8s.io/v1', 'NetworkPolicy')
export const SERVICE = namespaced('v1', 'Service')
export const ROLE_BINDING = namespaced('rbac.authorization.k8s.io/v1', 'RoleBinding')
export const LEASE = namespaced('coordination.k8s.io/v1', 'Lease')
export const STORAGE_CLASS = clusterScoped('storage.k8s.io/v1', 'StorageClass')
export const ADMISSION_POLICY = clusterScoped('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy')
export const ADMISSION_POLICY_BINDING = clusterScoped(
  'admissionregistration.k8s.io/v1',
  'ValidatingAdmissionPolicyBinding',
)
export const CUSTOM_RESOURCE_DEFINITION = clusterScoped('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
export const DATA_VOLUME = namespaced('cdi.kubevirt.io/v1beta1', 'DataVolume')
export const DATA_SOURCE = namespaced('cdi.kubevirt.io/v1beta1', 'DataSource')
/** CDI's settings for a storage class of the same name. */
export const STORAGE_PROFILE = clusterScoped('cdi.kubevirt.io/v1beta1', 'StorageProfile')
export const RESOURCE_QUOTA = namespaced('v1', 'ResourceQuota')
export const VOLUME_SNAPSHOT = namespaced('snapshot.storage.k8s.io/v1', 'VolumeSnapshot')
export const VOLUME_SNAPSHOT_CLASS = clusterScoped('snapshot.storage.k8s.io/v1', 'VolumeSnapshotClass')
/** Defined by Multus. */
export const NETWORK_ATTACHMENT_DEFINITION = namespaced(
  'k8s.cni.cncf.io/v1',
  'NetworkAttachmentDefinition',
  'network-attachment-definitions',
)
export const KUBEVIRT_VIRTUAL_MACHINE = namespaced('kubevirt.io/v1', 'VirtualMachine')
export const VIRTUAL_MACHINE_SNAPSHOT = namespaced('snapshot.kubevirt.io/v1beta1', 'VirtualMachineSnapshot')
/** A person's request to KubeVirt to restore a machine from a snapshot. */
export const VIRTUAL_MACHINE_RESTORE = namespaced('snapshot.kubevirt.io/v1beta1', 'VirtualMachineRestore')
export const VIRTUAL_MACHINE_INSTANCE = namespaced('kubevirt.io/v1', 'VirtualMachineInstance')
