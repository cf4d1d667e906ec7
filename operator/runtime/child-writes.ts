import { type ApiError, isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import type { ChildRefusal, ChildRefusals } from './child-refusals.ts'
import { changeTo, isChange, labelsTo } from './owned-fields.ts'

export interface Child {
  readonly type: ResourceType
  /** With a resourceVersion where it is only right for the state that was seen. */
  readonly wanted: KubeObject
  /** Ours as it is; absent: it is to be created, and a namesake is left alone. */
  readonly existing?: KubeObject
  /** Whether it has to wait: asked right before it is written. */
  readonly isHeldBack?: () => Promise<boolean>
}

export interface WriteContext {
  readonly client: KubeClient
  readonly signal: AbortSignal
  /** Is handed every answer, so that caches have our own writes at once. */
  readonly onWritten: (type: ResourceType, object: KubeObject) => void
}

/** Creates a child, or changes it where it exists, unless it has to wait. Throws ApiError. */
export async function applyChild(
  { type, wanted, existing, isHeldBack }: Child,
  { client, signal, onWritten }: WriteContext,
): Promise<void> {
  if (await isHeldBack?.()) return
  if (existing === undefined) {
    // A change of what is gone by now is no creation.
    if (wanted.metadata.resourceVersion !== undefined) return
    onWritten(type, await client.create(type, wanted, { signal }))
    return
  }
  onWritten(type, await client.mergePatch(type, wanted.metadata, patchTo(wanted, existing), { signal }))
}

/** Of the version that was seen. */
function patchTo(wanted: KubeObject, existing: KubeObject): object {
  const { uid, resourceVersion } = { ...existing.metadata, ...wanted.metadata }
  const metadata = { ...wanted.metadata, labels: labelsTo(wanted, existing), uid, resourceVersion }
  return { ...changeTo(wanted, existing), metadata }
}

/** Children of which each goes its own way. */
export interface Siblings {
  readonly owner: KubeObject
  readonly isOurs: (found: KubeObject) => boolean
  readonly refusals: ChildRefusals
}

/** Does something for each of several children: what is an error of one of them keeps nothing else from being done. */
export class Apart {
  /** What will be over by itself, or that the caller has to know: it is thrown when all else is done. */
  late: Error | undefined

  /** @param isNoted whether an error needs no more than that */
  async try(work: () => Promise<void>, isNoted: (error: ApiError) => boolean = () => false): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isOfOneChild(error)) throw error
      if (!isNoted(error)) this.late ??= error
    }
  }
}

/**
 * Writes each of the children that are due: one that is refused is noted, and keeps no other from being written. Nothing that is not ours is changed.
 * What all of them would meet is thrown.
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
      await applyChild(child, this.#context)
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
      return await this.#meet(child, error)
    }
    refusals.taken(this.#uid, child.wanted)
  }

  /** The cache is behind, or somebody has taken off the label by which it selects; or the name is somebody else's. */
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
    // The answer to its creation was lost.
    this.#context.onWritten(child.type, found)
    this.#siblings.refusals.taken(this.#uid, child.wanted)
  }

  #refusalOf(child: Child, error: ApiError): boolean {
    // What is gone is to be made again: the cache will tell.
    if (child.existing !== undefined && isApiError(error, 'NotFound')) return false
    if (!this.#siblings.refusals.isAnswer(this.#uid, child.wanted, error)) return false
    // A quota that was just made refuses everything for a moment.
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

/** No other child would meet it: a webhook that does not work is one of some kinds. */
function isOfOneChild(error: unknown): error is ApiError {
  return (
    isApiError(error, 'Rejected', 'NotFound', 'AlreadyExists', 'Conflict') ||
    (isApiError(error, 'Unavailable') && error.status === 500)
  )
}
