import { type KubeObject, keyOf, type ObjectKey } from '../kube/kube-object.ts'

/** Index over objects that name images: `<namespace>/<name>` of those. */
export const BY_IMAGE = 'image'

/** What refers to an image. */
export interface References {
  readonly count: number
  /** `<kind>/<namespace>/<name>` of the first few. */
  readonly names: readonly string[]
  /** Those that block a deletion: they have, or are making, a copy of the image, or keep it for others. */
  readonly users: readonly string[]
}

/** A kind of object that names images. Each such kind counts itself; an image's references are the sum. */
export interface ReferenceSource {
  /** From caches: for what people read. */
  cached(image: ObjectKey): References
  /** From live lists that begin after this call: for decisions that cannot be undone. Throws ApiError. */
  live(image: ObjectKey, signal: AbortSignal): Promise<References>
  /** Calls back with the `<namespace>/<name>` of an image whose references may have changed; returns how to stop that. */
  onChange(listener: (imageKey: string) => void): () => void
}

/** How an object is called among the references of an image. */
export function referenceOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata)}`
}

const NAMES_SHOWN = 10

/** @param titles `<kind>/<namespace>/<name>` of each reference @param users those of them that block a deletion. Default: all */
export function referencesOf(titles: readonly string[], users = titles): References {
  return { count: titles.length, names: titles.toSorted().slice(0, NAMES_SHOWN), users: users.toSorted() }
}

export function sumReferences(parts: readonly References[]): References {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    names: parts.flatMap(({ names }) => names).slice(0, NAMES_SHOWN),
    users: parts.flatMap(({ users }) => users),
  }
}
