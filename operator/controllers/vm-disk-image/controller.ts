import { FINALIZERS } from '@open-terrain/constructs'
import type { ImageView } from '../../images/image-view.ts'
import { sumReferences } from '../../images/references.ts'
import { isApiError } from '../../kube/api-error.ts'
import { keyOf } from '../../kube/kube-object.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { traceOf } from '../../runtime/redact.ts'
import { refreshQueuePositions } from './admission/queue-positions.ts'
import { LEDGER_NAME } from './admission/slot-ledger.ts'
import { IMAGE } from './caches.ts'
import { IMAGE_CHILDREN, type ImagePlan } from './decide/image-plan.ts'
import { imagePaceOf } from './decide/pace.ts'
import { planImage } from './decide/plan.ts'
import { factsBetween, refusalEvent } from './decide/status.ts'
import { type ImageControllerOptions, type ImageSources, imageSources } from './image-sources.ts'
import { noticeLookAlikes } from './look-alikes.ts'
import { hasImageChild, observeImage } from './observe.ts'
import { primeQueue } from './prime-queue.ts'
import { listenForImageTriggers } from './triggers.ts'

/** Hundreds of references may come or go at once: they are counted together. */
const REFERENCES_SETTLE_MS = 100
/** The time of the next attempt, or the end of all attempts, of those that have failed already is written again so often. */
const RETIMED_EVERY_MS = 20
/** An image whose writes take longer is not waited for by those behind it. */
const STUCK_AFTER_MS = 5_000

/** VMDiskImages, for as long as this process leads: one instance serves one term. */
export class ImageController extends ObjectController<ImageView, ImagePlan, void> {
  readonly #options: ImageControllerOptions
  /** Images whose queue position is to be written now, though nothing else changed. */
  readonly #positionDue = new Set<string>()
  readonly #sources: ImageSources
  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences: ReferenceCount

  constructor(options: ImageControllerOptions) {
    const { caches, clock, log, metrics } = options
    const sources = imageSources(options, (key) => this.queue.add(key, 'urgent'))
    const { admission, claimRefusals, cdiPulse, clones } = sources
    const countReferences: ReferenceCount = async (image, signal) =>
      sumReferences(await Promise.all(sources.references.map((source) => source.live(image, signal))))
    const onDue = (key: string, uid: string) => {
      this.#positionDue.add(uid)
      this.queue.add(key)
    }
    super(options, caches.reflectors, {
      type: IMAGE,
      finalizer: FINALIZERS.vmDiskImage,
      children: IMAGE_CHILDREN,
      store: caches.images,
      // Their queue is one for all namespaces, and a ticket is taken when the image is looked at.
      groupOf: () => '',
      prepare: () => admission.giveWay(),
      plan: (image) => this.#plan(image),
      looks: { hasOurs: hasImageChild, isCloned: clones.read, countReferences },
      pace: ({ metadata: { uid = '' }, status }, plan, sinceWriteMs) =>
        imagePaceOf(status, plan.status, sinceWriteMs, this.#positionDue.delete(uid)),
      factsBetween: (image, status) => factsBetween(image.status, status),
      // A webhook may let its writes hang, for as long as a request may take.
      onBegin: ({ metadata: { uid = '' } }) => clock.setTimer(() => admission.setStuck(uid), STUCK_AFTER_MS),
      onRemoved: ({ status }, { kind }) => {
        if (kind === IMAGE.kind) metrics.removed(status)
      },
      onError: (image, error) => this.#onError(image, error),
      loops: [
        admission,
        claimRefusals,
        cdiPulse,
        { run: (signal) => refreshQueuePositions({ admission, images: caches.images, clock, log }, onDue, signal) },
      ],
    })
    this.#options = options
    this.#sources = sources
    this.countReferences = countReferences
  }

  override async run(signal: AbortSignal): Promise<void> {
    const { caches, metrics, clock } = this.#options
    const { queue } = this
    const { admission } = this.#sources
    const stops = this.#listenForImages()
    metrics.readFrom({ admission, images: caches.images })
    try {
      await admission.takeOver(signal)
      // What the last list told is the work of who led before, and counted there.
      stops.push(...metrics.count(caches), ...noticeLookAlikes(caches, this.#options))
      await primeQueue(queue, caches.images, {
        plan: (image) => this.#planFirst(image),
        hasSlot: (uid) => admission.slotOf(uid) !== undefined,
        clock,
        signal,
      })
      await super.run(signal)
    } finally {
      for (const stop of stops) stop()
      metrics.readFrom(undefined)
    }
  }

  override forget(uid: string): void {
    super.forget(uid)
    const { admission, progress, claimRefusals } = this.#sources
    admission.forget(uid)
    progress.forget(uid)
    claimRefusals.drop(uid)
    this.#positionDue.delete(uid)
  }

  /** Enqueues each image when something that concerns it changes. Returns functions that stop this. */
  #listenForImages() {
    const { caches, namespace, onPolicyChange } = this.#options
    const { admission, references } = this.#sources
    const { queue } = this
    const ledger = `${namespace}/${LEDGER_NAME}`
    return [
      ...listenForImageTriggers(caches, { queue, admission, ledger, onGone: (uid) => this.forget(uid) }),
      onPolicyChange(({ isLimitAlone }) => {
        admission.wake()
        if (!isLimitAlone) this.#replanAll()
      }),
      ...references.map((source) => source.onChange((key) => queue.addAfter(key, REFERENCES_SETTLE_MS, 'urgent'))),
    ]
  }

  /** For an image that has failed, another policy may mean a write: thousands of those come one after the other. */
  #replanAll(): void {
    let failed = 0
    for (const [key, { status }] of this.#options.caches.images.entries()) {
      const hasFailed = status.nextRetryTime !== undefined || (status.budget?.downloads ?? 0) > 0
      this.queue.addAfter(key, hasFailed ? failed++ * RETIMED_EVERY_MS : 0)
    }
  }

  /** One that cannot be planned must not keep the others waiting; its own reconcile says what is wrong. */
  #planFirst(image: ImageView): void {
    try {
      this.#plan(image)
    } catch (error) {
      const facts = { key: keyOf(image.metadata), error: traceOf(error) }
      this.#options.log.error(facts, 'a bug in the operator: the image cannot be planned')
    }
  }

  #plan(image: ImageView): ImagePlan {
    const { admission } = this.#sources
    const world = observeImage(image, this.#sources)
    const plan = planImage(world, this.#options.clock.now())
    // What may rest on a cache that is behind has to be looked at first.
    admission.want(image.metadata.uid ?? '', plan.onlyIf === undefined ? plan.start : undefined)
    if (!world.isSlotKnown) admission.wake()
    return plan
  }

  #onError(image: ImageView, error: unknown): void {
    // A conflict is over in a moment, and nobody may overtake for that.
    if (!isApiError(error, 'Conflict')) this.#sources.admission.setStuck(image.metadata.uid ?? '')
    if (isApiError(error, 'Rejected')) this.#options.events.record(image, refusalEvent(error))
  }
}
