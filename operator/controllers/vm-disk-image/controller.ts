import { FINALIZERS, quietReasons, REASON_HELP, VM_DISK_IMAGE_CONDITION_RULES } from '@open-terrain/constructs/operator'
import type { ImageView } from '../../images/image-view.ts'
import { sumReferences } from '../../images/references.ts'
import { isApiError } from '../../kube/api-error.ts'
import { keyOf, namespaceOf } from '../../kube/kube-object.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import { QueuePositions } from './admission/queue-positions.ts'
import { LEDGER_NAME } from './admission/slot-ledger.ts'
import { isSharedBy } from './adoption-reads.ts'
import { adoptionValue, IMAGE, siblingKey } from './caches.ts'
import { IMAGE_CHILDREN, type ImagePlan } from './decide/image-plan.ts'
import { planImage } from './decide/plan.ts'
import { needsLaterField } from './decide/sent-fields.ts'
import { factsBetween, refusalEvent } from './decide/status.ts'
import { imageThrottleOf } from './decide/status-throttle.ts'
import { type ImageControllerOptions, type ImageSources, imageSources } from './image-sources.ts'
import { imageStates } from './image-states.ts'
import { noticeLookAlikes } from './look-alikes.ts'
import { hasImageChild, observeImage } from './observe.ts'
import { primeQueue } from './prime-queue.ts'
import { listenForImageTriggers, listenForRules } from './triggers.ts'

/** If the writes of an image take longer, those behind it no longer wait for it. */
const STUCK_AFTER_MS = 5_000

/** Controls VMDiskImages while this process leads: one instance serves one term. */
export class ImageController extends ObjectController<ImageView, ImagePlan, void> {
  readonly #options: ImageControllerOptions
  readonly #sources: ImageSources
  readonly #positions: QueuePositions
  readonly #refusals: Refusals
  /** Counts all that refers to an image, by live reads. Throws ApiError. */
  readonly countReferences: ReferenceCount

  constructor(options: ImageControllerOptions) {
    const { caches, clock, log, metrics } = options
    const sources = imageSources(options, (key) => this.queue.add(key, 'urgent'))
    const { admission, adoptionReads, claimRefusals, clones, contents, fields, importerRemains } = sources
    const countReferences: ReferenceCount = async (image, signal) =>
      sumReferences(await Promise.all(sources.references.map((source) => source.live(image, signal))))
    const onDue = (key: string) => this.queue.add(key)
    const refusals = new Refusals()
    const positions = new QueuePositions({ admission, images: caches.images, clock, log, onDue })
    super(options, caches.reflectors, {
      type: IMAGE,
      finalizer: FINALIZERS.vmDiskImage,
      children: IMAGE_CHILDREN,
      store: caches.images,
      // An image begins to wait when it is first reconciled, in one queue for all namespaces. Once it has its ticket, it is urgent, and namespaces take turns.
      groupOf: () => '',
      urgentGroupOf: namespaceOf,
      prepare: () => admission.giveWay(),
      plan: (image) => this.#plan(image),
      reads: { hasOurs: hasImageChild, isCloned: clones.read, isShared: isSharedBy(options.client), countReferences },
      throttle: ({ metadata: { uid = '' }, status }, plan, sinceWriteMs) =>
        imageThrottleOf(status, plan.status, sinceWriteMs, positions.take(uid)),
      factsBetween: (image, status) => factsBetween(image.status, status),
      // A webhook may make its writes hang until the request times out.
      onBegin: ({ metadata: { uid = '' } }) => clock.setTimer(() => admission.setStuck(uid), STUCK_AFTER_MS),
      onRemoved: ({ status }, { kind }) => {
        if (kind === IMAGE.kind) metrics.removed(status)
      },
      onError: (image, error) => this.#onError(image, error),
      loops: [admission, adoptionReads, claimRefusals, contents, fields, importerRemains, positions],
      refusals,
      quietReasons: quietReasons(REASON_HELP),
      states: { reasons: REASON_HELP, conditions: VM_DISK_IMAGE_CONDITION_RULES, more: imageStates },
    })
    this.#options = options
    this.#sources = sources
    this.#positions = positions
    this.#refusals = refusals
    this.countReferences = countReferences
  }

  override async run(signal: AbortSignal): Promise<void> {
    const { caches, metrics, clock, log, namespace, onPolicyChange } = this.#options
    const { queue } = this
    const { admission, fields, importerRemains, references } = this.#sources
    const ledger = `${namespace}/${LEDGER_NAME}`
    const stops = [
      ...listenForImageTriggers(caches, { queue, admission, ledger, onGone: (uid) => this.forget(uid) }),
      ...listenForRules(caches, { queue, admission, references, onPolicyChange }),
      importerRemains.listen(),
      fields.listen(),
    ]
    metrics.readFrom({ admission, images: caches.images })
    try {
      await admission.takeOver(signal)
      // What the last list changed is the work of the previous leader, which counted it.
      stops.push(...metrics.count(caches), ...noticeLookAlikes(caches, this.#options))
      await primeQueue(queue, caches.images, {
        plan: (image) => this.#plan(image),
        hasSlot: (uid) => admission.slotOf(uid) !== undefined,
        clock,
        log,
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
    this.#positions.take(uid)
  }

  #plan(image: ImageView): ImagePlan {
    const { admission, adoptionReads, contents, fields } = this.#sources
    const writeRefusal = this.#refusals.of(image.metadata.uid ?? '')
    const world = { ...observeImage(image, this.#sources), writeRefusal }
    const plan = planImage(world, this.#options.clock.now())
    // What may rest on a stale cache needs a live read first.
    admission.want(image.metadata.uid ?? '', plan.onlyIf === undefined ? plan.start : undefined)
    if (!world.isSlotKnown) admission.wake()
    if (world.lookup.droppedFields === undefined && world.spec.ok && needsLaterField(world.spec.target)) fields.read()
    for (const { kind, name } of plan.reads ?? []) contents.read(kind, siblingKey(image, name))
    const { adopts: adoptable } = plan
    const version = world.adoptable?.version ?? ''
    adoptionReads.want(keyOf(image.metadata), adoptable && { value: adoptionValue(image), adoptable, version })
    return plan
  }

  #onError(image: ImageView, error: unknown): void {
    // A conflict resolves quickly, so no other image may overtake because of it.
    if (!isApiError(error, 'Conflict')) this.#sources.admission.setStuck(image.metadata.uid ?? '')
    if (isApiError(error, 'Rejected')) this.#options.events.record(image, refusalEvent(error))
  }
}
