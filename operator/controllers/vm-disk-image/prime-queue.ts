import { ANNOTATIONS } from '@open-terrain/constructs'
import { statusOfPresent } from '../../images/decide/image-content.ts'
import type { ImageView } from '../../images/image-view.ts'
import { compareResourceVersions, keyOf } from '../../kube/kube-object.ts'
import type { Basics } from '../../runtime/basics.ts'
import { traceOf } from '../../runtime/redact.ts'
import type { Store } from '../../runtime/store.ts'
import type { WorkQueue } from '../../runtime/work-queue.ts'

/** Planning thousands of images at the start must not keep a Lease from being renewed. */
const PRIMED_AT_ONCE = 200

/**
 * Before anybody is admitted, all images that may wait must have been planned once, or the first ones to be looked at would be the first to start. In
 * ticket order, so that the images at the head are also enqueued first. Those that are settled come after them: there may be thousands, and a free slot
 * need not wait for them.
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
    // One that is gone since would wait at the head of the queue for ever.
    const image = images.get(key)
    try {
      if (image !== undefined) plan(image)
    } catch (error) {
      // It must not keep the others waiting; its own reconcile says what is wrong.
      log.error({ key, error: traceOf(error) }, 'a bug in the operator: the image cannot be planned')
    }
    queue.add(key, image?.status.phase === 'Syncing' ? 'urgent' : 'normal')
    if (at % PRIMED_AT_ONCE === PRIMED_AT_ONCE - 1) await new Promise<void>((resolve) => clock.setTimer(resolve, 0))
  }
  for (const { metadata } of settled) queue.add(keyOf(metadata))
}

/** By its status it has what is asked for. Should it want a download all the same, for what was lost, it waits from when that is seen. */
function isSettled(image: ImageView): boolean {
  const { metadata } = image
  const isRequested = metadata.annotations?.[ANNOTATIONS.syncRequestedAt] !== undefined
  // Whether a request was met is in a hash: too much to compute for thousands without one.
  const status = isRequested ? statusOfPresent(image) : image.status
  return status.phase === 'Succeeded' && status.observedGeneration === metadata.generation
}

function ticketOf({ status, metadata }: ImageView): string {
  return status.ticket ?? metadata.resourceVersion ?? '0'
}
