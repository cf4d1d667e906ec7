import type { CloudInitData, ParsedVirtualMachineSpec, Policy } from '@open-terrain/constructs'
import type { InstanceView, KubeVirtView } from '../../cluster/kubevirt-views.ts'
import type { NamespaceState } from '../../cluster/namespace-state.ts'
import type { StorageClassView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { Obstacle } from './decide/obstacle.ts'
import type { CloneFacts, MachineView } from './views.ts'

/** What the guest is to be told, as far as it can be rendered. */
export type CloudInit =
  | { readonly kind: 'rendered'; readonly data: CloudInitData }
  /** A Secret that a user's password is to come from is not there, or cannot be read; then nobody tells when it can. */
  | { readonly kind: 'missing'; readonly message: string; readonly isRefused?: boolean }

/** All that is known about one machine at one moment. A plan is a function of this, and of the time. */
export interface MachineWorld {
  readonly vm: MachineView
  readonly spec: ParsedVirtualMachineSpec
  readonly policy: Policy
  readonly namespaceTerminating: boolean
  readonly hasDataVolumes: boolean
  readonly hasKubeVirt: boolean
  readonly image: ImageView | undefined
  /** Whether anything else refers to the image, as far as caches and the image's own status tell. */
  readonly isImageShared: boolean
  readonly imageNamespace: NamespaceState
  /** Ours alone; namesakes of others are in `conflict`. */
  readonly clone: CloneFacts | undefined
  /** Of the disk that is made from the image; undefined where none is named, or there is none of that name. */
  readonly storageClass: StorageClassView | undefined
  /** Whether what the clone reads from exists; where there is none, what it would read from. */
  readonly hasCloneSource: boolean
  /** Of the root disk, by which the machine is started. */
  readonly claim: KubeObject | undefined
  /** Kind and name of a claim of somebody else in its place, whether or not that is being deleted: KubeVirt would start the machine by it. */
  readonly foreignClaim: string | undefined
  readonly secret: KubeObject | undefined
  readonly machine: KubeVirtView | undefined
  readonly instance: InstanceView | undefined
  /** Kind and name of an object of somebody else that has a name which the machine needs. */
  readonly conflict: string | undefined
  /** The same of one that is being deleted: its name is free when it is gone. */
  readonly leaving: string | undefined
  /** Kind and name of a child of this machine that has lost its ownerReference. Deleting it loses what it holds. */
  readonly orphan: string | undefined
  readonly cloudInit: CloudInit
  /** What the API server answered when it last refused something that the machine needs. */
  readonly refusal: string | undefined
  /** What keeps its pod from starting, where KubeVirt says `Starting` for too long. */
  readonly obstacle: Obstacle | undefined
}
