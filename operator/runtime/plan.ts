import { isTerminating, type KubeObject, type ObjectKey, type ResourceType } from '../kube/kube-object.ts'
import type { EventNote } from './event-recorder.ts'
import type { Precondition } from './preconditions.ts'
import type { Requeue } from './requeue.ts'

/** What to do about one object, as printable data, in this order: removals that come first, status, finalizer, children, annotations, removals, release of the finalizer. */
export interface ObjectPlan {
  readonly status: object
  /** `lift` takes it off an object that stays, `release` lets go of one that is being deleted. */
  readonly finalizer: FinalizerChange
  readonly apply: readonly KubeObject[]
  /** More children, each written only if all its preconditions hold. Nothing else in the plan waits for these. */
  readonly applyIf?: readonly { readonly wanted: KubeObject; readonly onlyIf: readonly Precondition[] }[]
  readonly remove: readonly Removal[]
  readonly touch?: readonly Touch[]
  readonly events: readonly EventNote[]
  readonly requeue?: Requeue | undefined
  /** If one of these does not hold, nothing of the plan is executed. */
  readonly onlyIf?: readonly Precondition[]
}

/** What becomes of the operator's finalizer on the object itself. */
export type FinalizerChange = 'add' | 'keep' | 'lift' | 'release'

/** The rest of a plan, besides the status, if there is nothing to do. */
export const NOTHING_TO_DO = { finalizer: 'keep', apply: [], remove: [], events: [] } as const

/** Identifies an observed object. Another object with the same name does not match. */
export interface ObjectReference extends ObjectKey {
  readonly apiVersion: string
  readonly kind: string
  readonly uid: string
  /** Set if it matches only the observed state. */
  readonly resourceVersion?: string
}

/** A child to delete, or the object itself. The object is not deleted together with a change of its status; it is planned once more first. */
export interface Removal extends ObjectReference {
  /** Set if it differs from the policy of its kind. */
  readonly propagationPolicy?: 'Background'
  /** Set if it comes before the status: access that is taken away does not wait for a status that can be written. */
  readonly isFirst?: true
  /** The removal waits until all of these hold. */
  readonly onlyIf?: readonly Precondition[]
  /** Recorded on the owner when the child is deleted. */
  readonly event?: EventNote
}

/**
 * Annotations to set on an object: a controller that waits before a retry makes it at once when the object changes. And fields of its spec, as a merge
 * patch.
 */
export interface Touch extends ObjectReference {
  readonly annotations: Readonly<Record<string, string>>
  readonly spec?: object
}

/** A kind of children, and how they are deleted. In the foreground, a child is gone only after everything that it owns. */
export interface ChildType {
  readonly type: ResourceType
  readonly propagationPolicy: 'Foreground' | 'Background'
}

/** Identifies the observed object in any later state. */
export function referTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name, uid = '' } = metadata
  return { apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid }
}

/** Removes a child, unless that is under way. In the observed version only: it may since have finished, recovered or lost its owner. */
export function removalOf(object: KubeObject | undefined, ...onlyIf: readonly Precondition[]): Removal[] {
  if (object?.metadata.uid === undefined || isTerminating(object)) return []
  const { resourceVersion } = object.metadata
  const seen = resourceVersion !== undefined && { resourceVersion }
  return [{ ...referTo(object), ...seen, ...(onlyIf.length > 0 && { onlyIf }) }]
}

/** Returns the precondition that an object is still as the caches have it. */
export function unchanged(type: ResourceType, { metadata }: KubeObject): Precondition {
  const { namespace = '', name, uid, resourceVersion = '' } = metadata
  return { unchanged: { type, namespace, name, uid, resourceVersion } }
}
