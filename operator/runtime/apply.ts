import { type ApiError, isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import type { ChildRefusal, ChildRefusals } from './child-refusals.ts'
import { FINALIZERS_MAX } from './foreign.ts'
import { changeTo, isChange, labelsTo } from './owned-fields.ts'
import type { ChildType, ObjectReference, Touch } from './plan.ts'
import { refusalText } from './refusals.ts'

/** The writes for one Open Terrain object, as data. {@link applyChanges} executes them in the order of these members. */
export interface Changes {
  /** The whole status, if it is to be written. */
  readonly status?: object
  readonly addFinalizer?: string
  readonly children: readonly Child[]
  readonly touches?: readonly Touched[]
  readonly removals: readonly ChildRemoval[]
  /** Of an object that stays. */
  readonly liftFinalizer?: string
  /** Of an object that is being deleted, and gone with it. */
  readonly releaseFinalizer?: string
}

type Named<T extends ObjectReference> = Omit<T, 'apiVersion' | 'kind'>

/** With a resourceVersion if the annotations depend on the observed state. */
type Touched = Named<Touch> & { readonly type: ResourceType }

interface ChildRemoval extends Named<ObjectReference>, ChildType {
  /** Set if it comes before the status. */
  readonly isFirst?: true
  /** Reports whether it must wait after all. Called right before the request. */
  readonly isHeldBack?: () => Promise<boolean>
  /** Called when the deletion is accepted, or if the object was already gone. Later failures do not undo that. */
  readonly onDeleted?: () => void
}

export interface Child {
  readonly type: ResourceType
  /** With a resourceVersion if it is valid only for the observed state. */
  readonly wanted: KubeObject
  /** Ours as it is; absent: it is to be created, and a namesake is left alone. `isAside`: the cache keeps only a part of it. */
  readonly existing?: (KubeObject & { readonly isAside?: true }) | undefined
  readonly isHeldBack?: () => Promise<boolean>
}

export interface ApplyContext {
  readonly client: KubeClient
  readonly type: ResourceType
  readonly signal: AbortSignal
  /** Called with the responses to writes, so that the caches contain our own writes at once. */
  readonly onWritten: (type: ResourceType, object: KubeObject) => void
  /** Set for children that are written independently of each other. Refused children are noted. */
  readonly siblings?: Siblings | undefined
  /** Whether children are written independently. Without this and {@link siblings}, the first error of a child stops everything. */
  readonly areChildrenApart?: boolean | undefined
  /**
   * Returns a child as it is to be sent, with what no plan may have. Called right before each write. Throws ApiError.
   * @param existing the version that is written to; undefined if the child is created
   */
  readonly completed?: Completion | undefined
}

export type Completion = (
  wanted: KubeObject,
  existing: KubeObject | undefined,
  signal: AbortSignal,
) => Promise<KubeObject>

interface Siblings {
  readonly isOurs: (found: KubeObject) => boolean
  readonly refusals: ChildRefusals
}

/**
 * Writes the changes of one object: removals that come first, status, finalizer, children, annotations, other removals, and last the release of the
 * finalizer. The first error, but of a removal that comes first, stops it, and the next reconcile determines what is left. With
 * {@link ApplyContext.siblings} or {@link ApplyContext.areChildrenApart} an error of one child does not: with siblings a refusal is noted, and any
 * other error is thrown when all but the release is done.
 * Writes to the object itself have the version that the plan was made from: if somebody else was faster, nothing is written (Conflict).
 */
export async function applyChanges(primary: KubeObject, changes: Changes, context: ApplyContext): Promise<void> {
  const { client, type, signal, onWritten } = context
  let current = primary
  const written = (object: KubeObject) => {
    current = object
    onWritten(type, object)
  }
  const late: ApiError[] = []
  for (const removal of changes.removals.filter(({ isFirst }) => isFirst))
    await attempt(() => remove(removal, context), late)
  if (changes.status !== undefined) {
    written(await client.replaceStatus(type, withStatus(primary, changes.status), { signal }))
  }
  if (changes.addFinalizer !== undefined) {
    const { addFinalizer } = changes
    written(await patchFinalizers(current, (finalizers) => [...finalizers, addFinalizer], context))
  }
  const { siblings, areChildrenApart } = context
  const isApart = siblings !== undefined || areChildrenApart === true
  const each = async (work: () => Promise<unknown>) => await (isApart ? attempt(work, late) : work())
  if (siblings !== undefined) await new SiblingWriter(primary, siblings, context).apply(changes.children, late)
  else for (const child of changes.children) await each(() => applyChild(child, context))
  for (const touched of changes.touches ?? []) await each(() => touch(touched, context))
  for (const removal of changes.removals.filter(({ isFirst }) => !isFirst)) await each(() => remove(removal, context))
  if (late.length > 0) throw late[0]
  if (changes.liftFinalizer !== undefined) written(await withoutFinalizer(current, changes.liftFinalizer, context))
  // The answer may be of an object that is gone: no cache may have it.
  if (changes.releaseFinalizer !== undefined) await withoutFinalizer(current, changes.releaseFinalizer, context)
}

/** Returns the body that writes a status. What a cache has noted beside an object is no field of it. */
export function withStatus(object: KubeObject, status: object): KubeObject {
  const { apiVersion, kind, metadata, spec } = object as KubeObject & { readonly spec?: unknown }
  return { apiVersion, kind, metadata, ...(spec !== undefined && { spec }), status } as KubeObject
}

async function withoutFinalizer(object: KubeObject, finalizer: string, context: ApplyContext): Promise<KubeObject> {
  return await patchFinalizers(object, (finalizers) => finalizers.filter((one) => one !== finalizer), context)
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
  const { type, uid, resourceVersion, annotations, spec } = touched
  const patch = { metadata: { uid, resourceVersion, annotations }, spec }
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

/** Creates a child, or patches it if it exists. Returns false if it must wait. Throws ApiError. */
async function applyChild(
  { type, wanted, existing, isHeldBack }: Child,
  { client, signal, onWritten, completed }: ApplyContext,
): Promise<boolean> {
  if (await isHeldBack?.()) return false
  // A field that an older neighbour does not have would be dropped without a word, and taken for done.
  const options = { signal, isStrict: true }
  // A patch names what is to go, which is known only of the whole. It is still a change of the state that was planned from.
  const stored =
    existing?.isAside === true
      ? { ...(await client.get(type, wanted.metadata, { signal })), metadata: existing.metadata }
      : existing
  const whole = completed === undefined ? wanted : await completed(wanted, stored, signal)
  if (stored !== undefined)
    onWritten(type, await client.mergePatch(type, wanted.metadata, patchTo(whole, stored), options))
  // A change to an object that is gone must not create it.
  else if (wanted.metadata.resourceVersion === undefined) onWritten(type, await client.create(type, whole, options))
  return true
}

/** Returns a patch that applies only to the observed version. */
function patchTo(wanted: KubeObject, existing: KubeObject): object {
  const { uid, resourceVersion } = { ...existing.metadata, ...wanted.metadata }
  const metadata = { ...wanted.metadata, labels: labelsTo(wanted, existing), uid, resourceVersion }
  return { ...changeTo(wanted, existing), metadata }
}

/** Writes each child that is due. A refused child is noted. Objects that are not ours are not changed. */
class SiblingWriter {
  readonly #owner: KubeObject
  readonly #uid: string
  readonly #siblings: Siblings
  readonly #context: ApplyContext

  constructor(owner: KubeObject, siblings: Siblings, context: ApplyContext) {
    this.#owner = owner
    this.#uid = owner.metadata.uid ?? ''
    this.#siblings = siblings
    this.#context = context
  }

  async apply(children: readonly Child[], late: ApiError[]): Promise<void> {
    const { refusals } = this.#siblings
    for (const child of children) {
      if (!refusals.isDue(this.#uid, child.wanted, child.existing)) continue
      const isNoted = (error: ApiError) => this.#refusalOf(child, error)
      await attempt(() => this.#write(child), late, isNoted)
    }
    const wanted = children.map((child) => child.wanted)
    refusals.end(this.#uid, wanted)
  }

  async #write(child: Child): Promise<void> {
    const { isOurs, refusals } = this.#siblings
    // A plan that names a version has judged what it is.
    const isJudged = child.wanted.metadata.resourceVersion !== undefined
    if (child.existing !== undefined && !isJudged && !isOurs(child.existing)) return this.#noteTaken(child)
    try {
      if (!(await applyChild(child, this.#context))) return
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
      return await this.#meet(child, error)
    }
    refusals.taken(this.#uid, child.wanted)
  }

  /** The cache is stale, or somebody removed the label that it selects by, or the name belongs to somebody else. */
  async #meet(child: Child, error: ApiError): Promise<void> {
    const { client, signal } = this.#context
    const found = await find(client, child.type, child.wanted.metadata, { signal })
    if (found === undefined) throw error
    if (!this.#siblings.isOurs(found)) return this.#noteTaken(child)
    if (isTerminating(found)) {
      const message = `${found.kind} ${keyOf(found.metadata)} is still being deleted`
      return this.#note(child, { why: 'Refused', message }, false)
    }
    if (isChange(patchTo(child.wanted, found), found)) return await this.#write({ ...child, existing: found })
    // The response to its creation was lost.
    this.#context.onWritten(child.type, found)
    this.#siblings.refusals.taken(this.#uid, child.wanted)
  }

  #refusalOf(child: Child, error: ApiError): boolean {
    // The child is gone and must be created again. Its watch event will report that.
    if (child.existing !== undefined && isApiError(error, 'NotFound')) return false
    if (!this.#siblings.refusals.isAnswer(this.#uid, child.wanted, error)) return false
    // A quota that was just created refuses everything for a moment.
    this.#note(child, { why: 'Refused', message: refusalText(error) }, error.status !== 403)
    return true
  }

  #noteTaken(child: Child): void {
    const { kind, metadata } = child.wanted
    const message = `${kind} ${keyOf(metadata)} exists and does not belong to this ${this.#owner.kind}: delete it, or give one of them another name`
    this.#note(child, { why: 'NameTaken', message }, true)
  }

  #note({ wanted, existing }: Child, refusal: ChildRefusal, isCertain: boolean): void {
    this.#siblings.refusals.note(this.#uid, { wanted, refusal, seen: existing?.metadata.resourceVersion }, isCertain)
  }
}

/** Does work for one child. An error of it alone does not prevent work for others: unless it is noted, it goes into `late`, to be thrown later. */
async function attempt(
  work: () => Promise<unknown>,
  late: ApiError[],
  isNoted: (error: ApiError) => boolean = () => false,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!isOfOneChild(error)) throw error
    if (!isNoted(error)) late.push(error)
  }
}

/** Reports whether an error concerns only this child. A failing webhook applies to some kinds only. */
function isOfOneChild(error: unknown): error is ApiError {
  return (
    isApiError(error, 'Rejected', 'NotFound', 'AlreadyExists', 'Conflict') ||
    (isApiError(error, 'Unavailable') && error.status === 500)
  )
}
