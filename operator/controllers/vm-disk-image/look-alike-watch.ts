import { LABELS, MANAGER } from '@open-terrain/constructs'
import { LookAlikes } from '../../cluster/look-alikes.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import type { Store } from '../../runtime/store.ts'
import { BY_UID, IMAGE } from './caches.ts'
import type { ImageControllerOptions } from './image-sources.ts'

type LookAlikeWatchOptions = Pick<ImageControllerOptions, 'caches' | 'clock' | 'events' | 'metrics'>

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
