import type { KubeClient } from '../kube/kube-client.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../kube/kube-object.ts'
import { listWhole } from '../kube/list-all.ts'
import { SharedLooks } from '../kube/shared-looks.ts'
import { isSame } from '../runtime/owned-fields.ts'
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
}

/** Counts such objects as references to an image. Each counts as a user, since it keeps the image for later ones. */
export class SpecReferences<T extends KubeObject> implements ReferenceSource {
  readonly #kind: NamingKind<T>
  readonly #live: SharedLooks<readonly T[]>

  constructor(client: KubeClient, kind: NamingKind<T>) {
    this.#kind = kind
    const { type, view } = kind
    this.#live = new SharedLooks((namespace, signal) => listWhole(client, type, { namespace, signal, project: view }))
  }

  cached(image: ObjectKey): References {
    return this.#count(image, this.#kind.store.find(BY_IMAGE, keyOf(image)))
  }

  /** Counts from a list that begins after this call, which concurrent callers share. Throws ApiError. */
  async live(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return this.#count(image, await this.#live.take(image.namespace ?? '', signal))
  }

  onChange(listener: (imageKey: string) => void): () => void {
    const { store, imagesOf } = this.#kind
    return store.onChange(({ before, after }) => {
      const were = before === undefined ? [] : imagesOf(before)
      const are = after === undefined ? [] : imagesOf(after)
      if (isSame(were, are)) return
      for (const key of new Set([...were, ...are])) listener(key)
    })
  }

  #count(image: ObjectKey, among: readonly T[]): References {
    const { imagesOf, isReference } = this.#kind
    const key = keyOf(image)
    return referencesOf(among.filter((one) => imagesOf(one).includes(key) && isReference(one, key)).map(referenceOf))
  }
}
