import { type ApiError, isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import type { ChildRefusal, ChildRefusals } from './child-refusals.ts'
import { changeTo, isChange, labelsTo } from './owned-fields.ts'

export interface Child {
  readonly type: ResourceType
  /** With a resourceVersion if it is valid only for the observed state. */
  readonly wanted: KubeObject
  /** Ours as it is; absent: it is to be created, and a namesake is left alone. */
  readonly existing?: KubeObject
  /** Reports whether the child must wait. Called right before the write. */
  readonly isHeldBack?: () => Promise<boolean>
}

export interface WriteContext {
  readonly client: KubeClient
  readonly signal: AbortSignal
  /** Called with the responses to writes, so that the caches contain our own writes at once. */
  readonly onWritten: (type: ResourceType, object: KubeObject) => void
}

/** Creates a child, or patches it if it exists. Returns false if it must wait. Throws ApiError. */
export async function applyChild(
  { type, wanted, existing, isHeldBack }: Child,
  { client, signal, onWritten }: WriteContext,
): Promise<boolean> {
  if (await isHeldBack?.()) return false
  if (existing !== undefined)
    onWritten(type, await client.mergePatch(type, wanted.metadata, patchTo(wanted, existing), { signal }))
  // A change to an object that is gone must not create it.
  else if (wanted.metadata.resourceVersion === undefined) onWritten(type, await client.create(type, wanted, { signal }))
  return true
}

/** Returns a patch that applies only to the observed version. */
function patchTo(wanted: KubeObject, existing: KubeObject): object {
  const { uid, resourceVersion } = { ...existing.metadata, ...wanted.metadata }
  const metadata = { ...wanted.metadata, labels: labelsTo(wanted, existing), uid, resourceVersion }
  return { ...changeTo(wanted, existing), metadata }
}

/** Children that are written independently of each other. */
export interface Siblings {
  readonly owner: KubeObject
  readonly isOurs: (found: KubeObject) => boolean
  readonly refusals: ChildRefusals
}

/** Runs work for several children. An error that concerns only one of them does not prevent the work for the others. */
export class Apart {
  /** The first error that is transient or that the caller must know. It is thrown after all other work is done. */
  late: Error | undefined

  /** @param isNoted records an error; true if it needs no further handling */
  async try(work: () => Promise<unknown>, isNoted: (error: ApiError) => boolean = () => false): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isOfOneChild(error)) throw error
      if (!isNoted(error)) this.late ??= error
    }
  }
}

/**
 * Writes each child that is due. A refused child is noted and does not prevent writes of the others. Objects that are not ours are not changed.
 * An error that would affect all children is thrown.
 */
export class SiblingWriter extends Apart {
  readonly #siblings: Siblings
  readonly #context: WriteContext
  readonly #uid: string

  constructor(siblings: Siblings, context: WriteContext) {
    super()
    this.#siblings = siblings
    this.#context = context
    this.#uid = siblings.owner.metadata.uid ?? ''
  }

  async apply(children: readonly Child[]): Promise<void> {
    const { refusals } = this.#siblings
    for (const child of children) {
      if (!refusals.isDue(this.#uid, child.wanted, child.existing)) continue
      await this.try(
        () => this.#write(child),
        (error) => this.#refusalOf(child, error),
      )
    }
    const wanted = children.map((child) => child.wanted)
    refusals.end(this.#uid, wanted)
  }

  async #write(child: Child): Promise<void> {
    const { isOurs, refusals } = this.#siblings
    if (child.existing !== undefined && !isOurs(child.existing)) return this.#noteTaken(child)
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
    this.#note(child, { why: 'Refused', message: error.message }, error.status !== 403)
    return true
  }

  #noteTaken(child: Child): void {
    const { kind, metadata } = child.wanted
    const whose = this.#siblings.owner.kind
    const message = `${kind} ${keyOf(metadata)} exists and does not belong to this ${whose}: delete it, or give one of them another name`
    this.#note(child, { why: 'NameTaken', message }, true)
  }

  #note({ wanted, existing }: Child, refusal: ChildRefusal, isCertain: boolean): void {
    this.#siblings.refusals.note(this.#uid, { wanted, refusal, seen: existing?.metadata.resourceVersion }, isCertain)
  }
}

/** Reports whether an error concerns only this child. A failing webhook applies to some kinds only. */
function isOfOneChild(error: unknown): error is ApiError {
  return (
    isApiError(error, 'Rejected', 'NotFound', 'AlreadyExists', 'Conflict') ||
    (isApiError(error, 'Unavailable') && error.status === 500)
  )
}
