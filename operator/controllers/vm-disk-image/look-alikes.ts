import { LABELS } from '@open-terrain/constructs'
import { MANAGER } from '@open-terrain/constructs/operator'
import type { Clock } from '../../base/clock.ts'
import { controllerKindOf, controllerOfKind, ownerAmong } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Store } from '../../runtime/store.ts'
import { BY_UID, IMAGE, type ImageCaches } from './caches.ts'
import type { ImageMetrics } from './image-metrics.ts'

/** In this period each imitated image gets at most one Event, and the objects of each namespace cause at most REPORTS_MAX. */
const REPORT_INTERVAL_MS = 10 * 60_000
const REPORTS_MAX = 20

interface Reports {
  readonly since: number
  readonly count: number
}

interface LookAlikesOptions {
  readonly images: Pick<Store<ImageView>, 'get' | 'find'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly metrics: Pick<ImageMetrics, 'lookAlike'>
}

/** Detects look-alikes, both existing and new ones. Returns functions that stop this. */
export function noticeLookAlikes(caches: ImageCaches, options: Omit<LookAlikesOptions, 'images'>) {
  const { dataVolumes, snapshots, claims, pods } = caches.cluster
  const lookAlikes = new LookAlikes({ ...options, images: caches.images })
  const watch = <T extends KubeObject>(store: Store<T>) => {
    for (const object of store.values()) lookAlikes.see(object)
    return store.onChange(({ before, after }) => {
      if (before === undefined && after !== undefined) lookAlikes.see(after)
    })
  }
  return [watch(dataVolumes), watch(snapshots), watch(claims), watch(pods)]
}

/**
 * Counts and reports objects that look like a child of an image but are not. Nothing else happens to them. Anybody can create thousands,
 * so only a few of each namespace are reported: what others create elsewhere hides none.
 */
export class LookAlikes {
  readonly #options: LookAlikesOptions
  /** When it was last reported, by uid of the object that the Event is about. */
  readonly #reportedAt = new Map<string, number>()
  /** By namespace of the look-alikes. */
  readonly #reports = new Map<string, Reports>()

  constructor(options: LookAlikesOptions) {
    this.#options = options
  }

  /** Handles a new object. */
  see(object: KubeObject): void {
    const imitated = this.#imitated(object)
    if (imitated === undefined) return
    const { events, metrics } = this.#options
    metrics.lookAlike(object.kind)
    if (!this.#mayReport(imitated, object.metadata.namespace ?? '')) return
    const what = imitated === object ? 'it' : `${object.kind} ${keyOf(object.metadata)}`
    const whose = imitated === object ? `a ${IMAGE.kind} that does not exist` : `this ${IMAGE.kind}`
    const message = `${what} claims to belong to ${whose}, but does not: the operator ignores it`
    events.record(imitated, { type: 'Warning', reason: 'LookAlike', message })
  }

  /** Returns the image that it imitates, or the object itself if there is no such image. Undefined if it is a child or does not look like one. */
  #imitated(object: KubeObject): KubeObject | undefined {
    const { images } = this.#options
    const { namespace, labels } = object.metadata
    if (ownerAmong(object, images) !== undefined) return undefined
    const controller = controllerOfKind(object, IMAGE)
    const [named] = images.find(BY_UID, controller?.uid ?? labels?.[LABELS.imageUid] ?? '')
    // In the namespace of the image a label alone proves little: claims and pods have it, and objects that lost their owner keep it.
    if (named !== undefined && (controller !== undefined || named.metadata.namespace !== namespace)) return named
    const isOfNamesake = labels?.[LABELS.managedBy] === MANAGER && controllerKindOf(object) === IMAGE.kind
    return controller !== undefined || isOfNamesake ? object : undefined
  }

  #mayReport({ metadata: { uid = '' } }: KubeObject, namespace: string): boolean {
    const now = this.#options.clock.monotonic()
    prune(this.#reportedAt, (at) => now - at >= REPORT_INTERVAL_MS)
    prune(this.#reports, ({ since }) => now - since >= REPORT_INTERVAL_MS)
    const { since, count } = this.#reports.get(namespace) ?? { since: now, count: 0 }
    if (this.#reportedAt.has(uid) || count >= REPORTS_MAX) return false
    this.#reportedAt.set(uid, now)
    this.#reports.set(namespace, { since, count: count + 1 })
    return true
  }
}

/** Deletes what is over. Entries are in the order of their times, so the first one that is not over ends the look. */
function prune<T>(entries: Map<string, T>, isOver: (entry: T) => boolean): void {
  for (const [key, entry] of entries) {
    if (!isOver(entry)) return
    entries.delete(key)
  }
}
