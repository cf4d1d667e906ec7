import type { KubeObject } from '../kube/kube-object.ts'
import { type Removal, referTo } from '../runtime/plan.ts'
import { type Requeue, sooner } from '../runtime/requeue.ts'

/** How long the deletion of dependents may take. Importers have 30 s to terminate. */
export const DEPENDENTS_MS = 120_000

/** Finalizer of an object whose dependents must be deleted first. */
export const FOREGROUND = 'foregroundDeletion'
/** Finalizer of `--cascade=orphan`: the garbage collector removes the owner reference from all dependents, then this finalizer from the owner. */
export const ORPHAN = 'orphan'

/** Reports whether a deletion with `--cascade=orphan` is in progress, so that dependents are left without an owner. */
export function isOrphaning({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(ORPHAN) === true
}

/** Reports whether the garbage collector waits for dependents, or cannot remove its finalizer: that update may have to pass a webhook. */
export function isWaitingForDependents({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND) === true
}

/** Reports whether only the wait for dependents keeps the object: all other finalizers are removed. */
export function isKeptByDependentsAlone(object: KubeObject): boolean {
  return isWaitingForDependents(object) && object.metadata.finalizers?.length === 1
}

/**
 * Ends the wait of children whose foreground deletion is overdue, with a second deletion in the background. Otherwise anyone who knows the uid of an
 * object can block its deletion forever, from any namespace: the garbage collector waits for all objects that name it as an owner with
 * blockOwnerDeletion, and a finalizer keeps those.
 * @param plan removals and requeue of the rest of the plan
 */
export function endingWaits(
  plan: { readonly remove: readonly Removal[]; readonly requeue?: Requeue | undefined },
  children: readonly (KubeObject | undefined)[],
  now: number,
): { readonly remove: readonly Removal[]; readonly requeue: Requeue | undefined } {
  const removals: Removal[] = []
  let { requeue } = plan
  for (const child of children) {
    if (child === undefined || !isWaitingForDependents(child)) continue
    const leftMs = Date.parse(child.metadata.deletionTimestamp ?? '') + DEPENDENTS_MS - now
    if (leftMs <= 0) removals.push({ ...referTo(child), propagationPolicy: 'Background' })
    const afterMs = leftMs > 0 ? leftMs : DEPENDENTS_MS
    requeue = sooner(requeue, { afterMs, because: 'what is being deleted should be gone' })
  }
  return { remove: [...plan.remove, ...removals], requeue }
}
