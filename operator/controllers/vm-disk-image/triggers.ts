import { LABELS } from '@open-terrain/constructs'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { isTerminating, type KubeObject } from '../../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { onlyNews } from '../../runtime/news.ts'
import { stopAll } from '../../runtime/stops.ts'
import type { Change } from '../../runtime/store.ts'
import type { Lane } from '../../runtime/work-queue.ts'
import { BY_CHILD, BY_CONFIG_MAP, BY_NAMESPACE, BY_SECRET, BY_UID, type Caches, IMAGE, siblingKey } from './caches.ts'
import type { ImageView } from './views.ts'

/** What to do about a change. */
export interface Reactions {
  /** An image itself came, changed or went. */
  readonly image: (change: Change<ImageView>) => void
  /** Look at an image again. */
  readonly enqueue: (image: ImageView, lane: Lane) => void
  /** Something about downloads changed. */
  readonly downloads: () => void
  /** Somebody deleted this ConfigMap, or changed it. */
  readonly configMap: (key: string) => void
}

/** From changes in the caches to images that they concern. No decision is made here. Returns how to stop listening. */
export function listenForTriggers(caches: Caches, reactions: Reactions): () => void {
  const { images } = caches
  const enqueue = (found: Iterable<ImageView>, lane: Lane = 'urgent') => {
    for (const image of found) reactions.enqueue(image, lane)
  }
  const allWaiting = () =>
    enqueue(
      [...images.values()].filter(({ status }) => status.phase !== 'Succeeded'),
      'normal',
    )
  const named = (index: string) => onlyExistence(({ key }) => enqueue(images.find(index, key)))
  /** By uid where it carries our label, and by name in any case: whoever takes or frees a name concerns who needs it. */
  const child = ({ key, before, after }: Change<KubeObject>) => {
    enqueue(images.find(BY_CHILD, key))
    for (const object of [before, after]) {
      if (object === undefined) continue
      const uid = object.metadata.labels?.[LABELS.imageUid] ?? controllerOfKind(object, IMAGE)?.uid
      const named = uid === undefined ? [] : images.find(BY_UID, uid)
      enqueue(named.filter(({ metadata }) => metadata.namespace === object.metadata.namespace))
    }
  }
  const download = (change: Change<KubeObject>) => {
    child(change)
    reactions.downloads()
  }
  /** A prime claim has no label, and comes after its pod at times: it is by name that it leads to the image of its target. */
  const claim = (change: Change<KubeObject>) => {
    for (const object of [change.before, change.after]) {
      const target = object && controllerOfKind(object, PERSISTENT_VOLUME_CLAIM)
      if (object !== undefined && target !== undefined) enqueue(images.find(BY_CHILD, siblingKey(object, target.name)))
    }
    download(change)
  }
  const stops = [
    images.onChange(reactions.image),
    caches.dataVolumes.onChange(onlyNews(download)),
    caches.pods.onChange(onlyNews(download)),
    caches.claims.onChange(onlyNews(claim)),
    caches.snapshots.onChange(onlyNews(child)),
    caches.dataSources.onChange(({ key }) => {
      const image = images.get(key)
      if (image !== undefined) reactions.enqueue(image, 'urgent')
    }),
    caches.secrets.onChange(named(BY_SECRET)),
    caches.configMaps.onChange(named(BY_CONFIG_MAP)),
    caches.configMaps.onChange(({ key }) => reactions.configMap(key)),
    caches.namespaces.onChange(({ key, before, after }) => {
      if (isTerminating(before) !== isTerminating(after)) enqueue(images.find(BY_NAMESPACE, key))
    }),
    caches.storageClasses.onChange(allWaiting),
    caches.snapshotClasses.onChange(onlyExistence(allWaiting)),
    caches.storageProfiles.onChange(onlyNews(allWaiting)),
    // A quota counts with each claim and pod of its namespace: only who waits for room looks again.
    caches.quotas.onChange(
      onlyNews(({ before, after }) => {
        const namespace = (after ?? before)?.metadata.namespace ?? ''
        enqueue(
          [...images.find(BY_NAMESPACE, namespace)].filter(({ status }) => status.reason === 'QuotaExceeded'),
          'normal',
        )
      }),
    ),
    caches.reflectors.onInstalled(allWaiting),
  ]
  return stopAll(stops)
}

/** Most changes of Secrets and the like do not concern us: only that one came or went. */
function onlyExistence(listener: (change: Change<KubeObject>) => void): (change: Change<KubeObject>) => void {
  return (change) => {
    if ((change.before === undefined) !== (change.after === undefined)) listener(change)
  }
}
