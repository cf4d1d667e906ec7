import {
  ANNOTATIONS,
  compareQuantities,
  LABELS,
  render,
  VMDiskImage,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import type { Precondition } from '../../runtime/preconditions.ts'
import type { ImageView } from '../image-view.ts'

/** What somebody wants of an image. */
export interface ImageWish {
  readonly ref: { readonly namespace: string; readonly name: string }
  /** Undefined: it is taken as it is. */
  readonly template: VMDiskImageSpec | undefined
  /** @default CreateIfNotExist */
  readonly mode: 'CreateIfNotExist' | 'FailIfNotExist' | undefined
  /** The Open Terrain object that has it created. A namesake of a later life is another one. */
  readonly createdBy: KubeObject
}

/** What becomes of that. */
export type Ensured =
  | { readonly kind: 'taken' }
  /** It is as the template says, and follows the template as long as no artifact came of it. */
  | { readonly kind: 'follows' }
  /** It is to be written so. */
  | { readonly kind: 'created'; readonly image: KubeObject }
  | { readonly kind: 'corrected'; readonly image: KubeObject; readonly fields: readonly string[] }

/**
 * An image that exists is taken as it is: others may use it, or somebody has written it. With one exception: a template may have been wrong. As
 * long as an image is as its creator made it, nothing ever came of it and nobody else refers to it, it follows the template of its creator.
 *
 * Anyone who may have an image created so may have it corrected so: it is the same right (`open-terrain-image-use`), which is asked for when the
 * template is written. The mark of the creator gives nothing to those who forge it: they can write the image, or its creator names it.
 * @param isShared whether anybody else refers to the image, as far as caches tell. A live look has to confirm it before a correction
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
  // Only as long as it is what was judged: an artifact may come at any moment.
  return { kind: 'corrected', image: { ...image, metadata: { ...image.metadata, uid, resourceVersion } }, fields }
}

/** Whether its creator was the last to write its spec. */
export function isAsMadeBy(
  creator: KubeObject,
  { metadata: { annotations, generation, deletionTimestamp } }: KubeObject,
) {
  return deletionTimestamp === undefined && annotations?.[ANNOTATIONS.creator] === markOf(creator, generation ?? 1)
}

/** Whether nobody has looked yet at what its creator corrected: it tells of the failure before. */
export function isNewlyCorrected(creator: KubeObject, image: ImageView): boolean {
  const { phase, observedGeneration = 0 } = image.status
  return phase === 'Failed' && observedGeneration < (image.metadata.generation ?? 1) && isAsMadeBy(creator, image)
}

/** What has to hold before an image is corrected. Its status tells of a reference a while after that came. @param own references that do not count */
export function isNobodyElses(ref: ImageWish['ref'], own: readonly string[]): Precondition {
  return { unreferenced: ref, by: 'anyone', except: own, knownAfterMs: 10_000 }
}

/** Fields of a template that an image has otherwise. */
export function mismatches(template: VMDiskImageSpec, { spec }: Pick<ImageView, 'spec'>): string[] {
  const actual = (spec ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(template).flatMap(([field, wanted]) => (isSameValue(wanted, actual[field]) ? [] : [field]))
}

/** One size can be written in many ways: 24Gi is 24576Mi, and a number of bytes may be no text. */
function isSameValue(one: unknown, other: unknown): boolean {
  const [a, b] = [text(one), text(other)]
  return isSame(a, b) || (typeof a === 'string' && typeof b === 'string' && compareQuantities(a, b) === 0)
}

function text(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

/** The same, and fields that an image has beside them. @param ours those that count. Default: all */
export function differences(
  wanted: VMDiskImageSpec,
  actual: Pick<ImageView, 'spec'>,
  ours?: readonly string[],
): string[] {
  const left = Object.keys(actual.spec ?? {}).filter((field) => wanted[field as keyof VMDiskImageSpec] === undefined)
  return [...mismatches(wanted, actual), ...left.filter((field) => ours?.includes(field) ?? true)]
}

/** An artifact that is gone was used, or may be in use still. */
function hadArtifact({ artifact, attempts = [] }: VMDiskImageStatus): boolean {
  return artifact !== undefined || attempts.some(({ outcome }) => outcome === 'Succeeded')
}

/** Says of a generation of an image who has written it. Everybody else's change of the spec makes another generation. */
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
