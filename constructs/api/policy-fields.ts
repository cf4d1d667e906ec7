import type { SourceType } from './source-type.ts'

/** What becomes of an image that nothing refers to any more. */
export const RECLAIM_POLICIES = ['Retain', 'Delete'] as const
/** One of `RECLAIM_POLICIES`. */
export type ReclaimPolicy = (typeof RECLAIM_POLICIES)[number]

/** How a Service of a workspace can be reached. Nobody can have one with a name or an address elsewhere. */
export const SERVICE_TYPES = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const
/** One of `SERVICE_TYPES`. */
export type ServiceType = (typeof SERVICE_TYPES)[number]

/** Devices of a node that containers may have without being privileged: those that virt-handler of KubeVirt offers as resources. */
export const CONTAINER_DEVICES = ['kvm', 'tun', 'vhost-net'] as const
/** One of `CONTAINER_DEVICES`. */
export type ContainerDevice = (typeof CONTAINER_DEVICES)[number]

/** What the networks of workspaces are made of. */
export const NETWORK_DRIVERS = ['bridge', 'ovn-layer2'] as const
/** One of `NETWORK_DRIVERS`. */
export type NetworkDriver = (typeof NETWORK_DRIVERS)[number]

/** The global policy as the operator uses it. Durations in milliseconds. */
export interface Policy {
  /** Maximum number of images that download at the same time. 0 pauses. */
  readonly concurrency: number
  /** Retries after the first failure. */
  readonly retryLimit: number
  /** Wait before the first retry, which doubles with each. */
  readonly retryBackoffMs: number
  /** Does not shorten the first wait: if it is less than `retryBackoffMs`, `retryBackoffMs` applies. */
  readonly retryBackoffMaxMs: number
  /** An attempt that takes longer fails. */
  readonly attemptTimeoutMs: number
  /** An attempt without progress for this long fails. */
  readonly stallTimeoutMs: number
  /** A snapshot that is not ready after this time is taken again. */
  readonly snapshotTimeoutMs: number
  /** For images that the operator created. */
  readonly reclaimPolicy: ReclaimPolicy
  /** For images that the operator created. 0 deletes an image as soon as its last reference is removed. */
  readonly unreferencedTtlMs: number
  /** For images that people and pipelines created. */
  readonly userReclaimPolicy: ReclaimPolicy
  /** For images that people and pipelines created. If undefined, `unreferencedTtlMs` applies. */
  readonly userUnreferencedTtlMs: number | undefined
  /** Whether the downloaded volume is kept after its snapshot is ready. */
  readonly keepSourceVolume: boolean
  /** Namespace of the images of workspaces. */
  readonly imageNamespace: string
  /** URL of an image of a workspace that has no template. Undefined: none. */
  readonly imageUrlTemplate: string | undefined
  /** For images without storageClass. Undefined: none. */
  readonly defaultStorageClass: string | undefined
  /** For images without snapshotClass. Undefined: none. */
  readonly defaultSnapshotClass: string | undefined
  /** For images without secretRef. Undefined: none. */
  readonly defaultSecretRef: string | undefined
  /** For images without certConfigMap. Undefined: none. */
  readonly defaultCertConfigMap: string | undefined
  /** For images without sourceType. Undefined: none. */
  readonly defaultSourceType: SourceType | undefined
  /** A quantity such as `24Gi`. */
  readonly defaultDiskSize: string | undefined
  /** URL prefixes; undefined allows any host name and public address. */
  readonly allowedSourceUrls: readonly string[] | undefined
  /** Whether images of sourceType `http` need a checksum. */
  readonly requireChecksum: boolean
  /** What the networks of workspaces are made of. */
  readonly networkDriver: NetworkDriver
  /** NetworkAttachmentDefinitions that machines and workspaces may name, as `<namespace>/<name>`. */
  readonly attachableNetworks: readonly string[]
  /** Paths that `overrides` may set, with all below them, as `<root>:<path>`. */
  readonly allowedOverrides: readonly string[]
  /** Folder of nodes for volumes with a localPath. Undefined: none. */
  readonly localVolumeRoot: string | undefined
  /** Whether containers of workspaces may use ports of the node. */
  readonly allowHostPorts: boolean
  /** Whether containers of workspaces may be privileged. */
  readonly allowPrivileged: boolean
  /** Whether owners of workspaces have shells in namespaces of the level `privileged`. */
  readonly allowPrivilegedExec: boolean
  /** In upper case, without `CAP_`. */
  readonly allowedCapabilities: readonly string[]
  /** Of containers of workspaces. */
  readonly allowedDevices: readonly ContainerDevice[]
  /** Of `spec.services` of workspaces. */
  readonly allowedServiceTypes: readonly ServiceType[]
  /** Namespaces whose labelled Secrets workspaces may have copies of. */
  readonly sharedSecretNamespaces: readonly string[]
  /** Container image that plays the roles of workspaces' machines. */
  readonly ansibleImage: string | undefined
  /** Whether workspaces may reach public addresses. */
  readonly allowInternetAccess: boolean
  /** Ranges that no workspace reaches although they are public. */
  readonly internetDeniedCidrs: readonly string[]
  /** `spec.hard` of a ResourceQuota. */
  readonly workspaceQuota: Readonly<Record<string, string>> | undefined
  /** Ranges that no network of a workspace may overlap. Undefined: those that the cluster shows. */
  readonly clusterCidrs: readonly string[] | undefined
  /** The time that a virtual machine has to become Ready. */
  readonly vmProvisionTimeoutMs: number
  /** How many times a virtual machine that hangs is restarted, or its disk cloned again. */
  readonly kickLimit: number
  /** How long workspaces last that do not say so. Undefined: without an end. */
  readonly workspaceLifetimeMs: number | undefined
  /** How far away an end may be that somebody sets. Undefined: without a limit. */
  readonly workspaceLifetimeMaxMs: number | undefined
  /** How old the warning is before a workspace ends. */
  readonly expiryNoticeMs: number
  /** How long the root disk of a machine is kept after it was replaced. */
  readonly resetGraceMs: number
  /** How many points in time a workspace may have. */
  readonly workspaceSnapshotLimit: number
}

/** Limited because the ledger is one object of at most 1 MiB, with about 200 to 500 bytes for each holder. */
export const CONCURRENCY_MAX = 2_000
