import type { Policy, WorkspacePhase, WorkspaceReason, WorkspaceSpec } from '@open-terrain/constructs'
import type { KubeObject } from '../../../kube/kube-object.ts'

/** What components are rendered from. Nothing else is in them, so they are the same as long as this is. */
export interface Blueprint {
  readonly workspace: { readonly name: string; readonly uid: string }
  readonly spec: WorkspaceSpec
  readonly policy: Policy
}

/** Where one component stands. */
export interface ComponentStanding {
  readonly phase: WorkspacePhase
  /** Why the workspace is where it is, if that is for this component. */
  readonly why: WorkspaceReason
  /** The same in the words of the object that the component consists of. Default: `why`. */
  readonly reason?: string
  readonly message: string
}

/** One thing that people count: one entry of the status, with the objects that it consists of. */
export interface Component {
  readonly kind: string
  /** No other component of the kind has it. */
  readonly name: string
  /** As they should be, in the order in which they are created. */
  readonly objects: readonly KubeObject[]
  /** {@link idOf} of the components that have to be there before it is created. */
  readonly needs: readonly string[]
  /** Nothing of it is created or changed, whatever the cluster is like, and what exists stays. What the status says of it while nothing of it exists, and after that. */
  readonly held?: { readonly absent: ComponentStanding; readonly present: ComponentStanding }
}

/** Tells the objects of one workspace apart, and its components. */
export function idOf(kind: string, name: string): string {
  return `${kind} ${name}`
}

export function idOfObject({ kind, metadata }: KubeObject): string {
  return idOf(kind, metadata.name)
}

export function isGoing({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

export const componentReady = (message: string, why: WorkspaceReason = 'Ready'): ComponentStanding => {
  return { phase: 'Ready', why, message }
}

export const componentWaiting = (why: WorkspaceReason, message: string): ComponentStanding => {
  return { phase: 'Provisioning', why, message }
}

export const componentFailed = (why: WorkspaceReason, message: string): ComponentStanding => {
  return { phase: 'Failed', why, message }
}
