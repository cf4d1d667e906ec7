import { LABELS, MANAGER } from '@open-terrain/constructs'
import { LookAlikes } from '../../cluster/look-alikes.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Store } from '../../runtime/store.ts'
import { BY_UID, IMAGE, type ImageCaches } from './caches.ts'
import type { ImageMetrics } from './image-metrics.ts'

export interface LookAlikeWatchOptions {
  readonly caches: ImageCaches
  readonly clock: Clock
  readonly events: EventRecorder
  readonly metrics: ImageMetrics
}

/** Tells of what looks like a child of an image and is none: what is there already, and what comes. Returns how to stop. */
export function noticeLookAlikes({ caches, clock, events, metrics }: LookAlikeWatchOptions) {
  const { images, cluster } = caches
  const { dataVolumes, snapshots, claims, pods } = cluster
  const lookAlikes = new LookAlikes({
    type: IMAGE,
    uidLabel: LABELS.imageUid,
    managerLabel: { key: LABELS.managedBy, value: MANAGER },
    owners: images,
    ownerWithUid: (uid) => images.find(BY_UID, uid)[0],
    monotonic: () => clock.monotonic(),
    onFound: (kind) => metrics.lookAlike(kind),
    tell: (subject, message) => events.record(subject, { type: 'Warning', reason: 'LookAlike', message }),
  })
  const watch = <T extends KubeObject>(store: Store<T>) => {
    for (const object of store.values()) lookAlikes.see(object)
    return store.onChange(({ before, after }) => {
      if (before === undefined && after !== undefined) lookAlikes.see(after)
    })
  }
  return [watch(dataVolumes), watch(snapshots), watch(claims), watch(pods)]
}
