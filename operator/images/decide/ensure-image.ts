import {
  ANNOTATIONS,
  compareQuantities,
  LABELS,
  render,
  VMDiskImage,
  type VMDiskImageSpec,
} from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import type { Precondition } from '../../runtime/preconditions.ts'
import type { ImageView } from '../image-view.ts'

/** What somebody wants of an image. */
export interface ImageWish {
  readonly ref: { readonly namespace: string; readonly name: string }
  /** Undefined: the image is taken as it is. */
  readonly template: VMDiskImageSpec | undefined
  /** @default CreateIfNotExist */
  readonly mode: 'CreateIfNotExist' | 'FailIfNotExist' | undefined
  /** The Open Terrain object that has the image created. An object recreated under the same name is a different one. */
  readonly createdBy: KubeObject
}

/** The outcome of a wish. */
export type Ensured =
  | { readonly kind: 'taken' }
  /** It matches the template, and follows it as long as it has produced no artifact. */
  | { readonly kind: 'follows' }
  /** The image is to be written like this. */
  | { readonly kind: 'created'; readonly image: KubeObject }
  | { readonly kind: 'corrected'; readonly image: KubeObject; readonly fields: readonly string[] }

/**
 * An existing image is taken as it is: others may use it, or somebody has written it. The exception is for a template that was wrong: an image
 * follows its creator's template as long as it is as its creator made it, has never had an artifact, and nobody else refers to it.
 *
 * A user who may have an image created may also have it corrected: both need the same rights, which the admission policy `open-terrain-image-use`
 * checks when the template is written. Forging the creator's mark gains nothing: the forger can write the image anyway, or the creator names the image.
 * @param isShared whether anybody else refers to the image, according to caches. Before a correction, a live read must confirm that nobody does
 */
export function ensureImage(wish: ImageWish, found: ImageView | undefined, isShared: boolean): Ensured {
  const { template, mode, createdBy } = wish
  if (template === undefined || mode === 'FailIfNotExist') return { kind: 'taken' }
  if (found === undefined) return { kind: 'created', image: imageFrom(wish, template, 1) }
  if (isShared || !isAsMadeBy(createdBy, found) || hadArtifact(found.status)) return { kind: 'taken' }
  const fields = differences(template, found)
  if (fields.length === 0) return { kind: 'follows' }
  const { uid, resourceVersion, generation = 1 } = found.metadata
  const image = imageFrom(wish, template, generation + 1)
  // Written only if the image is what was judged: it may get an artifact at any moment.
  return { kind: 'corrected', image: { ...image, metadata: { ...image.metadata, uid, resourceVersion } }, fields }
}

/** Reports whether its creator was the last to write its spec. */
export function isAsMadeBy(creator: KubeObject, { metadata }: KubeObject): boolean {
  const { annotations, generation = 1, deletionTimestamp } = metadata
  return deletionTimestamp === undefined && annotations?.[ANNOTATIONS.creator] === markOf(creator, generation)
}

/** Reports whether a correction by the creator is not observed yet, so that the status still shows the failure before it. */
export function isNewlyCorrected(creator: KubeObject, image: ImageView): boolean {
  const { phase, observedGeneration = 0 } = image.status
  return phase === 'Failed' && observedGeneration < (image.metadata.generation ?? 1) && isAsMadeBy(creator, image)
}

/** The precondition for correcting an image. Its status shows a new reference only after a while. @param own references that do not count */
export function isNobodyElses(ref: ImageWish['ref'], own: readonly string[]): Precondition {
  return { unreferenced: ref, by: 'anyone', except: own, knownAfterMs: 10_000 }
}

/** Returns the fields of a template in which an image differs. */
export function mismatches(template: VMDiskImageSpec, { spec }: Pick<ImageView, 'spec'>): string[] {
  const actual = (spec ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(template).flatMap(([field, wanted]) => (isSameValue(wanted, actual[field]) ? [] : [field]))
}

/** One size can be written in many ways: 24Gi is 24576Mi, and a number of bytes need not be a string. */
export function isSameValue(one: unknown, other: unknown): boolean {
  const [a, b] = [one, other].map((value) => (typeof value === 'number' ? String(value) : value))
  return isSame(a, b) || (typeof a === 'string' && typeof b === 'string' && compareQuantities(a, b) === 0)
}

/** Returns these, and fields that only the image has. @param ours those of the latter that count. Default: all */
export function differences(
  wanted: VMDiskImageSpec,
  actual: Pick<ImageView, 'spec'>,
  ours?: readonly string[],
): string[] {
  const left = Object.keys(actual.spec ?? {}).filter((field) => wanted[field as keyof VMDiskImageSpec] === undefined)
  return [...mismatches(wanted, actual), ...left.filter((field) => ours?.includes(field) ?? true)]
}

/** An artifact that is gone counts too: it was used, or may still be in use. */
function hadArtifact({ artifact, attempts = [] }: ImageView['status']): boolean {
  return artifact !== undefined || attempts.some(({ outcome }) => outcome === 'Succeeded')
}

/** Returns the mark of who wrote a generation of an image. A spec change by anybody else makes another generation. */
function markOf({ kind, metadata }: KubeObject, generation: number): string {
  return `${kind}/${keyOf(metadata)}/${metadata.uid} generation ${generation}`
}

function imageFrom({ ref, createdBy }: ImageWish, template: VMDiskImageSpec, generation: number): KubeObject {
  const metadata = {
    namespace: ref.namespace,
    name: ref.name,
    labels: { [LABELS.createdBy]: createdBy.kind },
    annotations: { [ANNOTATIONS.creator]: markOf(createdBy, generation) },
  }
  const [image] = render((chart) => new VMDiskImage(chart, 'VMDiskImage', { ...template, metadata }))
  return image as KubeObject
}
