import type { DeleteOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ObjectMeta } from '../../operator/kube/kube-object.ts'
import type { Traits } from './served-types.ts'

/** The garbage collector removes these finalizers when it has deleted the dependents, or removed their owner references. */
export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

export interface StoredMeta extends ObjectMeta {
  readonly deletionGracePeriodSeconds?: number
}

interface Finalized extends KubeObject {
  readonly spec?: { readonly finalizers?: readonly string[] }
  readonly status?: object
}

export function isTerminating({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

export function isWaitingForDependents(object: KubeObject): boolean {
  return isTerminating(object) && object.metadata.finalizers?.includes(FOREGROUND) === true
}

/** Reports whether the object is deleted and no finalizer holds it. */
export function isOver(object: KubeObject): boolean {
  if (!isTerminating(object) || (object.metadata.finalizers?.length ?? 0) > 0) return false
  return object.kind !== 'Namespace' || ((object as Finalized).spec?.finalizers?.length ?? 0) === 0
}

/** Returns the object after a DELETE request. It can be removed at once if {@link isOver} holds. */
export function afterDelete(
  traits: Traits,
  before: KubeObject,
  policy: DeleteOptions['propagationPolicy'],
  timestamp: string,
): KubeObject {
  const finalizers = finalizersFor(policy, before.metadata.finalizers ?? [])
  const { finalizers: _replaced, ...rest } = before.metadata
  const metadata: StoredMeta = { ...rest, ...(finalizers.length > 0 && { finalizers }) }
  if (isTerminating(before)) return { ...before, metadata }
  const isCounted = traits.hasGeneration
  const deleted: StoredMeta = {
    ...metadata,
    deletionTimestamp: timestamp,
    deletionGracePeriodSeconds: 0,
    ...(isCounted && { generation: (metadata.generation ?? 0) + 1 }),
  }
  if (before.kind !== 'Namespace') return { ...before, metadata: deleted }
  return {
    ...before,
    metadata: deleted,
    status: { ...(before as Finalized).status, phase: 'Terminating' },
  } as KubeObject
}

/** Without a policy, the finalizers that earlier requests set stay. */
function finalizersFor(policy: DeleteOptions['propagationPolicy'], finalizers: readonly string[]): readonly string[] {
  if (policy === undefined) return finalizers
  const others = finalizers.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN)
  if (policy === 'Background') return others
  return [...others, policy === 'Foreground' ? FOREGROUND : ORPHAN]
}
