import type { ParsedWorkspaceSpec, Policy } from '@open-terrain/constructs'
import type { NamespaceState } from '../../cluster/namespace-state.ts'
import type { ContainerPodView } from '../../cluster/workspace-views.ts'
import type { ImageView } from '../../images/image-view.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { ChildRefusal } from '../../runtime/child-refusals.ts'
import type { Component } from './decide/component.ts'
import type { WorkspaceView } from './views.ts'

/** An Open Terrain VirtualMachine, as its own cache has it. */
export interface MachineFacts extends KubeObject {
  readonly spec: unknown
  readonly status: {
    readonly phase?: string | undefined
    readonly reason?: string | undefined
    readonly message?: string | undefined
    readonly observedGeneration?: number | undefined
  }
}

/** What is known of an image that the workspace names. */
export interface ImageFacts {
  readonly image: ImageView | undefined
  /** Whether anything else refers to it, as far as caches and the image's own status tell. */
  readonly isShared: boolean
}

/** All that is known about one workspace at one moment. A plan is a function of this, and of the time. */
export interface WorkspaceWorld {
  readonly workspace: WorkspaceView
  readonly spec: ParsedWorkspaceSpec
  readonly policy: Policy
  /** What the spec asks for, kind by kind, as `kinds.ts` has them; empty where it cannot be read. */
  readonly components: readonly Component[]
  /** By `idOfObject`: ours, those in other namespaces than that of the workspace left out. */
  readonly children: ReadonlyMap<string, KubeObject>
  /** By `idOfObject`: objects of others that have a name which one of the components needs, as far as caches know. */
  readonly namesakes: ReadonlyMap<string, KubeObject>
  /** Kinds of objects that the cluster does not serve. */
  readonly missingKinds: ReadonlySet<string>
  /** By `backingVMDiskImage`. */
  readonly images: ReadonlyMap<string, ImageFacts>
  readonly imageNamespace: NamespaceState
  /** Names of the Secrets in the namespace of the workspace, of those that its machines name. */
  readonly secrets: ReadonlySet<string>
  /** By name of the container cluster. */
  readonly pods: ReadonlyMap<string, readonly ContainerPodView[]>
  /** By uid of a pod that takes too long to start: what was said of it last. */
  readonly podWarnings: ReadonlyMap<string, { readonly text: string | undefined; readonly isLookedAt: boolean }>
  /** By `childId`. */
  readonly refusals: ReadonlyMap<string, ChildRefusal>
  /** Whether this process has not tried yet what was refused before it. */
  readonly isUndecided: boolean
  /** What the API server answered when it last refused something of the workspace itself. */
  readonly refusal: string | undefined
}
