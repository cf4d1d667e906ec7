import type { KubeObject } from '../kube/kube-object.ts'
import { type Removal, referTo } from '../runtime/plan.ts'
import { sooner, type Wake } from '../runtime/wake.ts'

/** So long what belongs to an object may take to go. Importers have 30 s to end. */
export const DEPENDENTS_MS = 120_000

/** Finalizer of an object whose dependents are to go before it. */
export const FOREGROUND = 'foregroundDeletion'
/** Finalizer of `--cascade=orphan`: the garbage collector takes the owner off all dependents, and this off the owner then. */
export const ORPHAN = 'orphan'

/** Whether somebody has asked that all that belongs to it be left without an owner, and that is not done yet. */
export function isOrphaning({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(ORPHAN) === true
}

/** Whether the garbage collector still waits for what belongs to it, or cannot say that it is gone: a webhook may be asked about that. */
export function isWaitingForDependents({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FOREGROUND) === true
}

/** Whether nothing else keeps it: all others who had to end something for it have done so. */
export function isKeptByDependentsAlone(object: KubeObject): boolean {
  return isWaitingForDependents(object) && object.metadata.finalizers?.length === 1
}

/**
 * Ends the wait of children that are being deleted in the foreground and should long be gone, with a second deletion, in the background. Anyone who
 * knows the uid of an object can keep it so for ever, from any namespace: the garbage collector waits for all that name it as an owner that they
 * block, and a finalizer keeps them.
 * @param plan what is to be done besides
 */
export function endingWaits(
  plan: { readonly remove: readonly Removal[]; readonly wake?: Wake | undefined },
  children: readonly (KubeObject | undefined)[],
  now: number,
): { readonly remove: readonly Removal[]; readonly wake: Wake | undefined } {
  const removals: Removal[] = []
  let { wake } = plan
  for (const child of children) {
    if (child === undefined || !isWaitingForDependents(child)) continue
    const leftMs = Date.parse(child.metadata.deletionTimestamp ?? '') + DEPENDENTS_MS - now
    if (leftMs <= 0) removals.push({ ...referTo(child), propagationPolicy: 'Background' })
    const afterMs = leftMs > 0 ? leftMs : DEPENDENTS_MS
    wake = sooner(wake, { afterMs, because: 'what is being deleted should be gone' })
  }
  return { remove: [...plan.remove, ...removals], wake }
}
