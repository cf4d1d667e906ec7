import type { KubeObject } from '../../../kube/kube-object.ts'
import type { ChildType, ObjectPlan } from '../../../runtime/plan.ts'
import type { WorkspaceWorld } from '../world.ts'
import type { Blueprint, Component, ComponentStanding } from './component.ts'

/** What is to be said, and done, about a component whose objects are all there. */
export interface Judgement extends Pick<ObjectPlan, 'applyIf'> {
  readonly standing: ComponentStanding
  /** Whether what needs it can be created. Default: its objects are there. */
  readonly isThere?: boolean
  readonly apply?: readonly KubeObject[]
  readonly remove?: ObjectPlan['remove']
}

/**
 * A kind of component: all that is particular about it. The workspace is the fold of these, in the order of their list (`kinds.ts`): created from the first
 * to the last, removed from the last to the first.
 */
export interface ComponentKind {
  readonly kind: string
  /** Whether all else waits for it when a workspace is stood up for the first time. */
  readonly isGround?: boolean
  /** The kinds of its objects, and how one goes. */
  readonly types: readonly ChildType[]
  /** Kinds of components that its objects may use: nothing of those is removed before they are gone. */
  readonly uses?: readonly string[]
  /** The components of this kind that a spec asks for. */
  readonly children: (blueprint: Blueprint) => readonly Component[]
  /** Where a component stands whose objects are all there; or one that has no objects of its own. */
  readonly standing: (world: WorkspaceWorld, component: Component) => Judgement
  /** What of a change of the spec cannot be made to what exists, in words for people. It stays as it is then. */
  readonly unchangeable?: (world: WorkspaceWorld, component: Component) => string | undefined
  /** Whether an object that no component asks for any more has to stay for another one. */
  readonly isNeeded?: (world: WorkspaceWorld, object: KubeObject) => boolean
  /** What keeps it from being created, though all that it needs is there. */
  readonly obstacle?: (world: WorkspaceWorld, component: Component) => ComponentStanding | undefined
}
