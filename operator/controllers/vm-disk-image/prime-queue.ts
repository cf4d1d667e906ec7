import { ANNOTATIONS } from '@open-terrain/constructs'
import { traceOf } from '../../base/messages.ts'
import { statusOfPresent } from '../../images/decide/image-content.ts'
import type { ImageView } from '../../images/image-view.ts'
import { compareResourceVersions, keyOf } from '../../kube/kube-object.ts'
import type { Basics } from '../../runtime/basics.ts'
import type { Store } from '../../runtime/store.ts'
import type { WorkQueue } from '../../runtime/work-queue.ts'

/** Planning thousands of images at the start must not delay the renewal of the Lease. */
const PRIMED_AT_ONCE = 200

/**
 * Plans all images that may wait once before any is admitted: otherwise the first ones to be reconciled would be the first to start. Works
 * in ticket order, so that the images at the head are also enqueued first. Settled images come after them: there may be thousands, and a
 * free slot need not wait for them.
 */
export async function primeQueue(
  queue: WorkQueue,
  images: Store<ImageView>,
  options: {
    readonly plan: (image: ImageView) => void
    readonly hasSlot: (uid: string) => boolean
    readonly signal: AbortSignal
  } & Pick<Basics, 'clock' | 'log'>,
): Promise<void> {
  const { plan, hasSlot, clock, log, signal } = options
  const { settled = [], others = [] } = Object.groupBy(images.values(), (image) =>
    isSettled(image) && !hasSlot(image.metadata.uid ?? '') ? 'settled' : 'others',
  )
  others.sort((a, b) => compareResourceVersions(ticketOf(a), ticketOf(b)))
  for (const [at, { metadata }] of others.entries()) {
    if (signal.aborted) return
    const key = keyOf(metadata)
    // An image that is gone by now would wait at the head of the queue forever.
    const image = images.get(key)
    try {
      if (image !== undefined) plan(image)
    } catch (error) {
      // It must not keep the others waiting; its own reconcile reports what is wrong.
      log.error({ key, error: traceOf(error) }, 'a bug in the operator: the image cannot be planned')
    }
    queue.add(key, image?.status.phase === 'Syncing' ? 'urgent' : 'normal')
    if (at % PRIMED_AT_ONCE === PRIMED_AT_ONCE - 1) await new Promise<void>((resolve) => clock.setTimer(resolve, 0))
  }
  for (const { metadata } of settled) queue.add(keyOf(metadata))
}

/** By its status it has what is requested. If something was lost and it needs a download after all, it waits from when that is observed. */
function isSettled(image: ImageView): boolean {
  const { metadata } = image
  const isRequested = metadata.annotations?.[ANNOTATIONS.syncRequestedAt] !== undefined
  // Whether a request was met needs a hash: too much to compute for thousands of images without a request.
  const status = isRequested ? statusOfPresent(image) : image.status
  return status.phase === 'Succeeded' && status.observedGeneration === metadata.generation
}

function ticketOf({ status, metadata }: ImageView): string {
  return status.ticket ?? metadata.resourceVersion ?? '0'
}
