import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  DATA_SYNC_IMAGE_FIELDS,
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncReason,
  dataSyncImageName,
  type Reason,
  renderDataSyncImage,
} from '@open-terrain/constructs/operator'
import { isDeletionBlocked, statusOfPresent, withFields } from '../../../images/decide/image-content.ts'
import type { ImageDefaults } from '../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { referTo, type Touch } from '../../../runtime/plan.ts'
import type { WantedImage } from '../world.ts'
import { isOwn, markBy, nextMark, oldestAmong, whyUnusable } from './ownership.ts'
import { newRequests } from './requests.ts'
import { disagreement, unmet } from './wishes.ts'

/** The summary of the image of one vm, and what to do about it. */
export interface ImageStep extends DataSyncImage {
  /** Set if the image is Failed, or waits for something that people or a neighbour must provide. */
  readonly message?: string
  /** How much of the download is done. Absent: nothing. */
  readonly percent?: number
  /** The image to write: a new one, or a change of the one that was seen, if it is still unchanged. */
  readonly apply?: KubeObject
  readonly touch?: Touch
}

/**
 * An image is created if it is missing, and follows its vm as long as all DataSyncs that share it want the same, and one of them had it created.
 * All of them plan the same write, whichever is reconciled first. While they disagree, the image stays as it is, and a DataSync that has what it
 * wants loses nothing. An image that somebody else had created is used if it is what the vm wants, and is never written.
 */
export function planImageOf(namespace: string, { wish, image, others }: WantedImage, policy: ImageDefaults): ImageStep {
  const { triple } = wish
  const name = dataSyncImageName(triple)
  const is = (phase: DataSyncPhase, reason: DataSyncReason) => ({ vm: triple.vm, name, phase, reason })
  const conflict = (message: string) => ({ ...is('Failed', 'NameConflict'), message })
  if (image?.metadata.deletionTimestamp !== undefined) {
    if (!isDeletionBlocked(image)) return is('Queued', 'ImageTerminating')
    const message = `somebody deleted VMDiskImage ${name}, and it stays as long as something uses it (its condition DeletionBlocked names what): remove the vm from every DataSync that has it, delete the other users, wait until the image is gone, and add the vm again`
    return { ...is('Failed', 'ImageTerminating'), message }
  }
  const sharing = [wish, ...others]
  if (image !== undefined && !isOwn(image, sharing)) {
    const message = whyUnusable(wish, image, others, policy)
    return message === undefined ? { ...is('Queued', 'ImageChanged'), ...progressOf(image) } : conflict(message)
  }
  const dissenters = others.filter((other) => unmet(wish, other).length > 0)
  const isAsWanted = image !== undefined && unmet(wish, image).length === 0
  if (dissenters.length > 0 && !isAsWanted) return conflict(disagreement(name, wish, dissenters))
  const agreeing = others.filter((one) => !dissenters.includes(one))
  const asking = [wish, ...agreeing]
  // They may write the same in other words.
  const oldest = oldestAmong(wish, agreeing)
  // What has reached an image is unknown while its annotations are cut.
  const arriving = image?.isCut === true ? [] : asking
  const annotations = newRequests(arriving, sharing, image?.metadata.annotations)
  if (image === undefined) {
    const marked = { ...annotations, [ANNOTATIONS.creator]: markBy(oldest, 1) }
    const made = renderDataSyncImage({ namespace, triple, spec: oldest.spec, annotations: marked })
    return { ...is('Queued', 'ImageMissing'), apply: made }
  }
  const changed = is('Queued', 'ImageChanged')
  if (!isAsWanted) {
    const marked = { ...annotations, [ANNOTATIONS.creator]: nextMark(image, sharing) }
    return { ...changed, apply: withFields(image, DATA_SYNC_IMAGE_FIELDS, oldest.spec, marked) }
  }
  const { resourceVersion = '' } = image.metadata
  // Another DataSync may have written its request in between: the requests that the image has recorded must not be reverted.
  if (annotations !== undefined) return { ...changed, touch: { ...referTo(image), resourceVersion, annotations } }
  return { ...changed, ...progressOf(image) }
}

/** Reasons of an image that gets on by itself. Their messages have places in the queue and times. */
const MOVING: ReadonlySet<string> = new Set<Reason>(['Queued', 'Starting', 'RetryBackoff'])

/** Returns the progress in the status of an image, if the status is about the present spec and requests. */
function progressOf(image: ImageView): Partial<ImageStep> {
  const { phase, reason = '', message = '', progress = '' } = statusOfPresent(image)
  if (phase === undefined) return {}
  if (phase === 'Failed') return { phase, reason, message }
  if (reason === 'CDINotResponding')
    return { phase: 'Syncing', reason, message, percent: Number.parseFloat(progress) || 0 }
  if (phase === 'Syncing') return { phase, reason, percent: Number.parseFloat(progress) || 0 }
  if (phase === 'Snapshotting')
    return { phase: 'Syncing', reason, ...(reason !== 'Snapshotting' && { message }), percent: 100 }
  const isTold = phase === 'Queued' && message !== '' && !MOVING.has(reason)
  return { phase, reason, ...(isTold && { message }), percent: phase === 'Succeeded' ? 100 : 0 }
}
