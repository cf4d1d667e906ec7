import { LABELS, MANAGER } from '@open-terrain/constructs'
import { controllerKindOf, controllerOfKind, ownerAmong } from '../../cluster/ownership.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Store } from '../../runtime/store.ts'
import { BY_UID, IMAGE, type ImageCaches } from './caches.ts'
import type { ImageMetrics } from './image-metrics.ts'

/** One Event for each image that is imitated, and no more than a few for all of them, in this time. */
const TOLD_EVERY_MS = 10 * 60_000
const TOLD_AT_ONCE = 20

interface LookAlikesOptions {
  readonly images: Pick<Store<ImageView>, 'get' | 'find'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly events: Pick<EventRecorder, 'record'>
  readonly metrics: Pick<ImageMetrics, 'lookAlike'>
}

/** Notices look-alikes: those that are there already, and those that come. Returns how to stop. */
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
 * Tells of what looks like a child of an image and is none: it is counted and reported, and nothing else comes of it. Anybody can make thousands,
 * so few of them are reported.
 */
export class LookAlikes {
  readonly #options: LookAlikesOptions
  /** When it was last reported, by uid of the object that the Event is about. */
  readonly #toldAt = new Map<string, number>()

  constructor(options: LookAlikesOptions) {
    this.#options = options
  }

  /** An object has come. */
  see(object: KubeObject): void {
    const imitated = this.#imitated(object)
    if (imitated === undefined) return
    const { events, metrics } = this.#options
    metrics.lookAlike(object.kind)
    if (!this.#mayTell(imitated)) return
    const what = imitated === object ? 'it' : `${object.kind} ${keyOf(object.metadata)}`
    const whose = imitated === object ? `a ${IMAGE.kind} that does not exist` : `this ${IMAGE.kind}`
    const message = `${what} claims to belong to ${whose}, but does not: the operator ignores it`
    events.record(imitated, { type: 'Warning', reason: 'LookAlike', message })
  }

  /** The image whose child it seems to be; the object itself where there is no such image. Undefined: it is one, or does not seem so. */
  #imitated(object: KubeObject): KubeObject | undefined {
    const { images } = this.#options
    const { namespace, labels } = object.metadata
    if (ownerAmong(object, images) !== undefined) return undefined
    const controller = controllerOfKind(object, IMAGE)
    const [named] = images.find(BY_UID, controller?.uid ?? labels?.[LABELS.imageUid] ?? '')
    // At home a label alone says little: it is on claims and pods, and stays on what lost its owner.
    if (named !== undefined && (controller !== undefined || named.metadata.namespace !== namespace)) return named
    const isOfNamesake = labels?.[LABELS.managedBy] === MANAGER && controllerKindOf(object) === IMAGE.kind
    return controller !== undefined || isOfNamesake ? object : undefined
  }

  #mayTell({ metadata: { uid = '' } }: KubeObject): boolean {
    const now = this.#options.clock.monotonic()
    for (const [other, at] of this.#toldAt) if (now - at >= TOLD_EVERY_MS) this.#toldAt.delete(other)
    if (this.#toldAt.has(uid) || this.#toldAt.size >= TOLD_AT_ONCE) return false
    this.#toldAt.set(uid, now)
    return true
  }
}
