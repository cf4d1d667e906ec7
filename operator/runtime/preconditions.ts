import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { KubeObject, ObjectKey, Raw, ResourceType } from '../kube/kube-object.ts'
import { listAll } from '../kube/list-all.ts'
import type { Reflectors } from './reflectors.ts'
import type { Requeue } from './requeue.ts'

/** By then the caches have what a live read found. */
const KNOWN_AFTER_MS = 1_000

/** A condition for a plan, or for one of its removals or guarded children. Checked by a live read, since a cache may be stale. */
export type Precondition = Absent | Unchanged | Unreferenced | Uncloned | Unshared | NoneReady

/** None of these objects exists. */
export interface Absent {
  readonly absent: readonly NamedObject[]
  /** `ours` means as reported by {@link LiveReads.hasOurs}. */
  readonly whose: 'ours' | "anybody's"
}

export interface NamedObject extends ObjectKey {
  readonly type: ResourceType
  /** Set if known. Another object with the same name then does not count. */
  readonly uid?: string
}

/** The object still has the observed version. */
export interface Unchanged {
  readonly unchanged: NamedObject & { readonly resourceVersion: string }
}

/** None of the objects that a label selects has the condition Ready. */
export interface NoneReady {
  readonly noneReady: { readonly type: ResourceType; readonly namespace: string; readonly labelSelector: string }
  /** Milliseconds until the caches show that one is, if that takes longer than usual. */
  readonly knownAfterMs?: number
}

/** Nothing refers to this object or, for `users`, nothing needs it to stay. */
export interface Unreferenced {
  readonly unreferenced: ObjectKey
  readonly by: 'anyone' | 'users'
  /** `<kind>/<namespace>/<name>` of objects that may refer to it. */
  readonly except?: readonly string[]
  /** Milliseconds until the caches show a reference, if that takes longer than usual. */
  readonly knownAfterMs?: number
}

/** No unfinished clone reads from this object. A clone in the cache disproves this. Only an irreversible step needs a live read as proof. */
export interface Uncloned {
  readonly uncloned: { readonly kind: string; readonly namespace: string; readonly name: string }
  readonly read: 'cached' | 'live'
}

/** Nothing owns this object, or uses it: it is none that the operator made. */
export interface Unshared {
  readonly unshared: { readonly kind: string; readonly namespace: string; readonly name: string }
}

/** The live reads of a kind. Those that no plan of the kind needs may be missing. They throw ApiError. */
export interface LiveReads<P extends KubeObject> {
  /** Reports whether any of the found objects is one that a plan for `primary` assumed to be gone. */
  readonly hasOurs?: (found: readonly KubeObject[], primary: P) => boolean
  readonly countReferences?: ReferenceCount
  readonly isCloned?: (precondition: Uncloned, primary: P, signal: AbortSignal) => Promise<boolean>
  readonly isShared?: (object: Unshared['unshared'], signal: AbortSignal) => Promise<boolean>
}

/** Returns all that refers to an object, by a live read. Throws ApiError. */
export type ReferenceCount = (
  object: ObjectKey,
  signal: AbortSignal,
) => Promise<{ readonly names: readonly string[]; readonly users: readonly string[] }>

/** Checks preconditions for one kind with live reads. The objects that it finds are added to the caches at once. */
export class Preconditions<P extends KubeObject> {
  readonly #client: KubeClient
  readonly #caches: Pick<Reflectors, 'observeWrite'>
  readonly #reads: LiveReads<P>

  constructor(client: KubeClient, caches: Pick<Reflectors, 'observeWrite'>, reads: LiveReads<P> = {}) {
    this.#client = client
    this.#caches = caches
    this.#reads = reads
  }

  /** Returns when to requeue if one of them does not hold. Throws ApiError. */
  async unmet(primary: P, onlyIf: readonly Precondition[] = [], signal: AbortSignal): Promise<Requeue | undefined> {
    for (const one of onlyIf) {
      if (await this.#holds(one, primary, signal)) continue
      const afterMs = ('knownAfterMs' in one ? one.knownAfterMs : undefined) ?? KNOWN_AFTER_MS
      return { afterMs, because: 'the caches should have by then what a live read has found' }
    }
    return undefined
  }

  async #holds(one: Precondition, primary: P, signal: AbortSignal): Promise<boolean> {
    if ('absent' in one) return await this.#isAbsent(one, primary, signal)
    if ('unchanged' in one)
      return (await this.#read(one.unchanged, signal))?.metadata.resourceVersion === one.unchanged.resourceVersion
    if ('noneReady' in one) return await this.#isNoneReady(one.noneReady, signal)
    const { countReferences, isCloned, isShared } = this.#reads
    if ('unshared' in one) return (await isShared?.(one.unshared, signal)) === false
    if ('uncloned' in one) return (await isCloned?.(one, primary, signal)) === false
    const references = await countReferences?.(one.unreferenced, signal)
    return references?.[one.by === 'users' ? 'users' : 'names'].every((name) => one.except?.includes(name)) === true
  }

  async #isAbsent({ absent, whose }: Absent, primary: P, signal: AbortSignal): Promise<boolean> {
    const objects = await Promise.all(absent.map((one) => this.#read(one, signal)))
    const found = objects.filter((object) => object !== undefined)
    return found.length === 0 || (whose === 'ours' && this.#reads.hasOurs?.(found, primary) === false)
  }

  async #isNoneReady({ type, ...selection }: NoneReady['noneReady'], signal: AbortSignal): Promise<boolean> {
    for await (const isReady of listAll(this.#client, type, { ...selection, signal, project: isReadyNow }))
      if (isReady) return false
    return true
  }

  async #read(one: NamedObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const object = await find(this.#client, one.type, one, { signal })
    if (object !== undefined) this.#caches.observeWrite(one.type, object)
    return one.uid === undefined || object?.metadata.uid === one.uid ? object : undefined
  }
}

function isReadyNow({ status }: Raw): boolean {
  return (status?.conditions ?? []).some((one: Raw) => one.type === 'Ready' && one.status === 'True')
}
