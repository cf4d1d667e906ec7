import { LABELS } from '@open-terrain/constructs'
import { BY_CHILD, BY_NAMESPACE } from '../../cluster/caches.ts'
import { concernsImport } from '../../cluster/importers.ts'
import { controllerOfKind } from '../../cluster/ownership.ts'
import { triggersOf } from '../../cluster/triggers.ts'
import type { ClaimView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_SOURCE, PERSISTENT_VOLUME_CLAIM } from '../../kube/resource-types.ts'
import { type Change, whenContentChanged } from '../../runtime/store.ts'
import type { Lane, WorkQueue } from '../../runtime/work-queue.ts'
import type { Admission } from './admission/admission.ts'
import { listenForDownloads } from './admission/download-triggers.ts'
import { BY_CONFIG_MAP, BY_SECRET, BY_UID, IMAGE, type ImageCaches, siblingKey, unfinished } from './caches.ts'
import type { ImageControllerOptions } from './image-sources.ts'
import { unrecordedDownload } from './world.ts'

/** Hundreds of references may come or go at once: they are counted together. */
const REFERENCES_SETTLE_MS = 100
/** After a policy change, failed images are replanned at this interval: the time of the next attempt, or the end of all, may be written again. */
const RETIMED_EVERY_MS = 20

/** Where changes are reported. */
interface Listeners {
  readonly queue: Pick<WorkQueue, 'add'>
  readonly admission: Pick<Admission, 'checkLedger' | 'downloadsChanged' | 'wake'>
  /** Key of the ledger. */
  readonly ledger: string
  /** An image is gone. */
  readonly onGone: (uid: string) => void
}

/** Maps changes in the caches to the images that they concern. Makes no decision. Returns functions that stop listening. */
export function listenForImageTriggers(caches: ImageCaches, { queue, admission, ledger, onGone }: Listeners) {
  const { images, cluster } = caches
  let hasDataSources = caches.reflectors.isInstalled(DATA_SOURCE)
  const enqueue = (found: Iterable<ImageView>, lane: Lane = 'urgent') => {
    for (const { metadata } of found) queue.add(keyOf(metadata), lane)
  }
  const allWaiting = () => {
    const waiting = [...images.values()].filter(({ status }) => status.phase !== 'Succeeded')
    enqueue(waiting, 'normal')
  }
  /** Any change may be one of the content, which the caches do not have. */
  const named =
    (index: string) =>
    ({ key }: Change<KubeObject>) =>
      enqueue(unfinished(images, index, key))
  const { all, owns } = triggersOf(images, (key) => queue.add(key, 'urgent'))
  const children = {
    of: IMAGE,
    label: LABELS.imageUid,
    byUid: (uid: string, namespace: string | undefined) =>
      images.find(BY_UID, uid).filter(({ metadata }) => metadata.namespace === namespace),
    byChild: BY_CHILD,
  }
  /** A prime claim has no label, and sometimes appears after its pod: the name of its target leads to the image. Nothing else of it matters. */
  const claim = (change: Change<ClaimView>) => {
    if (!concernsImport(change)) return
    const { before, after } = change
    for (const object of [before, after]) {
      const target = object && controllerOfKind(object, PERSISTENT_VOLUME_CLAIM)
      if (object !== undefined && target !== undefined) all(images.find(BY_CHILD, siblingKey(object, target.name)))
    }
  }
  return [
    images.onChange(({ key, before, after }) => {
      if (after === undefined) onGone(before?.metadata.uid ?? '')
      // A download without a slot counts until its end is recorded.
      else if (before && unrecordedDownload(before.status) && !unrecordedDownload(after.status)) admission.wake()
      // New images wait behind those in progress: a thousand new images must not delay a teardown.
      queue.add(key, after?.status.ticket === undefined ? 'normal' : 'urgent')
    }),
    owns(cluster.dataVolumes, children),
    owns(cluster.pods, children),
    owns(cluster.claims, children, claim),
    // After these: an image is due before the step of the admission that its download causes.
    ...listenForDownloads(cluster, admission),
    owns(cluster.snapshots, children),
    cluster.dataSources.onChange(({ key }) => {
      if (images.get(key) !== undefined) queue.add(key, 'urgent')
    }),
    cluster.secrets.onChange(named(BY_SECRET)),
    cluster.configMaps.onChange(named(BY_CONFIG_MAP)),
    cluster.configMaps.onChange(({ key, after }) => {
      if (key === ledger) admission.checkLedger(after)
    }),
    cluster.namespaces.onChange(({ key, before, after }) => {
      if (isTerminating(before) !== isTerminating(after)) enqueue(images.find(BY_NAMESPACE, key))
    }),
    cluster.storageClasses.onChange(allWaiting),
    cluster.snapshotClasses.onChange(whenContentChanged(allWaiting)),
    cluster.storageProfiles.onChange(whenContentChanged(allWaiting)),
    // A quota changes with each claim and pod of its namespace: only images that wait for it are requeued.
    cluster.quotas.onChange(
      whenContentChanged(({ before, after }) => {
        const found = images.find(BY_NAMESPACE, (after ?? before)?.metadata.namespace ?? '')
        const waiting = found.filter(({ status }) => status.reason === 'QuotaExceeded')
        enqueue(waiting, 'normal')
      }),
    ),
    caches.reflectors.onInstalled(() => {
      const had = hasDataSources
      hasDataSources = caches.reflectors.isInstalled(DATA_SOURCE)
      // A finished image needs its DataSource again if CDI was reinstalled.
      if (hasDataSources && !had) enqueue(images.values(), 'normal')
      else allWaiting()
    }),
  ]
}

/** Maps changes of the policy and of references to the images that they concern. Returns functions that stop listening. */
export function listenForRules(
  { images }: Pick<ImageCaches, 'images'>,
  options: Pick<ImageControllerOptions, 'onPolicyChange' | 'references'> & {
    readonly queue: Pick<WorkQueue, 'addAfter'>
    readonly admission: Pick<Admission, 'wake'>
  },
) {
  const { queue, admission, onPolicyChange, references } = options
  /** Another policy may cause a write for each image that has failed: thousands of them are written one after the other. */
  const replanAll = () => {
    let failed = 0
    for (const [key, { status }] of images.entries()) {
      const hasFailed = status.nextRetryTime !== undefined || (status.budget?.downloads ?? 0) > 0
      queue.addAfter(key, hasFailed ? failed++ * RETIMED_EVERY_MS : 0)
    }
  }
  return [
    onPolicyChange(({ isLimitAlone }) => {
      admission.wake()
      if (!isLimitAlone) replanAll()
    }),
    ...references.map((source) => source.onChange((key) => queue.addAfter(key, REFERENCES_SETTLE_MS, 'urgent'))),
  ]
}
