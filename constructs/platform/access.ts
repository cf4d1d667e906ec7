/** One entry of a Role or ClusterRole. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const READ = ['get', 'list', 'watch'] as const

function allow(apiGroup: string, resources: readonly string[], verbs: readonly string[]): AccessRule {
  return { apiGroups: [apiGroup], resources, verbs }
}

/**
 * What the operator may do in every namespace: no more than it does. DataVolumes are only ever created and deleted. Secrets and ConfigMaps are
 * watched as metadata; their content is not read, though RBAC has no way to say so.
 */
export const CLUSTER_ACCESS: readonly AccessRule[] = [
  allow('pelotech.ot', ['vmdiskimages'], [...READ, 'update', 'patch', 'delete']),
  allow('pelotech.ot', ['vmdiskimages/status'], ['get', 'update', 'patch']),
  // Needed to set blockOwnerDeletion where OwnerReferencesPermissionEnforcement is on.
  allow('pelotech.ot', ['vmdiskimages/finalizers'], ['update']),
  allow('cdi.kubevirt.io', ['datavolumes'], [...READ, 'create', 'delete']),
  allow('cdi.kubevirt.io', ['datasources'], [...READ, 'create', 'update', 'patch', 'delete']),
  allow('snapshot.storage.k8s.io', ['volumesnapshots'], [...READ, 'create', 'update', 'patch', 'delete']),
  allow('snapshot.storage.k8s.io', ['volumesnapshotclasses'], READ),
  allow('storage.k8s.io', ['storageclasses'], READ),
  allow('apiextensions.k8s.io', ['customresourcedefinitions'], READ),
  allow('', ['persistentvolumeclaims', 'pods', 'namespaces', 'secrets', 'configmaps'], READ),
  allow('', ['events'], ['create', 'patch']),
  allow('events.k8s.io', ['events'], ['create', 'patch']),
]

/** What the operator may do in its own namespace beyond that: its slot ledger and its Lease. */
export const NAMESPACE_ACCESS: readonly AccessRule[] = [
  allow('', ['configmaps'], ['create', 'update', 'patch']),
  allow('coordination.k8s.io', ['leases'], ['get', 'list', 'watch', 'create', 'update', 'patch']),
]
