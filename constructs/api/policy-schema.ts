import { z } from 'zod'
import { CONCURRENCY_MAX, NETWORK_DRIVERS, type Policy } from './policy-fields.ts'
import type { PolicyValues } from './policy-keys.ts'
import {
  flag,
  hostPath,
  integer,
  milliseconds,
  orNone,
  positive,
  reclaim,
  size,
  urlPrefixes,
  urlTemplate,
} from './policy-values.ts'
import {
  attachments,
  capabilities,
  cidrs,
  containerDevices,
  namespaceNames,
  overrideEntries,
  playerImage,
  publicCidrs,
  quota,
  serviceTypes,
} from './policy-workspace-values.ts'
import { objectName } from './shared.ts'
import { SOURCE_TYPES } from './source-type.ts'

/** Shortest `expiryNotice`: people have to have a chance to read it. */
const EXPIRY_NOTICE_MIN_MS = 5 * 60_000

export interface PolicyKey<Field extends keyof Policy = keyof Policy> {
  readonly field: Field
  readonly schema: z.ZodType<Policy[Field], string>
  /** For the API reference. */
  readonly meaning: string
}

function key<Field extends keyof Policy>(
  field: Field,
  schema: z.ZodType<Policy[Field], string>,
  meaning: string,
): PolicyKey<Field> {
  return { field, schema, meaning }
}

/** Every key of the ConfigMap: the field that it sets, its schema and its meaning. */
export const POLICY_SCHEMA = {
  concurrency: key(
    'concurrency',
    integer(CONCURRENCY_MAX),
    'Images that download at once. 0 pauses: running downloads continue to their end, and no new one starts.',
  ),
  retryLimit: key(
    'retryLimit',
    integer(100),
    'Retries after the first failure. Also applies to failed images. Raising it lets them retry. Lowering it fails images that wait for a retry and have used more.',
  ),
  retryBackoffDuration: key(
    'retryBackoffMs',
    positive,
    'Wait before the first retry, ±10 %; doubles with each retry. Counted from the end of the failed attempt.',
  ),
  retryBackoffMax: key(
    'retryBackoffMaxMs',
    positive,
    'Longest wait before a retry. If it is less than retryBackoffDuration, retryBackoffDuration is used.',
  ),
  attemptTimeout: key('attemptTimeoutMs', positive, 'An attempt that takes longer fails.'),
  stallTimeout: key(
    'stallTimeoutMs',
    positive,
    'An attempt without progress for this long fails. Not while its progress is unknown (N/A).',
  ),
  snapshotTimeout: key(
    'snapshotTimeoutMs',
    positive,
    'If a snapshot is not ready after this time, the operator takes it again.',
  ),
  reclaimPolicy: key(
    'reclaimPolicy',
    reclaim,
    'Retain or Delete: what happens to an image that was made for a virtual machine, a Workspace or a DataSync (label pelotech.ot/created-by) when nothing refers to it any more, if its spec does not set this field.',
  ),
  unreferencedTTL: key(
    'unreferencedTtlMs',
    milliseconds({ isZeroAllowed: true }),
    'With Delete: how long an image that was made for a virtual machine, a Workspace or a DataSync is kept when nothing refers to it any more, if its spec does not set this field. 0s deletes it when its last reference is removed.',
  ),
  userReclaimPolicy: key(
    'userReclaimPolicy',
    reclaim,
    'As reclaimPolicy, for the images that people and pipelines made: all without that label. Delete also applies to existing images immediately.',
  ),
  userUnreferencedTTL: key(
    'userUnreferencedTtlMs',
    orNone(milliseconds({ isZeroAllowed: true })),
    'As unreferencedTTL, for the images that people and pipelines made. If not set, unreferencedTTL applies to them too.',
  ),
  keepSourceVolume: key('keepSourceVolume', flag, 'Keep the downloaded volume after its snapshot is ready.'),
  imageNamespace: key(
    'imageNamespace',
    objectName().max(63),
    'Namespace of the images of the machines of workspaces. The operator also creates images for these machines there. It has to exist.',
  ),
  imageUrlTemplate: key(
    'imageUrlTemplate',
    orNone(urlTemplate),
    'URL of the image of a machine of a workspace, if the image does not exist and the machine has no vmDiskImageTemplate. It may contain {image}, the name of the image, and {name}, {version}, {baseVm} and {baseVmVersion} of the machine. With {image} alone it holds also for images that only further disks name.',
  ),
  defaultStorageClass: key('defaultStorageClass', orNone(objectName()), 'For images without storageClass.'),
  defaultSnapshotClass: key('defaultSnapshotClass', orNone(objectName()), 'For images without snapshotClass.'),
  defaultSecretRef: key('defaultSecretRef', orNone(objectName()), 'For images without secretRef.'),
  defaultCertConfigMap: key('defaultCertConfigMap', orNone(objectName()), 'For images without certConfigMap.'),
  defaultSourceType: key(
    'defaultSourceType',
    orNone(z.enum(SOURCE_TYPES, { error: `must be one of ${SOURCE_TYPES.join(', ')}` })),
    'For images without sourceType.',
  ),
  defaultDiskSize: key('defaultDiskSize', orNone(size), 'For images without diskSize.'),
  allowedSourceUrls: key(
    'allowedSourceUrls',
    urlPrefixes,
    'URL prefixes that images may come from, separated by blanks, commas or line ends. Without it: any host name and any public address.',
  ),
  requireChecksum: key(
    'requireChecksum',
    flag,
    'Whether an image of sourceType http needs a checksum: without one it is not downloaded. CDI verifies no checksum for other source types: for these, see allowedSourceUrls.',
  ),
  networkDriver: key(
    'networkDriver',
    z.enum(NETWORK_DRIVERS, { error: `must be one of ${NETWORK_DRIVERS.join(', ')}` }),
    'Type of the networks of workspaces: bridge (a whole workspace runs on one node) or ovn-layer2 (across nodes).',
  ),
  attachableNetworks: key(
    'attachableNetworks',
    attachments,
    'Existing NetworkAttachmentDefinitions, such as vlans/vlan-100, that networks of workspaces and interfaces of virtual machines may name with attach, separated by commas, blanks or line ends. An empty text allows none. No machine or pod that is not on it yet is attached to what is not listed; what runs on it stays.',
  ),
  allowedOverrides: key(
    'allowedOverrides',
    overrideEntries,
    "What overrides of members may set: paths below spec of KubeVirt's VirtualMachine, such as vm:template.spec.domain.cpu.model, and below the pod template of a container cluster, such as pod:spec.hostAliases, each with all below it, separated by commas, blanks or line ends. An empty text allows none. Some paths are never allowed: see Overrides. A member with another path in overrides is not created or changed.",
  ),
  localVolumeRoot: key(
    'localVolumeRoot',
    orNone(hostPath),
    'Folder for volumes of workspaces with a localPath, on nodes with the label pelotech.ot/local-volumes: "true". A volume is the folder <localVolumeRoot>/<workspace>/<localPath>. Without this key, these volumes come from the default StorageClass.',
  ),
  allowHostPorts: key(
    'allowHostPorts',
    flag,
    'Whether containers of workspaces may use ports of the node (hostPort). If false, a container cluster with a hostPort is not created.',
  ),
  allowPrivileged: key(
    'allowPrivileged',
    flag,
    'Whether containers of workspaces may be privileged, which gives them all rights of their node. If false, a container cluster with such a container is not created.',
  ),
  allowPrivilegedExec: key(
    'allowPrivilegedExec',
    flag,
    'Whether the owners of a workspace (spec.owners) may run commands in its containers although one is privileged, has a port of its node, or a capability beyond the level baseline of the Pod Security Standards.',
  ),
  allowedCapabilities: key(
    'allowedCapabilities',
    capabilities,
    'Linux capabilities that containers of workspaces may add, separated by commas, blanks or line ends. The default is the list of the level baseline of the Pod Security Standards. An empty text allows none. A container cluster that adds another one is not created.',
  ),
  allowedDevices: key(
    'allowedDevices',
    containerDevices,
    'Devices of the node that containers of workspaces may have (containers[].devices), separated by commas, blanks or line ends: tun, kvm, vhost-net. With kvm, programs in a container are virtual machines of their own, which use the processor and the memory of the container. An empty text allows none. A container cluster with another one is not created.',
  ),
  allowedServiceTypes: key(
    'allowedServiceTypes',
    serviceTypes,
    'Types that Services of workspaces (spec.services) may have, separated by commas, blanks or line ends: ClusterIP, NodePort, LoadBalancer. An empty text allows none. A Service of another type is not created.',
  ),
  ansibleImage: key(
    'ansibleImage',
    orNone(playerImage),
    'Container image with ansible-playbook and roles. In each workspace whose machines have roles (vms[].ansible), it plays them: build once on each new disk, deploy at each start. spec.ansible.image of a workspace comes first. Machines that exist when it is set are not played, and neither are workspaces with a container that mounts the volume ansible.',
  ),
  sharedSecretNamespaces: key(
    'sharedSecretNamespaces',
    namespaceNames,
    'Namespaces of Secrets that workspaces may have copies of (from of spec.secrets), separated by commas, blanks or line ends. Only a Secret that its owner has labelled pelotech.ot/shared: "true" is copied. An empty text allows none. When a namespace is removed from the list, the copies of its Secrets are deleted.',
  ),
  allowInternetAccess: key(
    'allowInternetAccess',
    flag,
    'Whether members of workspaces with internetAccess: Enabled reach public addresses over the pod network. If false, these workspaces are Failed, run on without it, and lose the access that they have. No pod is restarted by either. An invalid value counts as false.',
  ),
  internetDeniedCidrs: key(
    'internetDeniedCidrs',
    publicCidrs,
    'Public ranges that members of workspaces do not reach although they have access to the internet, in CIDR notation, such as 198.51.100.0/24, or addresses, separated by commas, blanks or line ends: public addresses of your own, of load balancers and pods. none: no range. Private addresses, those of cloud metadata, clusterCidrs, and the ranges and addresses that ServiceCIDR objects and nodes show are never reached.',
  ),
  workspaceQuota: key(
    'workspaceQuota',
    orNone(quota),
    'Most that one workspace may use, as hard limits of a ResourceQuota of its namespace: requests.cpu=16,requests.memory=64Gi,pods=50, separated by commas, blanks or line ends.',
  ),
  clusterCidrs: key(
    'clusterCidrs',
    orNone(cidrs),
    'Ranges of Services and pods in CIDR notation, such as 10.96.0.0/16, separated by commas, blanks or line ends. A new or changed network of a workspace that overlaps one is refused. Without this key the ranges are read from ServiceCIDR objects and from podCIDRs of nodes, as far as the cluster shows them. none: no network is refused, for clusters whose nodes all have the rules of labIsolation.',
  ),
  vmProvisionTimeout: key(
    'vmProvisionTimeoutMs',
    positive,
    'The time that a virtual machine has to become Ready. After this time the machine is restarted, up to kickLimit times, and has the same time again after each restart. Then it is Failed. If a restart cannot help, it is Failed after the first time. Waiting for its image does not count.',
  ),
  kickLimit: key(
    'kickLimit',
    integer(100),
    'How many times a virtual machine that hangs is restarted, or its disk is cloned again.',
  ),
  workspaceLifetime: key(
    'workspaceLifetimeMs',
    orNone(positive),
    'How long a workspace lasts whose spec has neither lifetime nor expiresAt. Then it is switched off, never deleted. Workspaces that exist when this is set last so long from then on. A changed value holds for workspaces that have no end yet. Without this key, these workspaces have no end.',
  ),
  workspaceLifetimeMax: key(
    'workspaceLifetimeMaxMs',
    orNone(positive),
    'The longest time from now, such as 2160h, that lifetime or expiresAt of a workspace may give it, each time somebody changes them. A later end is brought forward, and then the workspace is switched off, never deleted. Workspaces that have an end when this is set keep it. Without workspaceLifetime, this is also what a workspace lasts that says nothing.',
  ),
  expiryNotice: key(
    'expiryNoticeMs',
    positive.refine((ms) => ms >= EXPIRY_NOTICE_MIN_MS, { error: 'must be at least 5m' }),
    'How old the warning is before a workspace ends. A shorter value counts only after it has been in force for as long as the longer one.',
  ),
  resetGrace: key(
    'resetGraceMs',
    milliseconds({ isZeroAllowed: true }),
    'How long the root disk of a virtual machine is kept after somebody had it replaced. With 0s it is deleted as soon as the new one is complete. A changed value holds for disks that are replaced from then on.',
  ),
  workspaceSnapshotLimit: key(
    'workspaceSnapshotLimit',
    integer(100),
    'How many WorkspaceSnapshots of one workspace are taken. One more waits until another one is deleted; none is ever deleted for it. A lower value deletes none. 0: no new one is taken.',
  ),
} as const satisfies Record<keyof PolicyValues, PolicyKey>
