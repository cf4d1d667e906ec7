import type { KubeObject } from '../../../kube/kube-object.ts'
import type { ChildType, ObjectPlan } from '../../../runtime/plan.ts'
import type { WorkspaceWorld } from '../world.ts'
import type { Blueprint, Component, ComponentRemark, ComponentSummary, EarlierRendering } from './component.ts'

/** What a machine says of its disk, by its condition UpToDate. */
export interface MachineAge {
  readonly holds: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** What to report and do about a component whose objects all exist. */
export interface Judgement extends Pick<ObjectPlan, 'applyIf' | 'touch' | 'requeue'> {
  readonly summary: ComponentSummary
  /** What to say beside a summary that is Ready, after what could not be changed. */
  readonly remarks?: readonly ComponentRemark[]
  /** Whether components that need it can be created. Default: whether its objects exist. */
  readonly isThere?: boolean
  readonly apply?: readonly KubeObject[]
  readonly remove?: ObjectPlan['remove']
  /** Only of a machine that says it of its present spec. */
  readonly age?: MachineAge | undefined
}

/** What to do about the pods of a component. */
export type Tending = { readonly [part in 'touch' | 'remove' | 'requeue']?: Judgement[part] | undefined }

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
  /**
   * Returns other renderings of a component from the same spec and policy, such as those of earlier versions of the operator, the newest first
   * (docs/adr/0015). One that has other objects than the component differs from it in an object that both have. Default: none.
   */
  readonly earlier?: (blueprint: Blueprint, component: Pick<Component, 'name'>) => readonly EarlierRendering[]
  /** Judges a component whose objects all exist, or that has no objects of its own. */
  readonly summary: (world: WorkspaceWorld, component: Component, now: number) => Judgement
  /** Returns what its pods need in any case, also if its objects must not be changed. */
  readonly tended?: (world: WorkspaceWorld, component: Pick<Component, 'name'>, now: number) => Tending
  /** Returns which change of the spec cannot be made to what exists, in words for people. The objects then stay as they are. */
  readonly unchangeable?: (world: WorkspaceWorld, component: Component) => string | undefined
  /** Returns in words for people which change the API server refuses for good, although it is tried again. The object then stays as it is. */
  readonly refusedForGood?: (wanted: KubeObject, actual: KubeObject, refusal: string) => string | undefined
  /** Returns what to say of data that went, or goes, with an object that is missing or being deleted. */
  readonly loss?: (world: WorkspaceWorld, component: Component) => ComponentSummary | undefined
  /**
   * Whether its data is gone, so that it must not be made again before somebody asks for it. The status remembers that from then on. Default: it is made
   * again by itself.
   */
  readonly isLost?: (world: WorkspaceWorld, component: Component) => boolean
  /**
   * Whether its objects have data that would go with them. Undefined while they are not there. The status remembers it, so that {@link ComponentKind.loss} can
   * be told after any time.
   */
  readonly hasData?: (world: WorkspaceWorld, component: Component) => boolean | undefined
  /** Whether an object that no component asks for any more must stay because another object needs it. */
  readonly isNeeded?: (world: WorkspaceWorld, object: KubeObject) => boolean
  /** Returns what prevents its creation although everything that it needs exists. */
  readonly obstacle?: (world: WorkspaceWorld, component: Component, now: number) => ComponentSummary | undefined
}
