import type { KubeObject } from '../kube/kube-object.ts'
import type { ObjectReference, Removal } from './plan-writer.ts'
import type { Precondition } from './preconditions.ts'

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
