import type {
  CloudInitData,
  EarlierCloudInit,
  ParsedVirtualMachineSpec,
  Policy,
  SpecWarning,
  VirtualMachineDisk,
  VirtualMachineStatus,
} from '@open-terrain/constructs/operator'
import type { NamespaceState } from '../../cluster/namespace-state.ts'
import type { AwaitedNeighbours } from '../../cluster/neighbour-facts.ts'
import type { OwnView } from '../../cluster/own-view.ts'
import type { ClaimNeeds, QuotaView } from '../../cluster/quotas.ts'
import type { DataVolumeView, StorageClassView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { ImageClaim } from '../../images/references.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { InstanceView, KubeVirtView } from './kubevirt-views.ts'

/** A VirtualMachine of Open Terrain as stored. The spec is not validated: it may come from an older schema. */
export interface MachineView extends OwnView {
  readonly status: VirtualMachineStatus
}

/** The claim of a root disk. */
export interface ClaimFacts extends KubeObject {
  readonly phase?: string
  /** What it requests, as a quantity; undefined where it is not known. */
  readonly requested?: string | undefined
  /** Undefined where it is not known. */
  readonly storageClass?: string | undefined
}

/** The image that a disk is cloned from. */
export interface DiskImage {
  /** Its `<namespace>/<name>`. */
  readonly key: string
  readonly image: ImageView | undefined
  /** The DataVolume that makes the disk. One of somebody else does not count. */
  readonly clone: CloneFacts | undefined
  /** Whether the source of the clone exists; without a clone, the source that it would have. */
  readonly hasCloneSource: boolean
}

/** A disk of the spec beside the root disk. */
export interface DiskFacts {
  readonly spec: VirtualMachineDisk
  /** Name of its claim. */
  readonly claimName: string
  /** The same without a restore of KubeVirt. */
  readonly ownClaim: string
  /** The claim. One that belongs to somebody else counts only if the disk is a volume. */
  readonly claim: ClaimFacts | undefined
  /** The claim that the operator gave KubeVirt's machine as this disk, and the one that the machine has now; undefined if it gave it none. */
  readonly given: { readonly ownClaim: string; readonly claimName: string } | undefined
  /** Undefined if it is not cloned from an image. */
  readonly ofImage?: DiskImage | undefined
}

/** A DataVolume that no disk of the spec needs, and its claim, if it is there. */
export interface StrayClone {
  readonly clone: CloneFacts
  readonly claim: ClaimFacts | undefined
}

/** The part of a disk's DataVolume that decisions use. */
export interface CloneFacts extends KubeObject, Pick<DataVolumeView, 'phase' | 'progress' | 'cloneOf'> {
  readonly bound: { readonly reason: string; readonly message: string }
  readonly running: CloneFacts['bound']
}

/** The cloud-init data of the guest, or why it cannot be rendered. */
export type CloudInit = RenderedCloudInit | MissingCloudInit

interface RenderedCloudInit {
  readonly kind: 'rendered'
  readonly data: CloudInitData
  /** If an earlier version rendered them otherwise. */
  readonly earlier?: (EarlierCloudInit & { readonly tooLarge?: MissingCloudInit | undefined }) | undefined
  /** Why the data does not fit into a Secret, where it may be that of an earlier version that is written. */
  readonly tooLarge?: MissingCloudInit | undefined
  /** What of the user data has no effect. */
  readonly warnings?: readonly SpecWarning[]
  /** What the guest lacks with data of an earlier version. */
  readonly lacking?: SpecWarning
}

/** Secrets that the spec names do not exist or lack a key; or one cannot be read: then no watch event reports when it can. */
export interface MissingCloudInit {
  readonly kind: 'missing'
  readonly reason: 'MissingPasswordSecret' | 'MissingUserDataSecret'
  readonly message: string
  readonly isRefused?: boolean
  /** The keys that have nothing which can be used yet. */
  readonly keys?: VirtualMachineStatus['missingSecretKeys']
}

/** What keeps the pod of a machine from starting, as found by a live look. */
export interface Obstacle {
  /** NetworkAttachmentDefinitions that interfaces name but that do not exist. */
  readonly missingNetworks: readonly string[]
  /** Whether the cluster serves NetworkAttachmentDefinitions at all. */
  readonly hasMultus: boolean
  /** `<reason>: <message>` of the most relevant Warning event; undefined if there is none. */
  readonly warning: string | undefined
  /** The newest refusal, if the pod or its instance is refused. */
  readonly refusal?: CreateRefusal
}

/** An Event that reports why KubeVirt could not create something. */
export interface CreateRefusal {
  readonly text: string
  /** When it was last reported, in ms. */
  readonly at: number
}

/**
 * A restore of KubeVirt that is under way: its name, or the DataVolume whose claim it has deleted and not made again yet. One that is awaited has
 * switched the machine off, and begins when the guest is gone.
 */
export type Restoring = { readonly restore: string; readonly isAwaited?: boolean } | { readonly dataVolume: string }

/** A root disk of the machine that it does not start from. */
export interface RootDisk {
  /** Of its DataVolume and of its claim. */
  readonly name: string
  /** Its DataVolume. One of somebody else does not count. */
  readonly clone: CloneFacts | undefined
  /** The claim, if it belongs to the machine. */
  readonly claim: ClaimFacts | undefined
}

/** The disk that was replaced. */
export interface ReplacedDisk extends RootDisk {
  /** Whether a DataVolume is being cloned from it. */
  readonly isBeingCloned: boolean
}

/** The disk that is to replace the root disk. */
export interface NextDisk extends RootDisk {
  /** Kind and name of an object of somebody else that has its name. */
  readonly foreign: string | undefined
  /** As in {@link MachineWorld}. */
  readonly hasCloneSource: boolean
}

/** What is known about room for a second root disk. */
export interface RoomFacts {
  /** The ResourceQuotas of the namespace. */
  readonly quotas: readonly QuotaView[]
  /** The root disks that other machines of the namespace have asked for, or are about to, and whose claims are not there yet. `size` as in their specs. */
  readonly awaited: readonly Pick<ClaimNeeds, 'size'>[]
  /** Whether a DataVolume is being cloned from the present root disk. */
  readonly isBeingCloned: boolean
}

/** Everything known about one machine at one moment. A plan is a function of this and the time. */
export interface MachineWorld {
  readonly vm: MachineView
  readonly spec: ParsedVirtualMachineSpec
  readonly policy: Policy
  readonly namespaceTerminating: boolean
  readonly hasDataVolumes: boolean
  readonly hasKubeVirt: boolean
  readonly image: ImageView | undefined
  /** Whether anything else refers to the image, according to the caches and the image's status. */
  readonly isImageShared: boolean
  /** What all that refer to the image want of it. Empty if nothing depends on it. */
  readonly imageClaims: readonly ImageClaim[]
  readonly imageNamespace: NamespaceState
  /** The `<namespace>/<name>` of an image of a DataSync that has the name of the image with a hash, where there is no such image. */
  readonly imageWithHash?: string | undefined
  /** Name of the root disk that the machine starts from, unless a restore has given it another claim: of its DataVolume and of its claim. */
  readonly rootName: string
  /** The root disk that is made to replace it, as the status names it. */
  readonly next: NextDisk | undefined
  /** Looked at only while a new root disk is recorded that has no claim. */
  readonly room?: RoomFacts | undefined
  /** The root disk that was replaced last, as the status names it, as long as it is there. */
  readonly old: ReplacedDisk | undefined
  /** All root disks that have a DataVolume of the machine and are neither the present one nor the next one. */
  readonly otherRoots: readonly RootDisk[]
  /** Only a DataVolume that belongs to the machine. Others of that name are in `conflict`, `leaving` or `orphan`. */
  readonly clone: CloneFacts | undefined
  /** StorageClass of a disk made from the image; undefined if none is named, or none of that name exists. */
  readonly storageClass: StorageClassView | undefined
  /** Whether the source of the clone exists; without a clone, the source that it would have. */
  readonly hasCloneSource: boolean
  /** Claim of the root disk. The machine starts from it. */
  readonly claim: ClaimFacts | undefined
  /** Kind and name of a foreign claim in its place, even if it is being deleted: KubeVirt would start the machine from it. */
  readonly foreignClaim: string | undefined
  /** The disks of the spec beside the root disk, in its order. */
  readonly disks: readonly DiskFacts[]
  /** All claims that belong to the machine itself: its empty disks, including those that the spec does not name any more. */
  readonly diskClaims: readonly ClaimFacts[]
  /** All DataVolumes of the machine but that of the root disk, including those that the spec does not name any more. */
  readonly diskClones: readonly CloneFacts[]
  /** Those of them that a spec which can be read does not name any more. */
  readonly strayClones: readonly StrayClone[]
  readonly secret: KubeObject | undefined
  readonly machine: KubeVirtView | undefined
  readonly instance: InstanceView | undefined
  /** What of a restore of KubeVirt is under way; undefined if none is. */
  readonly restoring: Restoring | undefined
  /** Name of the claim that a restore of KubeVirt made the root disk, and that KubeVirt's machine names. */
  readonly restoredClaim: string | undefined
  /** That claim has another name than our DataVolume, which then is not used: `clone` is undefined, and `claim` is that claim. */
  readonly isDiskElsewhere: boolean
  /** The status names a restored claim, the machine is not started from it, and it is gone. */
  readonly isRestoredClaimLost: boolean
  /** Name of the restored claim that the guest had, which is there although KubeVirt's machine does not start from it any more. */
  readonly restoredAside: string | undefined
  /** Kind and name of a foreign object that has a name the machine needs. */
  readonly conflict: string | undefined
  /** The same for an object that is being deleted: its name is free when it is gone. */
  readonly leaving: string | undefined
  /** Kind and name of a child of this machine that has lost its ownerReference. Deleting it loses what it holds. */
  readonly orphan: string | undefined
  readonly cloudInit: CloudInit
  /** The API server's answer when it last refused something that the machine needs. */
  readonly refusal: string | undefined
  /** What keeps the pod from starting, if KubeVirt reports `Starting` for too long. */
  readonly obstacle: Obstacle | undefined
  /** Time of the API server, in milliseconds since the epoch; undefined: not known. Disks are deleted by it. */
  readonly serverNow: number | undefined
  /** The neighbours that must act before the machine gets further. Empty if none must. */
  readonly neighbours: AwaitedNeighbours
}
