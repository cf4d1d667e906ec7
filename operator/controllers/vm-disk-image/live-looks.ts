import { type ReferenceSource, type References, sumReferences } from '../../images/references.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Logger } from '../../runtime/log.ts'
import type { PlanCaches } from '../../runtime/plan-writer.ts'
import type { Wake } from '../../runtime/wake.ts'
import { IMAGE } from './caches.ts'
import type { Clones } from './clones.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { ImagePlan, ImageRemoval } from './image-plan.ts'
import { lookForLost } from './losses.ts'
import type { ImageView } from './views.ts'

/** Watches bring it soon. */
const NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should have by then what a live look has found' }
const USERS_NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should know by then who uses the image' }

export interface LiveLooksOptions {
  readonly client: KubeClient
  readonly caches: PlanCaches
  readonly clones: Clones
  /** Kinds that name images. */
  readonly references: readonly ReferenceSource[]
  readonly events: EventRecorder
  readonly log: Logger
  readonly metrics: ImageMetrics
}

/** Live looks at what a plan for an image must not rest on a cache for. All throw ApiError. */
export class LiveLooks {
  readonly #options: LiveLooksOptions

  constructor(options: LiveLooksOptions) {
    this.#options = options
  }

  /** When to look again, if the caches were behind. */
  async confirm(image: ImageView, plan: ImagePlan, signal: AbortSignal): Promise<Wake | undefined> {
    const { losses = [], unlessUsed = false, unlessReferenced = false } = plan
    if (await this.#findLost(image, losses, signal)) return NOT_SEEN
    if (unlessUsed && (await this.#count(image, signal)).users.length > 0) return USERS_NOT_SEEN
    if (unlessReferenced && (await this.#count(image, signal)).count > 0) return USERS_NOT_SEEN
    return undefined
  }

  async isHeldBack({ kind, name, unlessCloned }: ImageRemoval, image: ImageView, signal: AbortSignal) {
    if (unlessCloned === 'never') return false
    const { namespace = '' } = image.metadata
    return await this.#options.clones.reads({ kind, namespace, name }, image, unlessCloned, signal)
  }

  /** Deletes an image that nobody needs, if a live count says the same and nothing about it has changed. */
  async reclaim(image: ImageView, signal: AbortSignal): Promise<void> {
    const { client, events, log, metrics, clones } = this.#options
    const { name, namespace = '', uid, resourceVersion } = image.metadata
    const { count } = await this.#count(image, signal)
    if (count > 0 || (await clones.readAny(image, signal))) return
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    }
    await client.delete(IMAGE, { namespace, name }, { ...preconditions, propagationPolicy: 'Background', signal })
    metrics.removed(image.status)
    log.info({ key: keyOf(image.metadata) }, 'deleted an image that nothing refers to')
    const message = 'nothing has referred to the image for its unreferencedTTL: it is deleted'
    events.record(image, { type: 'Normal', reason: 'Unreferenced', message })
  }

  /** All that refers to an image. */
  async countReferences(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return sumReferences(await Promise.all(this.#options.references.map((source) => source.live(image, signal))))
  }

  async #count({ metadata: { name, namespace = '' } }: ImageView, signal: AbortSignal): Promise<References> {
    return await this.countReferences({ namespace, name }, signal)
  }

  /** Whether anything that the plan takes to be gone is there after all; then the caches know it from now on. */
  async #findLost(image: ImageView, losses: NonNullable<ImagePlan['losses']>, signal: AbortSignal): Promise<boolean> {
    const { client, caches } = this.#options
    const found = await Promise.all(losses.map((loss) => lookForLost(client, image, loss, signal)))
    for (const one of found) if (one !== undefined) caches.observeWrite(one.type, one.object)
    return found.some((one) => one !== undefined)
  }
}
