import { isApiError } from '../kube/api-error.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import { Apart, applyChild, type Child, type Siblings, SiblingWriter, type WriteContext } from './child-writes.ts'
import { FINALIZERS_MAX } from './foreign.ts'
import type { ChildType, ObjectReference, Touch } from './plan.ts'

/** What is to be written for one Open Terrain object, as data. Carried out by {@link applyChanges} in the order of its members. */
export interface Changes {
  /** The whole status, when it is to be written. */
  readonly status?: object
  readonly addFinalizer?: string
  readonly children: readonly Child[]
  readonly touches?: readonly Touched[]
  readonly removals: readonly ChildRemoval[]
  readonly releaseFinalizer?: string
}

type Named<T extends ObjectReference> = Omit<T, 'apiVersion' | 'kind'>

/** Where the annotations follow from the state that was seen, with its resourceVersion. */
export type Touched = Named<Touch> & { readonly type: ResourceType }

export interface ChildRemoval extends Named<ObjectReference>, ChildType {
  /** Whether it has to wait after all: asked right before it is made. */
  readonly isHeldBack?: () => Promise<boolean>
  /** It is accepted, or the object was gone already. What fails after it does not undo that. */
  readonly onDeleted?: () => void
}

export interface ApplyContext extends WriteContext {
  readonly type: ResourceType
  /** For children of which each goes its own way: those that are refused are noted. */
  readonly siblings?: Siblings
  /** Whether each goes its own way. Without this and {@link siblings} the first error of a child ends everything. */
  readonly areChildrenApart?: boolean
}

/**
 * Writes what is to be written for one object: status, finalizer, children, annotations, removals, and last the release of the
 * finalizer. The first error ends it; the next reconcile finds out what is still to be done. With {@link ApplyContext.siblings} or {@link ApplyContext.areChildrenApart}
 * what concerns one child does not end it: a refusal is noted where there are siblings, any other error is thrown when all children are done.
 *
 * Writes to the object itself carry the resourceVersion of what the plan was made from: when somebody was faster,
 * nothing is written (Conflict).
 */
export async function applyChanges(primary: KubeObject, changes: Changes, context: ApplyContext): Promise<void> {
  const { client, type, signal, onWritten } = context
  let current = primary
  const written = (object: KubeObject) => {
    current = object
    onWritten(type, object)
  }
  if (changes.status !== undefined) {
    written(await client.replaceStatus(type, { ...primary, status: changes.status } as KubeObject, { signal }))
  }
  if (changes.addFinalizer !== undefined) {
    const { addFinalizer } = changes
    written(await patchFinalizers(current, (finalizers) => [...finalizers, addFinalizer], context))
  }
  const siblings = context.siblings && new SiblingWriter(context.siblings, context)
  const apart = siblings ?? (context.areChildrenApart === true ? new Apart() : undefined)
  const each = async (work: () => Promise<void>) => await (apart?.try(work) ?? work())
  if (siblings !== undefined) await siblings.apply(changes.children)
  else for (const child of changes.children) await each(() => applyChild(child, context))
  for (const touched of changes.touches ?? []) await each(() => touch(touched, context))
  for (const removal of changes.removals) await each(() => remove(removal, context))
  if (apart?.late !== undefined) throw apart.late
  if (changes.releaseFinalizer !== undefined) {
    const left = (finalizers: readonly string[]) => finalizers.filter((one) => one !== changes.releaseFinalizer)
    await patchFinalizers(current, left, context)
  }
}

/** A patch replaces the list; of one that is as long as caches keep it, the rest is not known. */
async function patchFinalizers(
  { metadata }: KubeObject,
  change: (finalizers: readonly string[]) => readonly string[],
  { client, type, signal }: ApplyContext,
): Promise<KubeObject> {
  const isCut = (metadata.finalizers?.length ?? 0) >= FINALIZERS_MAX
  const { finalizers = [] } = isCut ? (await client.get(type, metadata, { signal })).metadata : metadata
  const patch = { metadata: { resourceVersion: metadata.resourceVersion, finalizers: change(finalizers) } }
  return await client.mergePatch(type, metadata, patch, { signal })
}

async function touch(touched: Touched, { client, signal, onWritten }: ApplyContext): Promise<void> {
  const { type, uid, resourceVersion, annotations } = touched
  const patch = { metadata: { uid, resourceVersion, annotations } }
  onWritten(type, await client.mergePatch(type, touched, patch, { signal }))
}

async function remove(removal: ChildRemoval, { client, signal }: ApplyContext): Promise<void> {
  const { type, uid, resourceVersion, propagationPolicy } = removal
  if (await removal.isHeldBack?.()) return
  try {
    await client.delete(type, removal, { uid, resourceVersion, propagationPolicy, signal })
  } catch (error) {
    // Gone already, or another object has its name by now.
    const isDone = isApiError(error, 'NotFound') || (resourceVersion === undefined && isApiError(error, 'Conflict'))
    if (!isDone) throw error
  }
  removal.onDeleted?.()
}
