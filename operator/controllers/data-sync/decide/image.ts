import {
  DATA_SYNC_IMAGE_FIELDS,
  type DataSyncImage,
  type DataSyncPhase,
  type DataSyncReason,
  dataSyncImageName,
  isImageFor,
  renderDataSyncImage,
} from '@open-terrain/constructs'
import { isDeletionBlocked, statusOfPresent, withFields } from '../../../images/decide/image-content.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { referTo, type Touch } from '../../../runtime/plan.ts'
import type { WantedImage } from '../world.ts'
import { newRequests } from './requests.ts'
import { disagreement, unmet } from './wishes.ts'

/** The standing of the image of one vm, and what to do about it. */
export interface ImageStep extends DataSyncImage {
  /** Set if the phase is Failed. */
  readonly message?: string
  /** How much of the download is done. Absent: nothing. */
  readonly percent?: number
  /** The image to write: a new one, or a change of the one that was seen, if it is still unchanged. */
  readonly apply?: KubeObject
  readonly touch?: Touch
}

/**
 * An image is created if it is missing, and follows its vm as long as all DataSyncs that share it want the same. All of them plan the same
 * write, whichever is reconciled first. While they disagree, the image stays as it is, and a DataSync that has what it wants loses nothing.
 */
export function planImageOf(namespace: string, { wish, image, others }: WantedImage): ImageStep {
  const { triple, spec } = wish
  const name = dataSyncImageName(triple)
  const is = (phase: DataSyncPhase, reason: DataSyncReason) => ({ vm: triple.vm, name, phase, reason })
  const conflict = (message: string) => ({ ...is('Failed', 'NameConflict'), message })
  if (image?.metadata.deletionTimestamp !== undefined) {
    if (!isDeletionBlocked(image)) return is('Queued', 'ImageTerminating')
    const message = `somebody deleted VMDiskImage ${name}, and it stays as long as something uses it (its condition DeletionBlocked names what): remove the vm from every DataSync that has it, delete the other users, wait until the image is gone, and add the vm again`
    return { ...is('Failed', 'ImageTerminating'), message }
  }
  if (image !== undefined && !isImageFor(triple, image.metadata.annotations)) {
    const message = `VMDiskImage ${name} exists, and its annotations do not say that it is for vm ${triple.vm} of workspace ${triple.workspaceId}`
    return conflict(`${message}: delete it, or choose another version, or another name of the vm`)
  }
  const dissenters = others.filter((other) => unmet(wish, other).length > 0)
  const isAsWanted = image !== undefined && unmet(wish, image).length === 0
  if (dissenters.length > 0 && !isAsWanted) return conflict(disagreement(name, wish, dissenters))
  const asking = [wish, ...others.filter((one) => !dissenters.includes(one))]
  const annotations = newRequests(asking, [wish, ...others], image?.metadata.annotations)
  if (image === undefined)
    return { ...is('Queued', 'ImageMissing'), apply: renderDataSyncImage({ namespace, triple, spec, annotations }) }
  const changed = is('Queued', 'ImageChanged')
  if (!isAsWanted) return { ...changed, apply: withFields(image, DATA_SYNC_IMAGE_FIELDS, spec, annotations) }
  const { resourceVersion = '' } = image.metadata
  // Another DataSync may have written its request in between: the requests that the image has recorded must not be reverted.
  if (annotations !== undefined) return { ...changed, touch: { ...referTo(image), resourceVersion, annotations } }
  return { ...changed, ...progressOf(image) }
}

/** Returns the progress in the status of an image, if the status is about the present spec and requests. */
function progressOf(image: ImageView): Partial<ImageStep> {
  const { phase, reason = '', message = '', progress = '' } = statusOfPresent(image)
  if (phase === undefined) return {}
  if (phase === 'Failed') return { phase, reason, message }
  if (phase === 'Syncing') return { phase, reason, percent: Number.parseFloat(progress) || 0 }
  if (phase === 'Snapshotting') return { phase: 'Syncing', reason, percent: 100 }
  return { phase, reason, percent: phase === 'Succeeded' ? 100 : 0 }
}
