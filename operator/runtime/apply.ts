import { isApiError } from '../kube/api-error.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../kube/kube-object.ts'
import { FINALIZERS_MAX } from './foreign.ts'
import { changeTo, labelsTo } from './owned-fields.ts'

/** What is to be written for one object of ours, as data. Carried out by {@link applyChanges} in the order of its members. */
export interface Changes {
  /** The whole status, when it is to be written. */
  readonly status?: object
  readonly addFinalizer?: string
  readonly children: readonly Child[]
  readonly touches?: readonly Touched[]
  readonly removals: readonly ChildRemoval[]
  readonly releaseFinalizer?: string
}

export interface Child {
  readonly type: ResourceType
  /** With a resourceVersion where it is only right for the state that was seen. */
  readonly wanted: KubeObject
  /** Ours as it is; absent: it is to be created, and a namesake is left alone. */
  readonly existing?: KubeObject
}

/** An object that exists, and gets annotations. */
export interface Touched {
  readonly type: ResourceType
  readonly key: ObjectKey
  /** Its uid; and its resourceVersion, where the annotations follow from the state that was seen. */
  readonly seen: { readonly uid: string; readonly resourceVersion?: string }
  readonly annotations: Readonly<Record<string, string>>
}

export interface ChildRemoval {
  readonly type: ResourceType
  readonly key: ObjectKey
  /** Nothing else of that name is deleted. */
  readonly uid: string
  /** Nor is it, if it has changed since: for what is only right for the state that was seen. */
  readonly resourceVersion?: string
  readonly propagationPolicy: 'Foreground' | 'Background'
  /** Whether it has to wait after all: asked right before it is made. */
  readonly isHeldBack?: () => Promise<boolean>
}

export interface ApplyContext {
  readonly client: KubeClient
  readonly type: ResourceType
  readonly signal: AbortSignal
  /** Is handed every answer, so that caches have our own writes at once. */
  readonly onWritten: (type: ResourceType, object: KubeObject) => void
}

/**
 * Writes what is to be written for one object: status, finalizer, children, annotations, removals, and last the release of the
 * finalizer. The first error ends it; the next reconcile finds out what is still to be done.
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
  for (const child of changes.children) await applyChild(child, context)
  for (const { type: touched, key, seen, annotations } of changes.touches ?? [])
    onWritten(touched, await client.mergePatch(touched, key, { metadata: { ...seen, annotations } }, { signal }))
  for (const removal of changes.removals) await remove(removal, context)
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

async function applyChild(
  { type, wanted, existing }: Child,
  { client, signal, onWritten }: ApplyContext,
): Promise<void> {
  if (existing === undefined) {
    // A change of what is gone by now is no creation.
    if (wanted.metadata.resourceVersion !== undefined) return
    onWritten(type, await client.create(type, wanted, { signal }))
    return
  }
  const { uid, resourceVersion } = { ...existing.metadata, ...wanted.metadata }
  const metadata = { ...wanted.metadata, labels: labelsTo(wanted, existing), uid, resourceVersion }
  const patch = { ...changeTo(wanted, existing), metadata }
  onWritten(type, await client.mergePatch(type, wanted.metadata, patch, { signal }))
}

async function remove(
  { type, key, isHeldBack, ...how }: ChildRemoval,
  { client, signal }: ApplyContext,
): Promise<void> {
  if (await isHeldBack?.()) return
  try {
    await client.delete(type, key, { ...how, signal })
  } catch (error) {
    // Gone already, or another object has its name by now.
    const isDone = isApiError(error, 'NotFound') || (how.resourceVersion === undefined && isApiError(error, 'Conflict'))
    if (!isDone) throw error
  }
}
