import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'

/** Whom an image names as its creator. Only who may write images can set this mark. */
export interface ImageCreator {
  readonly kind: string
  /** `<namespace>/<name>`. */
  readonly key: string
  /** An object recreated under the same name is a different one. */
  readonly uid: string
  /** The generation that the creator wrote. A change of the spec by anybody else makes another one. Undefined if a person set the mark. */
  readonly generation: number | undefined
}

const MARK = /^([A-Za-z]+)\/(.+)\/([^/ ]+)(?: generation ([0-9]+))?$/

/** Returns the mark of who wrote a generation of an image. */
export function creatorMark({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>, generation: number): string {
  return markOfCreator({ kind, key: keyOf(metadata), uid: metadata.uid ?? '' }, generation)
}

/** Returns the mark of the same creator for another generation. */
export function markOfCreator(
  { kind, key, uid }: Pick<ImageCreator, 'kind' | 'key' | 'uid'>,
  generation?: number,
): string {
  return `${kind}/${key}/${uid}${generation === undefined ? '' : ` generation ${generation}`}`
}

export function creatorOf({ metadata: { annotations } }: Pick<KubeObject, 'metadata'>): ImageCreator | undefined {
  const match = MARK.exec(annotations?.[ANNOTATIONS.creator] ?? '')
  if (match === null) return undefined
  const [, kind = '', key = '', uid = '', generation] = match
  return { kind, key, uid, generation: generation === undefined ? undefined : Number(generation) }
}

/** Returns the kind that an image was created for: it is in the label also where an earlier version of the operator wrote no mark. */
export function creatorKindOf(image: KubeObject): string | undefined {
  return creatorOf(image)?.kind ?? image.metadata.labels?.[LABELS.createdBy]
}

/** Says who made an image, for people. */
export function whoMade(image: KubeObject): string {
  const creator = creatorOf(image)
  if (creator !== undefined) return `${creator.kind} ${creator.key} had it created`
  const kind = creatorKindOf(image)
  return kind === undefined ? 'the operator did not create it' : `another ${kind} had it created`
}
