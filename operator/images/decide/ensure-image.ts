import { ANNOTATIONS, LABELS, render, VMDiskImage } from '@open-terrain/constructs'
import type { Policy, VMDiskImageSpec } from '@open-terrain/constructs/operator'
import { isTerminating, type KubeObject } from '../../kube/kube-object.ts'
import type { Precondition } from '../../runtime/preconditions.ts'
import type { ImageView } from '../image-view.ts'
import { type ImageClaim, referenceOf } from '../references.ts'
import { creatorMark, creatorOf } from './image-creator.ts'
import { contentDifferences, isSameValue } from './image-meaning.ts'

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

/** What refers to an image. */
export interface Referrers {
  readonly claims: readonly ImageClaim[]
  /** Whether anything does that has no claim. */
  readonly hasOthers: boolean
}

/** The outcome of a wish. */
export type Ensured =
  | { readonly kind: 'taken' }
  /** It matches the template, and follows it as long as it has produced no artifact. */
  | { readonly kind: 'follows' }
  /** The image is to be written like this. */
  | { readonly kind: 'created'; readonly image: KubeObject }
  /** Only if nothing else refers to it than these, `<kind>/<namespace>/<name>`, which want the same or take what there is. */
  | {
      readonly kind: 'corrected'
      readonly image: KubeObject
      readonly fields: readonly string[]
      readonly agreeing: readonly string[]
    }
  /** It would be corrected, but these want something else. */
  | { readonly kind: 'disputed'; readonly fields: readonly string[]; readonly dissenters: readonly ImageClaim[] }

/**
 * An existing image is taken as it is: others may use it, or somebody has written it. The exception is for templates that were wrong: an image that was
 * made from a template and never had an artifact follows the templates of all who refer to it, as long as they want the same. Which of them made it
 * does not matter: it may be gone. An image that a person has edited is not touched. Neither is one that a DataSync had created which is still there, nor
 * one that a machine without a template waits for.
 *
 * A user who may have an image created may also have it corrected: both need the same rights, which the admission policy `open-terrain-image-use`
 * checks when the template is written. Forging the creator's mark gains nothing: the forger can write the image anyway, or the creator names the image.
 * @param referrers according to caches. Before a correction, a live read must confirm that nothing else refers to the image
 */
export function ensureImage(
  wish: ImageWish,
  found: ImageView | undefined,
  { claims, hasOthers }: Referrers,
  policy: Partial<Policy>,
): Ensured {
  const { template, mode, createdBy } = wish
  if (template === undefined || mode === 'FailIfNotExist') return { kind: 'taken' }
  if (found === undefined) return { kind: 'created', image: imageFrom(wish, template, 1) }
  const others = claims.filter(({ by }) => by !== referenceOf(createdBy))
  if (hasOthers || !isFromTemplate(found) || hadArtifact(found.status)) return { kind: 'taken' }
  // Where others have templates too, only what the image is counts. Otherwise they would overwrite each other for ever.
  const isAlone = others.every(({ wants }) => wants === undefined)
  const fields = isAlone ? differences(template, found) : contentDifferences(template, found, policy)
  if (fields.length === 0) return { kind: 'follows' }
  const dissenters = others.filter(({ wants, isKeeper }) => {
    return (
      isKeeper === true || (wants !== undefined && contentDifferences(template, { spec: wants }, policy).length > 0)
    )
  })
  if (dissenters.length > 0) return { kind: 'disputed', fields, dissenters }
  const { uid, resourceVersion, generation = 1 } = found.metadata
  const image = imageFrom(wish, template, generation + 1)
  const agreeing = others.map(({ by }) => by)
  // Written only if the image is what was judged: it may get an artifact at any moment.
  return {
    kind: 'corrected',
    image: { ...image, metadata: { ...image.metadata, uid, resourceVersion } },
    fields,
    agreeing,
  }
}

/** Reports whether the spec of an image is as the operator wrote it. */
function isFromTemplate(image: ImageView): boolean {
  return !isTerminating(image) && creatorOf(image)?.generation === (image.metadata.generation ?? 1)
}

/** Reports whether its creator was the last to write its spec. */
export function isAsMadeBy(creator: KubeObject, { metadata }: KubeObject): boolean {
  const { annotations, generation = 1, deletionTimestamp } = metadata
  return deletionTimestamp === undefined && annotations?.[ANNOTATIONS.creator] === creatorMark(creator, generation)
}

/** Reports whether a correction, by whichever of those that share it, is not observed yet, so that the status still shows the failure before it. */
export function isNewlyCorrected(image: ImageView): boolean {
  const { phase, observedGeneration = 0 } = image.status
  return phase === 'Failed' && observedGeneration < (image.metadata.generation ?? 1) && isFromTemplate(image)
}

/** The precondition for correcting an image. Its status shows a new reference only after a while. @param known references that do not count */
export function isNobodyElses(ref: ImageWish['ref'], known: readonly string[]): Precondition {
  return { unreferenced: ref, by: 'anyone', except: known, knownAfterMs: 10_000 }
}

/** Returns the fields in which an image is not as it is wanted, and fields that only the image has. @param ours those of the latter that count. Default: all */
export function differences(
  wanted: VMDiskImageSpec,
  actual: Pick<ImageView, 'spec' | 'isCut'>,
  ours?: readonly string[],
): string[] {
  if (actual.isCut === true) return []
  const spec = (actual.spec ?? {}) as Readonly<Record<string, unknown>>
  const wrong = Object.entries(wanted).flatMap(([field, value]) => (isSameValue(value, spec[field]) ? [] : [field]))
  const left = Object.keys(spec).filter((field) => wanted[field as keyof VMDiskImageSpec] === undefined)
  return [...wrong, ...left.filter((field) => ours?.includes(field) ?? true)]
}

/** An artifact that is gone counts too: it was used, or may still be in use. */
function hadArtifact({ artifact, attempts = [] }: ImageView['status']): boolean {
  return artifact !== undefined || attempts.some(({ outcome }) => outcome === 'Succeeded')
}

function imageFrom({ ref, createdBy }: ImageWish, template: VMDiskImageSpec, generation: number): KubeObject {
  const metadata = {
    namespace: ref.namespace,
    name: ref.name,
    labels: { [LABELS.createdBy]: createdBy.kind },
    annotations: { [ANNOTATIONS.creator]: creatorMark(createdBy, generation) },
  }
  const [image] = render((chart) => new VMDiskImage(chart, 'VMDiskImage', { ...template, metadata }))
  return image as KubeObject
}
