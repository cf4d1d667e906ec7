import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { dataSync, dataSyncImageName, isImageFor } from '@open-terrain/constructs/operator'
import { creatorMark, creatorOf, markOfCreator, whoMade } from '../../../images/decide/image-creator.ts'
import { contentDifferences, type ImageDefaults } from '../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { Wish } from '../world.ts'
import { newRequests } from './requests.ts'

const TRIPLE = [ANNOTATIONS.workspaceId, ANNOTATIONS.workspaceVersion, ANNOTATIONS.workspaceVm]

/**
 * Reports whether these DataSyncs may write an image: it is for their vm, and one of them had it created. Who may write DataSyncs need not have
 * rights on images, so a DataSync that comes later must not change what machines of others use, also when the one that had it created is gone.
 * @param sharing all DataSyncs that want an image of this name, alive and readable
 */
export function isOwn(image: ImageView, sharing: readonly Wish[]): boolean {
  const [one] = sharing
  return (
    one !== undefined &&
    isImageFor(one.triple, image.metadata.annotations) &&
    sharing.some((wish) => isMakerOf(wish, image))
  )
}

/** An earlier version of the operator did not write down which DataSync it was. It was there before the image. */
function isMakerOf({ metadata }: Wish, image: ImageView): boolean {
  const creator = creatorOf(image)
  if (creator !== undefined) return creator.kind === dataSync.kind && creator.uid === metadata.uid
  const { labels, annotations, creationTimestamp } = image.metadata
  const isOfBefore = labels?.[LABELS.createdBy] === dataSync.kind && annotations?.[ANNOTATIONS.creator] === undefined
  return isOfBefore && (metadata.creationTimestamp ?? '') <= (creationTimestamp ?? '')
}

/** Returns the wish of the oldest DataSync, which counts as the creator of an image: it does not matter which of them is reconciled first. */
export function oldestAmong(first: Wish, others: readonly Wish[]): Wish {
  const age = ({ metadata }: Wish) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`
  return others.reduce((oldest, other) => (age(other) < age(oldest) ? other : oldest), first)
}

/** Returns the mark of a DataSync on an image that it has created. */
export function markBy({ metadata }: Wish, generation: number): string {
  return creatorMark({ kind: dataSync.kind, metadata }, generation)
}

/** Returns the mark for the next generation of an image that one of these had created. */
export function nextMark(image: ImageView, sharing: readonly Wish[]): string {
  const { generation = 1 } = image.metadata
  const creator = creatorOf(image)
  if (creator !== undefined) return markOfCreator(creator, generation + 1)
  const [first, ...rest] = sharing.filter((wish) => isMakerOf(wish, image))
  return first === undefined ? '' : markBy(oldestAmong(first, rest), generation + 1)
}

/** Returns why an image of somebody else is of no use for a vm, and what to do; undefined if it is what the vm wants, with all that was asked for. */
export function whyUnusable(
  wish: Wish,
  image: ImageView,
  others: readonly Wish[],
  policy: ImageDefaults,
): string | undefined {
  const { triple, spec } = wish
  const { annotations } = image.metadata
  const which = `VMDiskImage ${dataSyncImageName(triple)}`
  const isFor = isImageFor(triple, annotations)
  if (!isFor && TRIPLE.some((key) => annotations?.[key] !== undefined))
    return `${which} exists, and its annotations do not say that it is for vm ${triple.vm} of workspace ${triple.workspaceId}: ${WAYS_OUT}`
  const differing = contentDifferences(spec, image, policy)
  const isAsked = image.isCut !== true && newRequests([wish], [wish, ...others], annotations) !== undefined
  if (differing.length === 0 && !isAsked) return undefined
  const what = differing.length > 0 ? `differs in ${differing.join(', ')}` : 'does not get the request of an annotation'
  const { namespace, name } = image.metadata
  const remedy = `kubectl -n ${namespace} delete vmdi ${name}`
  const handOver = isFor
    ? `; or give it to this DataSync: kubectl -n ${namespace} annotate --overwrite vmdi ${name} ${ANNOTATIONS.creator}=${markOfCreator({ kind: dataSync.kind, key: `${namespace}/${wish.dataSync}`, uid: wish.metadata.uid ?? '' })}`
    : ''
  return `${which} ${what}, and is not changed, as ${whoMade(image)}, and a DataSync changes only what it, or one beside it, had created: give the vm what the image has, or another version; or delete the image, and it is created from this DataSync: ${remedy}${handOver}`
}

const WAYS_OUT = 'delete it, or choose another version, or another name of the vm'
