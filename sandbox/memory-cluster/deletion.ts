import type { DeleteOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ObjectMeta } from '../../operator/kube/kube-object.ts'
import type { Traits } from './served-types.ts'

/** The garbage collector removes these finalizers when it has deleted the dependents, or removed their owner references. */
export const FOREGROUND = 'foregroundDeletion'
export const ORPHAN = 'orphan'

const DEFAULT_GRACE_SECONDS = 30

export interface StoredMeta extends ObjectMeta {
  readonly deletionGracePeriodSeconds?: number
}

interface Finalized extends KubeObject {
  readonly spec?: {
    readonly finalizers?: readonly string[]
    readonly nodeName?: string
    readonly terminationGracePeriodSeconds?: number
  }
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
  if (((object.metadata as StoredMeta).deletionGracePeriodSeconds ?? 0) > 0) return false
  return object.kind !== 'Namespace' || ((object as Finalized).spec?.finalizers?.length ?? 0) === 0
}

/** Returns the object after a DELETE request. It can be removed at once if {@link isOver} holds. */
export function afterDelete(traits: Traits, before: KubeObject, options: DeleteOptions, nowMs: number): KubeObject {
  const finalizers = finalizersFor(policyFor(before, options), before.metadata.finalizers ?? [])
  const grace = graceOf(before as Finalized, options)
  const { finalizers: _replaced, ...rest } = before.metadata
  const metadata: StoredMeta = { ...rest, ...(finalizers.length > 0 && { finalizers }) }
  if (isTerminating(before)) {
    const known = (before.metadata as StoredMeta).deletionGracePeriodSeconds ?? 0
    return { ...before, metadata: grace < known ? { ...metadata, deletionGracePeriodSeconds: grace } : metadata }
  }
  const isCounted = traits.hasGeneration
  const deleted: StoredMeta = {
    ...metadata,
    deletionTimestamp: timestampOf(nowMs + grace * 1_000),
    deletionGracePeriodSeconds: grace,
    ...(isCounted && { generation: (metadata.generation ?? 0) + 1 }),
  }
  if (before.kind !== 'Namespace') return { ...before, metadata: deleted }
  return {
    ...before,
    metadata: deleted,
    status: { ...(before as Finalized).status, phase: 'Terminating' },
  } as KubeObject
}

/** A pod on a node is gone only when its kubelet says that it has ended, or somebody does in its place. */
function graceOf({ kind, spec = {}, status }: Finalized, { gracePeriodSeconds }: DeleteOptions): number {
  const hasEnded = ['Succeeded', 'Failed'].includes((status as { readonly phase?: string } | undefined)?.phase ?? '')
  if (kind !== 'Pod' || spec.nodeName === undefined || hasEnded) return 0
  return gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS
}

/** Returns a time in RFC 3339, in whole seconds. */
export function timestampOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Pods of a Job stay if nobody says otherwise: so it was before there were policies. */
function policyFor(
  { kind, metadata }: KubeObject,
  { propagationPolicy }: DeleteOptions,
): DeleteOptions['propagationPolicy'] {
  const isTold = metadata.finalizers?.some((one) => one === FOREGROUND || one === ORPHAN) === true
  return propagationPolicy ?? (kind === 'Job' && !isTold ? 'Orphan' : undefined)
}

/** Without a policy, the finalizers that earlier requests set stay. */
function finalizersFor(policy: DeleteOptions['propagationPolicy'], finalizers: readonly string[]): readonly string[] {
  if (policy === undefined) return finalizers
  const others = finalizers.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN)
  if (policy === 'Background') return others
  return [...others, policy === 'Foreground' ? FOREGROUND : ORPHAN]
}
