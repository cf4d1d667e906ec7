import type { KubeObject } from '../kube/kube-object.ts'
import type { Removal } from './plan-writer.ts'
import type { Precondition } from './preconditions.ts'

/** The removal of a child, unless it is going already. */
export function removing<R extends Removal>(object: KubeObject | undefined, ...onlyIf: readonly Precondition[]): R[] {
  if (object === undefined) return []
  const { name, uid, deletionTimestamp } = object.metadata
  if (uid === undefined || deletionTimestamp !== undefined) return []
  return [{ kind: object.kind, name, uid, ...(onlyIf.length > 0 && { onlyIf }) } as R]
}

/** Only as long as it is what was judged: by a cache that is behind, what has finished or recovered does not look so. */
export function removingAsSeen<R extends Removal>(object: KubeObject, ...onlyIf: readonly Precondition[]): R[] {
  const { resourceVersion } = object.metadata
  const seen = resourceVersion === undefined ? {} : { resourceVersion }
  return removing<R>(object, ...onlyIf).map((removal) => ({ ...removal, ...seen }))
}
