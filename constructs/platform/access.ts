/** One entry of a Role or ClusterRole. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Of these objects alone. */
  readonly resourceNames?: readonly string[]
}

export const READ = ['get', 'list', 'watch'] as const

export function allow(apiGroup: string, resources: readonly string[], verbs: readonly string[]): AccessRule {
  return { apiGroups: [apiGroup], resources, verbs }
}

/**
 * What the operator may do in every namespace: no more than it does. DataVolumes are only ever created and deleted. Secrets and ConfigMaps are
 * watched as metadata; of the Secrets that exist, only those are read that a virtual machine names for a password, one by one, though RBAC has
 * no way to say so.
 */
export const CLUSTER_ACCESS: readonly AccessRule[] = [
  // `use` and `create` are what the admission policies ask of the user who writes a VirtualMachine.
  allow('pelotech.ot', ['vmdiskimages'], [...READ, 'create', 'update', 'patch', 'delete', 'use']),
  allow('pelotech.ot', ['vmdiskimages/status'], ['get', 'update', 'patch']),
  // Needed to set blockOwnerDeletion where OwnerReferencesPermissionEnforcement is on.
  allow('pelotech.ot', ['vmdiskimages/finalizers'], ['update']),
  // Created and deleted for workspaces.
  allow('pelotech.ot', ['virtualmachines'], [...READ, 'create', 'update', 'patch', 'delete']),
  allow('pelotech.ot', ['virtualmachines/status'], ['get', 'update', 'patch']),
  allow('pelotech.ot', ['virtualmachines/finalizers'], ['update']),
  allow('pelotech.ot', ['datasyncs'], READ),
  allow('pelotech.ot', ['datasyncs/status'], ['get', 'update', 'patch']),
  allow('pelotech.ot', ['workspaces'], [...READ, 'update', 'patch']),
  allow('pelotech.ot', ['workspaces/status'], ['get', 'update', 'patch']),
  allow('pelotech.ot', ['workspaces/finalizers'], ['update']),
  // What workspaces are made of. Of claims, quotas, ConfigMaps and namespaces all are read anyway.
  allow('', ['namespaces', 'resourcequotas', 'persistentvolumeclaims', 'configmaps'], ['create', 'patch', 'delete']),
  allow('', ['persistentvolumes'], [...READ, 'create', 'patch', 'delete']),
  allow('apps', ['deployments'], [...READ, 'create', 'patch', 'delete']),
  allow('networking.k8s.io', ['networkpolicies'], [...READ, 'create', 'patch', 'delete']),
  allow('kubevirt.io', ['virtualmachines'], [...READ, 'create', 'update', 'patch', 'delete']),
  // Deleting the instance is how a virtual machine is restarted; an annotation has KubeVirt try again to create its pod.
  allow('kubevirt.io', ['virtualmachineinstances'], [...READ, 'patch', 'delete']),
  allow('cdi.kubevirt.io', ['datavolumes'], [...READ, 'create', 'delete']),
  // What CDI asks of the user who clones from another namespace.
  allow('cdi.kubevirt.io', ['datavolumes/source'], ['create']),
  allow('cdi.kubevirt.io', ['datasources'], [...READ, 'create', 'update', 'patch', 'delete']),
  // Whether CDI can make a claim of a storage class at all.
  allow('cdi.kubevirt.io', ['storageprofiles'], READ),
  // Whether cdi-controller works, read only where a download stands still.
  {
    ...allow('coordination.k8s.io', ['leases'], ['get']),
    resourceNames: ['cdi-controller-leader-election-helper'],
  },
  allow('snapshot.storage.k8s.io', ['volumesnapshots'], [...READ, 'create', 'update', 'patch', 'delete']),
  allow('snapshot.storage.k8s.io', ['volumesnapshotclasses'], READ),
  allow('storage.k8s.io', ['storageclasses'], READ),
  allow('apiextensions.k8s.io', ['customresourcedefinitions'], READ),
  allow('', ['persistentvolumeclaims', 'pods', 'namespaces', 'secrets', 'configmaps'], READ),
  // Whether a namespace has room for the claims and the pod of an import, before a slot is taken.
  allow('', ['resourcequotas'], READ),
  // Of its own making: cloud-init data of virtual machines.
  allow('', ['secrets'], ['create', 'update', 'patch', 'delete']),
  // Read only where something does not start: what its pod and its networks lack.
  allow('', ['events'], ['list', 'create', 'patch']),
  allow('k8s.cni.cncf.io', ['network-attachment-definitions'], [...READ, 'create', 'patch', 'delete']),
  allow('events.k8s.io', ['events'], ['create', 'patch']),
]

/** What the operator may do in its own namespace beyond that: its slot ledger and its Lease. */
export const NAMESPACE_ACCESS: readonly AccessRule[] = [
  // Deleted only where somebody has made the ledger immutable.
  allow('', ['configmaps'], ['create', 'update', 'patch', 'delete']),
  allow('coordination.k8s.io', ['leases'], ['get', 'list', 'watch', 'create', 'update', 'patch']),
]
