import type { KubeObject } from '../../../kube/kube-object.ts'
import type { ChildType, ObjectPlan } from '../../../runtime/plan.ts'
import type { WorkspaceWorld } from '../world.ts'
import type { Blueprint, Component, ComponentStanding } from './component.ts'

/** What to report and do about a component whose objects all exist. */
export interface Judgement extends Pick<ObjectPlan, 'applyIf'> {
  readonly standing: ComponentStanding
  /** Whether components that need it can be created. Default: whether its objects exist. */
  readonly isThere?: boolean
  readonly apply?: readonly KubeObject[]
  readonly remove?: ObjectPlan['remove']
}

/**
 * A kind of component, with everything that is specific to it. A workspace is the fold of these kinds in the order of their list (`kinds.ts`): it is
 * created from the first to the last, and removed from the last to the first.
 */
export interface ComponentKind {
  readonly kind: string
  /** Whether everything else waits for it during the first rollout of a workspace. */
  readonly isGround?: boolean
  /** The kinds of its objects, each with its deletion propagation policy. */
  readonly types: readonly ChildType[]
  /** Kinds of components that its objects may use. No object of those kinds is removed before its objects are gone. */
  readonly uses?: readonly string[]
  /** Returns the components of this kind that a spec asks for. */
  readonly children: (blueprint: Blueprint) => readonly Component[]
  /** Judges a component whose objects all exist, or that has no objects of its own. */
  readonly standing: (world: WorkspaceWorld, component: Component) => Judgement
  /** Returns which change of the spec cannot be made to what exists, in words for people. The objects then stay as they are. */
  readonly unchangeable?: (world: WorkspaceWorld, component: Component) => string | undefined
  /** Whether an object that no component asks for any more must stay because another object needs it. */
  readonly isNeeded?: (world: WorkspaceWorld, object: KubeObject) => boolean
  /** Returns what prevents its creation although everything that it needs exists. */
  readonly obstacle?: (world: WorkspaceWorld, component: Component) => ComponentStanding | undefined
}
