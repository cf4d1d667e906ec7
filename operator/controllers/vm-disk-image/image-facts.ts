import { ownerAmong } from '../../cluster/ownership.ts'
import type { Admission } from './admission/admission.ts'
import type { ImageCaches } from './caches.ts'
import type { FleetFacts, ImageMetrics } from './image-metrics.ts'

/** What the gauges are read from. */
export function fleetFactsOf(admission: Admission, { images }: ImageCaches): FleetFacts {
  const { state, queue } = admission
  return {
    slotsInUse: state?.holders.length ?? 0,
    limit: state?.limit ?? 0,
    queued: queue.size,
    get withoutSlot() {
      return admission.countStrays()
    },
    // Thousands: only for the gauges that look at them.
    get statuses() {
      return [...images.values()].map(({ status }) => status)
    },
  }
}

/** Counts downloads that begin, and attempts that end: only a leader brings about either. Returns how to stop. */
export function countDownloads(metrics: ImageMetrics, { images, cluster }: ImageCaches) {
  return [
    cluster.dataVolumes.onChange(({ before, after }) => {
      const isNew = before === undefined && after !== undefined
      if (isNew && ownerAmong(after, images) !== undefined) metrics.started()
    }),
    images.onChange(({ before, after }) => {
      metrics.waited(before, after)
      if (before !== undefined) metrics.attempted(before.status.attempts, after?.status.attempts)
    }),
  ]
}
