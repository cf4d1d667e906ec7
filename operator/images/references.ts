import { type VMDiskImageSpec, virtualMachine } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf, type ObjectKey } from '../kube/kube-object.ts'
import type { ImageView } from './image-view.ts'

/** Index of objects by the images that they name, as `<namespace>/<name>`. */
export const BY_IMAGE = 'image'

/** What refers to an image. */
export interface References {
  readonly count: number
  /** `<kind>/<namespace>/<name>` of all of it. */
  readonly names: readonly string[]
  /** Those that block a deletion: they have or are making a copy of the image, or keep it for others. */
  readonly users: readonly string[]
}

/** What one of the objects that refer to an image wants of it. */
export interface ImageClaim {
  /** `<kind>/<namespace>/<name>`. */
  readonly by: string
  /** Undefined: nothing. An empty spec: it wants something that cannot be read. */
  readonly wants: VMDiskImageSpec | undefined
  /** Whether it relies on the image as it is. */
  readonly isKeeper?: true
}

/** Reports whether anything but these refers to an image, as its status says. It names only the first few. */
export function hasOthers({ status }: Pick<ImageView, 'status'>, known: ReadonlySet<string>): boolean {
  const { count = 0, names = [] } = status.references ?? {}
  return count > known.size || names.some((name) => !known.has(name))
}

/** Reports whether an image that has no artifact has fewer references than before. */
export function hasLostReference(before: ImageView | undefined, after: ImageView | undefined): boolean {
  const [had, has] = [before, after].map((image) => image?.status.references?.count ?? 0)
  return after?.status.artifact === undefined && (has ?? 0) < (had ?? 0)
}

/** Returns what all that refer to an image want of it, according to caches. */
export type ClaimsOn = (image: ObjectKey) => readonly ImageClaim[]

/** A kind of object that names images. Each such kind counts its own objects; an image's references are the sum. */
export interface ReferenceSource {
  /** Counts from caches, for what people read. */
  cached(image: ObjectKey): References
  /** Returns what they want of it, according to caches. */
  claims?(image: ObjectKey): readonly ImageClaim[]
  /** Counts from live lists that begin after this call, for decisions that cannot be undone. Throws ApiError. */
  live(image: ObjectKey, signal: AbortSignal): Promise<References>
  /** Calls `listener` with the `<namespace>/<name>` of an image whose references may have changed, until the returned function is called. */
  onChange(listener: (imageKey: string) => void): () => void
}

/** Returns the name of an object in the references of an image. */
export function referenceOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${keyOf(metadata)}`
}

/** @param titles `<kind>/<namespace>/<name>` of each reference @param users those of them that block a deletion. Default: all */
export function referencesOf(titles: readonly string[], users = titles): References {
  return { count: titles.length, names: titles.toSorted(), users: users.toSorted() }
}

export function sumReferences(parts: readonly References[]): References {
  return {
    count: parts.reduce((sum, { count }) => sum + count, 0),
    names: parts.flatMap(({ names }) => names),
    users: parts.flatMap(({ users }) => users),
  }
}

/** References as a status shows them. */
export interface ShownReferences {
  readonly count: number
  /** How many of them are virtual machines. */
  readonly machines: number
  /** The first few. */
  readonly names: string[]
}

const NAMES_SHOWN = 10

/** For people only: a decision needs all of them. */
export function shownReferences({ count, names }: References): ShownReferences {
  const machines = names.filter((name) => name.startsWith(`${virtualMachine.kind}/`)).length
  return { count, machines, names: names.slice(0, NAMES_SHOWN) }
}
