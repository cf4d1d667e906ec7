/** One entry of a Role or ClusterRole. */
export interface AccessRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Limits the rule to these objects. */
  readonly resourceNames?: readonly string[]
}

export const READ = ['get', 'list', 'watch'] as const
/** For caches. `list` is for API servers that cannot begin a watch with the existing objects. */
const CACHE = ['list', 'watch'] as const
/** For what the operator creates. It never replaces an object: it patches the version that it has seen. */
const MAKE = ['create', 'patch', 'delete'] as const
/** For what it creates, and also reads one by one. */
const OWN = [...READ, ...MAKE] as const

export function allow(apiGroup: string, resources: readonly string[], verbs: readonly string[]): AccessRule {
  return { apiGroups: [apiGroup], resources, verbs }
}

/** A right of the operator, and its purpose. */
export interface Grant {
  readonly rule: AccessRule
  /** For `docs/access.md`, as text that follows "it". */
  readonly reason: string
}

function grant(
  reason: string,
  apiGroup: string,
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
): Grant {
  return { rule: { ...allow(apiGroup, resources, verbs), ...(resourceNames && { resourceNames }) }, reason }
}

const OURS = 'pelotech.ot'

/**
 * What the operator may do in every namespace: only what it does. A deep test (`test/rights`) compares it with the requests that API servers recorded
 * while all scenarios ran.
 */
export const CLUSTER_GRANTS: readonly Grant[] = [
  grant(
    'makes images for machines, DataSyncs and Workspaces, holds them by a finalizer, and deletes those that nothing refers to. The admission policy requires `use` of the author of a VirtualMachine',
    OURS,
    ['vmdiskimages'],
    [...OWN, 'use'],
  ),
  grant('makes machines for Workspaces, and holds them by a finalizer', OURS, ['virtualmachines'], OWN),
  grant('reads what people ask for', OURS, ['datasyncs'], CACHE),
  grant('reads what people ask for, and holds it by a finalizer', OURS, ['workspaces'], [...READ, 'patch']),
  grant(
    'writes the status of our kinds',
    OURS,
    ['vmdiskimages/status', 'virtualmachines/status', 'datasyncs/status', 'workspaces/status'],
    ['update'],
  ),
  grant(
    'sets `blockOwnerDeletion` where OwnerReferencesPermissionEnforcement is on',
    OURS,
    ['vmdiskimages/finalizers', 'virtualmachines/finalizers', 'workspaces/finalizers'],
    ['update'],
  ),
  grant('starts and ends downloads and clones', 'cdi.kubevirt.io', ['datavolumes'], [...READ, 'create', 'delete']),
  grant(
    'clones images of other namespaces, for which CDI requires this right',
    'cdi.kubevirt.io',
    ['datavolumes/source'],
    ['create'],
  ),
  grant('keeps the alias of an image', 'cdi.kubevirt.io', ['datasources'], [...CACHE, ...MAKE]),
  grant('knows whether CDI can make a claim of a storage class at all', 'cdi.kubevirt.io', ['storageprofiles'], CACHE),
  grant(
    'knows whether CDI works, when a download makes no progress',
    'coordination.k8s.io',
    ['leases'],
    ['get'],
    ['cdi-controller-leader-election-helper'],
  ),
  grant('takes snapshots of images', 'snapshot.storage.k8s.io', ['volumesnapshots'], [...READ, 'create', 'delete']),
  grant('knows which classes there are', 'snapshot.storage.k8s.io', ['volumesnapshotclasses'], CACHE),
  grant('knows which classes there are', 'storage.k8s.io', ['storageclasses'], CACHE),
  grant('runs machines', 'kubevirt.io', ['virtualmachines'], [...CACHE, ...MAKE]),
  grant(
    'restarts machines by deleting their instances, and has KubeVirt try again to create a pod by an annotation',
    'kubevirt.io',
    ['virtualmachineinstances'],
    [...CACHE, 'patch', 'delete'],
  ),
  grant(
    'keeps the cloud-init data of machines, reads the passwords that machines name, one by one, and watches as metadata alone whether what images and machines name exists',
    '',
    ['secrets'],
    OWN,
  ),
  grant('follows the importers and launchers that run, and says why one does not', '', ['pods'], CACHE),
  grant('says what happens, and reads why something does not start', '', ['events'], ['list', 'create', 'patch']),
  grant('knows which kinds are installed', 'apiextensions.k8s.io', ['customresourcedefinitions'], CACHE),
  grant(
    'follows the disks of images and machines, and makes the volumes of Workspaces',
    '',
    ['persistentvolumeclaims'],
    OWN,
  ),
  grant(
    'watches as metadata alone which ConfigMaps with certificates there are, and keeps the inventory of Workspaces',
    '',
    ['configmaps'],
    OWN,
  ),
  grant('knows which namespaces are there and are not going, and makes those of Workspaces', '', ['namespaces'], OWN),
  grant(
    'knows whether a namespace has room before a slot is taken, and limits Workspaces',
    '',
    ['resourcequotas'],
    OWN,
  ),
  grant('makes the local volumes of Workspaces', '', ['persistentvolumes'], OWN),
  grant('runs the containers of Workspaces', 'apps', ['deployments'], OWN),
  grant('closes Workspaces to each other', 'networking.k8s.io', ['networkpolicies'], OWN),
  grant(
    'makes the networks of Workspaces, and knows which one a machine lacks',
    'k8s.cni.cncf.io',
    ['network-attachment-definitions'],
    OWN,
  ),
]

const LEDGER = ['sync-operator-slots']
const LEASE = ['sync-operator']

/** What the operator may also do in its own namespace. RBAC cannot name an object that does not exist yet. */
export const NAMESPACE_GRANTS: readonly Grant[] = [
  grant('makes the ledger of slots', '', ['configmaps'], ['create']),
  grant(
    'keeps the ledger of slots; it patches and deletes one that somebody has made immutable',
    '',
    ['configmaps'],
    ['get', 'update', 'patch', 'delete'],
    LEDGER,
  ),
  grant('makes the Lease of its leader', 'coordination.k8s.io', ['leases'], ['create']),
  grant('elects its leader', 'coordination.k8s.io', ['leases'], ['get', 'update'], LEASE),
]

export const CLUSTER_ACCESS: readonly AccessRule[] = CLUSTER_GRANTS.map(({ rule }) => rule)
export const NAMESPACE_ACCESS: readonly AccessRule[] = NAMESPACE_GRANTS.map(({ rule }) => rule)
