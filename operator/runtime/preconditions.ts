import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../kube/kube-object.ts'
import type { Wake } from './wake.ts'

/** Caches know by then what a live look has found. */
const KNOWN_AFTER_MS = 1_000

/** What has to hold when a plan, or one removal of it, is carried out. A live look tells it, since a cache may be behind. */
export type Precondition = Absent | Unchanged | Unreferenced | Uncloned

/** None of these objects exists. */
export interface Absent {
  readonly absent: readonly NamedObject[]
  /** Ours: by what {@link LiveLooks.hasOurs} says. */
  readonly whose: 'ours' | "anybody's"
}

export interface NamedObject extends ObjectKey {
  readonly type: ResourceType
  /** Where it is known: another one of that name does not count. */
  readonly uid?: string
}

/** This object is as it was seen. */
export interface Unchanged {
  readonly unchanged: NamedObject & { readonly resourceVersion: string }
}

/** Nothing refers to this object; or as users, nothing needs it to stay. */
export interface Unreferenced {
  readonly unreferenced: ObjectKey
  readonly by: 'anyone' | 'users'
  /** `<kind>/<namespace>/<name>` of who may. */
  readonly except?: readonly string[]
  /** By when the caches tell of a reference, where that takes longer. */
  readonly knownAfterMs?: number
}

/** No unfinished clone reads from this object. Only what cannot be undone asks for a live no; a yes of the cache is always enough. */
export interface Uncloned {
  readonly uncloned: { readonly kind: string; readonly namespace: string; readonly name: string }
  readonly look: 'cached' | 'live'
}

/** What a kind knows about how to look. All that are missing are asked for by no plan of the kind. Throw ApiError. */
export interface LiveLooks<P extends KubeObject> {
  /** Whether any of what was found is what a plan for the object took to be gone. */
  readonly hasOurs?: (found: readonly KubeObject[], primary: P) => boolean
  readonly countReferences?: ReferenceCount
  readonly isCloned?: (precondition: Uncloned, primary: P, signal: AbortSignal) => Promise<boolean>
}

/** All that refers to an object, by a live look. Throws ApiError. */
export type ReferenceCount = (
  object: ObjectKey,
  signal: AbortSignal,
) => Promise<{ readonly names: readonly string[]; readonly users: readonly string[] }>

/** Caches that take in what is found. */
interface Observing {
  readonly observeWrite: (type: ResourceType, object: KubeObject) => void
}

/** Looks live whether preconditions hold, for one kind. What is found enters the caches at once. */
export class Preconditions<P extends KubeObject> {
  readonly #client: KubeClient
  readonly #caches: Observing
  readonly #looks: LiveLooks<P>

  constructor(client: KubeClient, caches: Observing, looks: LiveLooks<P> = {}) {
    this.#client = client
    this.#caches = caches
    this.#looks = looks
  }

  /** When to look again, if one of them does not hold. Throws ApiError. */
  async unmet(primary: P, onlyIf: readonly Precondition[] = [], signal: AbortSignal): Promise<Wake | undefined> {
    for (const one of onlyIf) {
      if (await this.#holds(one, primary, signal)) continue
      const afterMs = ('knownAfterMs' in one ? one.knownAfterMs : undefined) ?? KNOWN_AFTER_MS
      return { afterMs, because: 'the caches should have by then what a live look has found' }
    }
    return undefined
  }

  async #holds(one: Precondition, primary: P, signal: AbortSignal): Promise<boolean> {
    if ('absent' in one) return await this.#isAbsent(one, primary, signal)
    if ('unchanged' in one) {
      const found = await this.#look(one.unchanged, signal)
      return found?.metadata.resourceVersion === one.unchanged.resourceVersion
    }
    const { countReferences, isCloned } = this.#looks
    if ('uncloned' in one) return (await isCloned?.(one, primary, signal)) === false
    const references = await countReferences?.(one.unreferenced, signal)
    return references?.[one.by === 'users' ? 'users' : 'names'].every((name) => one.except?.includes(name)) === true
  }

  async #isAbsent({ absent, whose }: Absent, primary: P, signal: AbortSignal): Promise<boolean> {
    const looks = await Promise.all(absent.map((one) => this.#look(one, signal)))
    const found = looks.filter((object) => object !== undefined)
    if (found.length === 0) return true
    return whose === 'ours' && this.#looks.hasOurs?.(found, primary) === false
  }

  async #look(one: NamedObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    const object = await find(this.#client, one.type, one, { signal })
    if (object !== undefined) this.#caches.observeWrite(one.type, object)
    return one.uid === undefined || object?.metadata.uid === one.uid ? object : undefined
  }
}
