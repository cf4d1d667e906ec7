import { isApiError } from '../kube/api-error.ts'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import { Apart, applyChild, type Child, type Siblings, SiblingWriter, type WriteContext } from './child-writes.ts'
import { FINALIZERS_MAX } from './foreign.ts'
import type { ChildType, ObjectReference, Touch } from './plan.ts'

/** The writes for one Open Terrain object, as data. {@link applyChanges} executes them in the order of these members. */
export interface Changes {
  /** The whole status, if it is to be written. */
  readonly status?: object
  readonly addFinalizer?: string
  readonly children: readonly Child[]
  readonly touches?: readonly Touched[]
  readonly removals: readonly ChildRemoval[]
  readonly releaseFinalizer?: string
}

type Named<T extends ObjectReference> = Omit<T, 'apiVersion' | 'kind'>

/** With a resourceVersion if the annotations depend on the observed state. */
export type Touched = Named<Touch> & { readonly type: ResourceType }

export interface ChildRemoval extends Named<ObjectReference>, ChildType {
  /** Reports whether the removal must wait after all. Called right before the request. */
  readonly isHeldBack?: () => Promise<boolean>
  /** Called when the deletion is accepted, or if the object was already gone. Later failures do not undo that. */
  readonly onDeleted?: () => void
}

export interface ApplyContext extends WriteContext {
  readonly type: ResourceType
  /** Set for children that are written independently of each other. Refused children are noted. */
  readonly siblings?: Siblings
  /** Whether children are written independently. Without this and {@link siblings}, the first error of a child stops everything. */
  readonly areChildrenApart?: boolean
}

/**
 * Writes the changes of one object: status, finalizer, children, annotations, removals, and last the release of the finalizer. The first error
 * stops it, and the next reconcile determines what is left. With {@link ApplyContext.siblings} or {@link ApplyContext.areChildrenApart} an
 * error of one child does not: with siblings a refusal is noted, and any other error is thrown when all but the release is done.
 *
 * Writes to the object itself have the resourceVersion that the plan was made from: if somebody else was faster, nothing is written
 * (Conflict).
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
  const each = async (work: () => Promise<unknown>) => await (apart?.try(work) ?? work())
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

/** A patch replaces the list. A cached list of the maximum length may be truncated, so the live list is read first. */
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
    // Already gone, or another object now has its name.
    const isDone = isApiError(error, 'NotFound') || (resourceVersion === undefined && isApiError(error, 'Conflict'))
    if (!isDone) throw error
  }
  removal.onDeleted?.()
}
