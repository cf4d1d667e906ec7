import type { KubeObject, ObjectKey, ResourceType } from '../kube/kube-object.ts'
import type { EventNote } from './event-recorder.ts'
import type { Precondition } from './preconditions.ts'
import type { Wake } from './wake.ts'

/**
 * What is to be done about one object, as printable data. It is carried out in this order: status, finalizer, children,
 * annotations, removals; the release of the finalizer last.
 */
export interface ObjectPlan {
  readonly status: object
  readonly finalizer: 'add' | 'keep' | 'release'
  /** Children as they should be. */
  readonly apply: readonly KubeObject[]
  /** More of them, each with what has to hold for it alone: nothing else of the plan waits for that. */
  readonly applyIf?: readonly GuardedChild[]
  readonly remove: readonly Removal[]
  readonly touch?: readonly Touch[]
  readonly events: readonly EventNote[]
  readonly wake?: Wake | undefined
  /** Nothing of the plan is carried out where one of them does not hold. */
  readonly onlyIf?: readonly Precondition[]
}

/** What is left of a plan where nothing is to be done. */
export const NOTHING_TO_DO = { finalizer: 'keep', apply: [], remove: [], events: [] } as const

/** A child that is only written where all of these hold. */
export interface GuardedChild {
  readonly wanted: KubeObject
  readonly onlyIf: readonly Precondition[]
}

/** Names an object that was seen: another one of that name is not meant. */
export interface ObjectReference extends ObjectKey {
  readonly apiVersion: string
  readonly kind: string
  readonly uid: string
  /** Where it is only meant in the state that was seen. */
  readonly resourceVersion?: string
}

/** A child to delete. Or the object itself: not together with a change of its status, which is looked at once more. */
export interface Removal extends ObjectReference {
  /** Where it is another one than that of its kind. */
  readonly propagationPolicy?: 'Background'
  /** It waits as long as one of them does not hold. */
  readonly onlyIf?: readonly Precondition[]
  /** Told on the owner when it is deleted. */
  readonly event?: EventNote
}

/** Annotations for an object: a controller that waits before a new try makes it at once when the object changes. */
export interface Touch extends ObjectReference {
  readonly annotations: Readonly<Record<string, string>>
}

/** A kind of children, and how one goes: in the foreground only when all that it owns is gone. */
export interface ChildType {
  readonly type: ResourceType
  readonly propagationPolicy: 'Foreground' | 'Background'
}

/** The object that was seen, in whatever state it is by now. */
export function referTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name, uid = '' } = metadata
  return { apiVersion, kind, ...(namespace !== undefined && { namespace }), name, uid }
}

/**
 * The removal of a child, unless it is going already; only as long as it is what was seen: by a cache that is behind, what has finished, recovered or lost its
 * owner does not look so.
 */
export function removalOf(object: KubeObject | undefined, ...onlyIf: readonly Precondition[]): Removal[] {
  if (object?.metadata.uid === undefined || object.metadata.deletionTimestamp !== undefined) return []
  const { resourceVersion } = object.metadata
  const seen = resourceVersion !== undefined && { resourceVersion }
  return [{ ...referTo(object), ...seen, ...(onlyIf.length > 0 && { onlyIf }) }]
}
