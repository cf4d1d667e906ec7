import type {
  ParsedWorkspaceSpec,
  Policy,
  VirtualMachineStatus,
  WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import type { NamespaceState } from '../../cluster/namespace-state.ts'
import type { OwnView } from '../../cluster/own-view.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { ImageClaim } from '../../images/references.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { ChildRefusal } from '../../runtime/child-refusals.ts'
import type { ObjectPlan } from '../../runtime/plan.ts'
import type { ContainerPodView } from './child-views.ts'
import type { ClusterRange } from './cluster-ranges.ts'
import type { Component, Rollout } from './decide/component.ts'
import type { SecretSource } from './decide/secret-sources.ts'

/** A Workspace as its cache keeps it. */
export interface WorkspaceView extends OwnView {
  readonly status: WorkspaceStatus
}

/** An Open Terrain VirtualMachine as its own cache keeps it. */
export interface MachineFacts extends KubeObject {
  readonly spec: unknown
  readonly status: Partial<VirtualMachineStatus>
}

/** Facts about an image that the workspace names. */
export interface ImageFacts {
  readonly image: ImageView | undefined
  /** Whether anything refers to it that has no claim, according to its status. */
  readonly isShared: boolean
  /** What all that refer to it want of it. Empty if nothing depends on it. */
  readonly claims: readonly ImageClaim[]
}

/** What is known of the keys of a Secret that the spec asks for: their names alone. */
export interface SecretKeys {
  readonly has: readonly string[]
  readonly lacks: readonly string[]
  /** Keys that were made, as its annotation says. */
  readonly marked: readonly string[]
}

/** What is known of time, and of the policy, for the end of a workspace. */
export interface ExpiryFacts {
  /** Time of the API server, in milliseconds since the epoch, or somewhat less. Undefined: not known yet, and nothing comes closer to its end. */
  readonly serverNow: number | undefined
  /** How old a warning has to be: `expiryNotice`, or what that was until a moment ago if that is longer. */
  readonly noticeMs: number
  /** Whether this workspace may be deleted now. Few are within a minute, so that people see it happen. */
  readonly isTurn: boolean
}

/** Everything that is known about one workspace at one moment. A plan is a function of this and of the time. */
export interface WorkspaceWorld {
  readonly workspace: WorkspaceView
  /** As it is to be carried out: a workspace that has ended is off. */
  readonly spec: ParsedWorkspaceSpec
  readonly policy: Policy
  readonly expiry: ExpiryFacts
  /** What the spec asks for, kind by kind in the order of `kinds.ts`. Empty if the spec is invalid. */
  readonly components: readonly Component[]
  /** Children of the workspace by `idOfObject`, without those in namespaces other than its own. */
  readonly children: ReadonlyMap<string, KubeObject>
  /** Objects of others by `idOfObject` that have a name which a component needs, as far as caches know. */
  readonly namesakes: ReadonlyMap<string, KubeObject>
  /** Kinds of objects that the cluster does not serve. */
  readonly missingKinds: ReadonlySet<string>
  /** By `backingVMDiskImage`. */
  readonly images: ReadonlyMap<string, ImageFacts>
  readonly imageNamespace: NamespaceState
  /** Names of those Secrets that its members name and that exist in the namespace of the workspace. */
  readonly secrets: ReadonlySet<string>
  /** The same of ConfigMaps. */
  readonly configMaps: ReadonlySet<string>
  /** By name of a Secret whose values the operator makes, and that is there. Undefined until it has been read once, and again after it lacked a key. */
  readonly secretKeys: ReadonlyMap<string, SecretKeys | undefined>
  /** By name of a Secret that is a copy. */
  readonly secretSources: ReadonlyMap<string, SecretSource>
  /** Names of copies that have been found to have other values than their sources. */
  readonly copiesToMend: ReadonlySet<string>
  /** By name of the container cluster. */
  readonly pods: ReadonlyMap<string, readonly ContainerPodView[]>
  /** By name of the Job that plays roles in them. Of a Job that is gone, only if one has not ended. */
  readonly playPods: ReadonlyMap<string, readonly ContainerPodView[]>
  /** By uid of such a pod that has ended: what it said, without secrets. Undefined until that is known. */
  readonly playEnds: ReadonlyMap<string, string | undefined>
  /** Ranges of Services and pods, as far as they are known. */
  readonly ranges: readonly ClusterRange[]
  /** By name of a network: another NetworkAttachmentDefinition of the cluster, `<namespace>/<name>`, that has its bridge or its name. */
  readonly namesTaken: ReadonlyMap<string, string>
  /** By name of a node that runs members: whether it keeps itself out of the networks of workspaces. Undefined if nothing shows it. */
  readonly nodes: ReadonlyMap<string, boolean | undefined>
  /** Whether Multus has reported the networks of any pod of any workspace. */
  readonly areNetworksReported: boolean
  /** By uid of a pod that takes too long to start: the last warning about it. */
  readonly podWarnings: ReadonlyMap<string, { readonly text: string | undefined; readonly isRead: boolean }>
  /** Which machines are asked for new disks now. */
  readonly rollout: Rollout
  /** By `childId`. */
  readonly refusals: ReadonlyMap<string, ChildRefusal>
  /** Whether this process has not retried yet what was refused before it led. */
  readonly isUndecided: boolean
  /** The last answer of the API server that refused a write for the workspace itself. */
  readonly refusal: string | undefined
}

/** What is known where nothing of others stands in the way of a lab: `ot plan` and tests begin with it. */
export const UNDISTURBED = {
  namesTaken: new Map(),
  namesakes: new Map(),
  missingKinds: new Set(),
  imageNamespace: 'there',
  secretKeys: new Map(),
  copiesToMend: new Set(),
  playPods: new Map(),
  playEnds: new Map(),
  nodes: new Map(),
  ranges: [],
  areNetworksReported: true,
  podWarnings: new Map(),
  refusals: new Map(),
  isUndecided: false,
  refusal: undefined,
} as const satisfies Partial<WorkspaceWorld>

export type WorkspacePlan = ObjectPlan & { readonly status: WorkspaceStatus }
