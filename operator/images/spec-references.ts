import { isSame } from '../base/equality.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../kube/kube-object.ts'
import { listWhole } from '../kube/list-all.ts'
import { SharedReads } from '../kube/shared-reads.ts'
import type { Store } from '../runtime/store.ts'
import { BY_IMAGE, type ReferenceSource, type References, referenceOf, referencesOf } from './references.ts'

/** A kind that names images of its own namespace in its spec. */
export interface NamingKind<T extends KubeObject> {
  readonly type: ResourceType
  /** With the index {@link BY_IMAGE}. */
  readonly store: Store<T>
  readonly view: (object: KubeObject) => T
  /** `<namespace>/<name>` of the images that it names. */
  readonly imagesOf: (object: T) => readonly string[]
  /** Whether it refers to an image that it names. */
  readonly isReference: (object: T, imageKey: string) => boolean
  /** Whether such a reference keeps the image from being deleted by people. */
  readonly isUser: (object: T, imageKey: string) => boolean
  /** `<namespace>/<name>` of images that it uses according to its status. */
  readonly usedBy: (object: T) => readonly string[]
}

/** Counts such objects as references to an image. */
export class SpecReferences<T extends KubeObject> implements ReferenceSource {
  readonly #kind: NamingKind<T>
  readonly #live: SharedReads<readonly T[]>

  constructor(client: KubeClient, kind: NamingKind<T>) {
    this.#kind = kind
    const { type, view } = kind
    this.#live = new SharedReads((namespace, signal) => listWhole(client, type, { namespace, signal, project: view }))
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#kind.store.find(BY_IMAGE, keyOf(image)))
  }

  /** Counts from a list that begins after this call, which concurrent callers share. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take(image.namespace ?? '', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    const { store, imagesOf, usedBy } = this.#kind
    return store.onChange(({ before, after }) => {
      for (const keysOf of [imagesOf, usedBy]) {
        const were = before === undefined ? [] : keysOf(before)
        const are = after === undefined ? [] : keysOf(after)
        if (isSame(were, are)) continue
        for (const key of new Set([...were, ...are])) listener(key)
      }
    })
  }

  #count(image: ObjectKey, among: readonly T[]): References {
    const { imagesOf, isReference, isUser } = this.#kind
    const key = keyOf(image)
    const found = among.filter((one) => imagesOf(one).includes(key) && isReference(one, key))
    return referencesOf(found.map(referenceOf), found.filter((one) => isUser(one, key)).map(referenceOf))
  }
}
