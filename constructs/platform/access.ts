import { ADOPTION_RULE } from '../api/adoption.ts'
import { POLICY_STATUS_NAME } from '../api/policy.ts'
import { SECRET_COPY_RULE } from '../api/workspace-secrets.ts'
import { OWNER_ROLES } from '../children/workspace-owners.ts'

/** One entry of a Role or ClusterRole. */
export interface AccessRule {
  /** API groups, such as apps; the core group is an empty text. */
  readonly apiGroups: readonly string[]
  /** Names of kinds in URLs, such as deployments or vmdiskimages/status. */
  readonly resources: readonly string[]
  /** What may be done, such as get or patch. */
  readonly verbs: readonly string[]
  /** Limits the rule to these objects, by name. Default: all objects. */
  readonly resourceNames?: readonly string[]
}

export const READ = ['get', 'list', 'watch'] as const
/** For caches. `list` is for API servers that cannot begin a watch with the existing objects. */
const CACHE = ['list', 'watch'] as const
/** For objects that the operator creates. It never replaces one, but patches the version that it has read. */
const MAKE = ['create', 'patch', 'delete'] as const
/** For objects that it creates, and also reads one by one. */
const OWN = [...READ, ...MAKE] as const

/** Returns an entry for kinds of one API group. */
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
 * What the operator may do in every namespace, and nothing that it does not do. A deep test (`test/rights`) compares it with the requests that API servers recorded
 * while all scenarios ran.
 */
export const CLUSTER_GRANTS: readonly Grant[] = [
  grant(
    'creates images for machines, DataSyncs and Workspaces, sets a finalizer on them, and deletes images that nothing refers to. The admission policy requires `use` of the author of a VirtualMachine',
    OURS,
    ['vmdiskimages'],
    [...OWN, 'use'],
  ),
  grant('creates machines for Workspaces, and sets a finalizer on them', OURS, ['virtualmachines'], OWN),
  grant('reads the DataSyncs that people create', OURS, ['datasyncs'], CACHE),
  grant(
    'reads the Workspaces that people create, sets a finalizer on them, and an annotation with the claims of restored volumes, and deletes those whose spec says so (`onExpiry: Delete`) after their end. With `manage`, also those that have owners',
    OURS,
    ['workspaces'],
    [...READ, 'patch', 'delete', 'manage'],
  ),
  grant(
    'reads the WorkspaceSnapshots that people create, and sets a finalizer on those that restored claims still get their data from',
    OURS,
    ['workspacesnapshots'],
    [...CACHE, 'patch'],
  ),
  grant(
    'writes the status of our kinds',
    OURS,
    [
      'vmdiskimages/status',
      'virtualmachines/status',
      'datasyncs/status',
      'workspaces/status',
      'workspacesnapshots/status',
    ],
    ['update'],
  ),
  grant(
    'sets `blockOwnerDeletion` where OwnerReferencesPermissionEnforcement is on',
    OURS,
    ['vmdiskimages/finalizers', 'virtualmachines/finalizers', 'workspaces/finalizers', 'workspacesnapshots/finalizers'],
    ['update'],
  ),
  grant('starts and ends downloads and clones', 'cdi.kubevirt.io', ['datavolumes'], [...READ, 'create', 'delete']),
  grant(
    'clones images of other namespaces; CDI requires this right for it',
    'cdi.kubevirt.io',
    ['datavolumes/source'],
    ['create'],
  ),
  grant('keeps the DataSource of each image', 'cdi.kubevirt.io', ['datasources'], [...CACHE, ...MAKE]),
  grant('checks whether CDI can create a claim of a storage class', 'cdi.kubevirt.io', ['storageprofiles'], CACHE),
  grant(
    'checks whether CDI and KubeVirt work',
    'coordination.k8s.io',
    ['leases'],
    ['get'],
    ['cdi-controller-leader-election-helper', 'virt-controller'],
  ),
  grant(
    'takes snapshots of images, and of volumes of Workspaces',
    'snapshot.storage.k8s.io',
    ['volumesnapshots'],
    [...READ, 'create', 'delete'],
  ),
  grant('reads which snapshot classes exist', 'snapshot.storage.k8s.io', ['volumesnapshotclasses'], CACHE),
  grant('reads which storage classes exist', 'storage.k8s.io', ['storageclasses'], CACHE),
  grant(
    'runs machines, and looks live before it halts one whose disk is lost',
    'kubevirt.io',
    ['virtualmachines'],
    [...READ, ...MAKE],
  ),
  grant(
    'takes snapshots of machines for WorkspaceSnapshots',
    'snapshot.kubevirt.io',
    ['virtualmachinesnapshots'],
    [...CACHE, 'create'],
  ),
  grant(
    'leaves a machine switched off that KubeVirt is about to restore, and has machines restored that somebody asks for',
    'snapshot.kubevirt.io',
    ['virtualmachinerestores'],
    [...CACHE, 'create', 'delete'],
  ),
  grant(
    'restarts machines by deleting their instances, sets an annotation that makes KubeVirt create a pod again, and reads an instance to be sure that a guest is off before its disk is replaced',
    'kubevirt.io',
    ['virtualmachineinstances'],
    ['get', ...CACHE, 'patch', 'delete'],
  ),
  grant(
    'keeps the cloud-init data of machines, makes the Secrets of Workspaces, and reads single Secrets: passwords and user data of machines, those that it made for Workspaces, each version once, to see whether they have lost a key or differ from what they are copies of, the shared ones that Workspaces have copies of, and those waiting images name, to see whether they have the keys that CDI reads. Its watch of all Secrets receives their metadata only, to see which exist and which have changed',
    '',
    ['secrets'],
    OWN,
  ),
  grant(
    'watches importer and launcher pods, and those of Workspaces. Reports why one does not run, removes the scheduling gate of one that may start, and deletes one that cannot be on its node or runs without its networks, and importers of deleted DataVolumes',
    '',
    ['pods'],
    [...CACHE, 'patch', 'delete'],
  ),
  grant('reports what it does, and reads why something does not start', '', ['events'], ['list', 'create', 'patch']),
  grant(
    'reads which kinds are installed, and whether the DataVolumes that CDI has installed have the fields that images need',
    'apiextensions.k8s.io',
    ['customresourcedefinitions'],
    CACHE,
  ),
  grant(
    'watches the disks of images and machines, and creates the volumes of Workspaces, those that they are restored to, and the empty disks of machines',
    '',
    ['persistentvolumeclaims'],
    OWN,
  ),
  grant(
    'keeps the inventory of Workspaces, and reads single ConfigMaps: those that waiting images name, to see whether they have certificates. Its watch of all ConfigMaps receives their metadata only, to see which exist and which have changed',
    '',
    ['configmaps'],
    OWN,
  ),
  grant(
    'reads which namespaces exist and are not being deleted, and creates those of Workspaces',
    '',
    ['namespaces'],
    OWN,
  ),
  grant(
    'checks the quota of a namespace before an image takes a slot and before a machine gets a second root disk, and limits Workspaces',
    '',
    ['resourcequotas'],
    OWN,
  ),
  grant('creates the local volumes of Workspaces', '', ['persistentvolumes'], OWN),
  grant('runs the containers of Workspaces', 'apps', ['deployments'], OWN),
  grant('plays the roles of the machines of Workspaces', 'batch', ['jobs'], [...CACHE, ...MAKE]),
  grant('keeps Workspaces apart', 'networking.k8s.io', ['networkpolicies'], OWN),
  grant('opens the ports that a Workspace declares', '', ['services'], OWN),
  grant(
    'gives the owners of a Workspace their rights in its namespace',
    'rbac.authorization.k8s.io',
    ['rolebindings'],
    OWN,
  ),
  grant(
    'may give no other rights than those of these ClusterRoles',
    'rbac.authorization.k8s.io',
    ['clusterroles'],
    ['bind'],
    Object.values(OWNER_ROLES),
  ),
  grant(
    'reads the ranges of Services, which networks of Workspaces must not overlap',
    'networking.k8s.io',
    ['servicecidrs'],
    ['list'],
  ),
  grant(
    'checks whether the rules are installed that ask who may have a Secret copied, and who may have a disk adopted: without them, it does neither',
    'admissionregistration.k8s.io',
    ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'],
    ['get'],
    [SECRET_COPY_RULE, ADOPTION_RULE],
  ),
  grant('reads the ranges of pods of nodes, for the same reason', '', ['nodes'], ['list']),
  grant(
    'creates the networks of Workspaces, and reads which network of a machine is missing',
    'k8s.cni.cncf.io',
    ['network-attachment-definitions'],
    OWN,
  ),
]

const LEDGER = ['sync-operator-slots']
/** ConfigMaps that the operator writes in its own namespace. */
export const OWN_CONFIG_MAPS = [...LEDGER, POLICY_STATUS_NAME]
const LEASE = ['sync-operator']

/** What the operator may also do in its own namespace. RBAC cannot name an object that does not exist yet. */
export const NAMESPACE_GRANTS: readonly Grant[] = [
  grant('creates the ledger of slots, and the status of the policy', '', ['configmaps'], ['create']),
  grant(
    'keeps the ledger of slots; patches and deletes it if somebody has made it immutable',
    '',
    ['configmaps'],
    ['get', 'update', 'patch', 'delete'],
    LEDGER,
  ),
  grant(
    'says in it what it makes of the policy, and which values are in force; deletes it if somebody has made it immutable',
    '',
    ['configmaps'],
    ['get', 'patch', 'delete'],
    [POLICY_STATUS_NAME],
  ),
  grant('creates the Lease for leader election', 'coordination.k8s.io', ['leases'], ['create']),
  grant('elects its leader with this Lease', 'coordination.k8s.io', ['leases'], ['get', 'update'], LEASE),
]

/** Rights of the operator in all namespaces, and on what is in none. */
export const CLUSTER_ACCESS: readonly AccessRule[] = CLUSTER_GRANTS.map(({ rule }) => rule)
/** Rights of the operator in its own namespace alone. */
export const NAMESPACE_ACCESS: readonly AccessRule[] = NAMESPACE_GRANTS.map(({ rule }) => rule)
