import { FINALIZER, type Policy } from '@open-terrain/constructs'
import { countLive, type ReferenceSource, type References } from '../../images/references.ts'
import { isApiError } from '../../kube/api-error.ts'
import { keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import { ObjectController, type Pace, type Services } from '../../runtime/object-controller.ts'
import { redactUrls, traceOf } from '../../runtime/redact.ts'
import type { Wake } from '../../runtime/wake.ts'
import { Admission } from './admission/admission.ts'
import { refreshPositions } from './admission/positions.ts'
import { SlotLedger } from './admission/slot-ledger.ts'
import { type Caches, IMAGE } from './caches.ts'
import { ClaimRefusals } from './claim-refusals.ts'
import { CloneReferences } from './clone-references.ts'
import { Clones } from './clones.ts'
import type { ImagePlan, ImageRemoval } from './decide/image-plan.ts'
import { planImage } from './decide/plan.ts'
import { factsBetween, isBehind, isWorthWriting, NAMES_EVERY_MS } from './decide/status.ts'
import { feedQueue, primeQueue } from './feed.ts'
import { countDownloads, factsOf } from './image-facts.ts'
import type { ImageMetrics } from './image-metrics.ts'
import { noticeLookAlikes } from './look-alike-watch.ts'
import { hasOurs, observeImage, type Sources } from './observe.ts'
import { ProgressWatch } from './progress-watch.ts'
import type { ImageView } from './views.ts'

const NAMES_DUE: Wake = { afterMs: NAMES_EVERY_MS, because: 'who refers to the image is written by then' }
/** An image whose writes take longer is not waited for by those behind it. */
const STUCK_AFTER_MS = 5_000

export interface ImageControllerOptions extends Services {
  readonly caches: Caches
  /** Whether somebody else may have led since the caches were filled: what that one wrote last, their watches may not have told yet. */
  readonly hadPredecessor: boolean
  readonly metrics: ImageMetrics
  readonly namespace: string
  readonly identity: string
  readonly policy: () => Policy
  readonly limit: (ledgerLimit: number | undefined) => number
  /** Calls back at each change of the policy; returns how to stop that. */
  readonly onPolicyChange: (listener: (change: { readonly isLimitAlone: boolean }) => void) => () => void
  /** Kinds that name images. */
  readonly references: readonly ReferenceSource[]
}

/** VMDiskImages, for as long as this process leads: one instance serves one term. */
export class ImageController {
  readonly #options: ImageControllerOptions
  readonly #controller: ObjectController<ImageView, ImageRemoval, ImagePlan, void>
  readonly #admission: Admission
  readonly #progress: ProgressWatch
  readonly #claimRefusals: ClaimRefusals
  /** Images whose queue position is to be written now, though nothing else changed. */
  readonly #positionDue = new Set<string>()
  readonly #sources: Sources

  constructor(options: ImageControllerOptions) {
    const { client, caches, clock, log, metrics, namespace, identity } = options
    this.#options = options
    this.#progress = new ProgressWatch(clock)
    const lookAgain = (key: string) => this.#controller.queue.add(key, 'urgent')
    this.#claimRefusals = new ClaimRefusals({ ...options, onNews: lookAgain })
    const clones = new Clones(client, caches)
    const references = [...options.references, new CloneReferences(caches, clones)]
    this.#admission = new Admission({
      ...options,
      images: caches.images,
      dataVolumes: caches.dataVolumes,
      volumeClaims: caches.claims,
      pods: caches.pods,
      ledger: new SlotLedger({ client, clock, log, namespace }),
      me: identity,
      patience: options.policy,
      refresh: async (signal) => {
        if (options.hadPredecessor) await caches.reflectors.refresh([IMAGE, DATA_VOLUME], signal)
      },
      onChange: lookAgain,
    })
    this.#sources = {
      caches,
      policy: options.policy,
      admission: this.#admission,
      progress: this.#progress,
      claimRefusals: this.#claimRefusals,
      references,
    }
    this.#controller = new ObjectController(options, caches.reflectors, {
      type: IMAGE,
      finalizer: FINALIZER,
      children: CHILDREN,
      store: caches.images,
      // Their queue is one for all namespaces, and a ticket is taken when the image is looked at.
      groupOf: () => '',
      prepare: () => this.#admission.giveWay(),
      plan: (image) => this.#plan(image),
      looks: { hasOurs, isCloned: clones.read, countReferences: this.countReferences },
      pace: (image, plan, sinceWriteMs) => this.#pace(image, plan, sinceWriteMs),
      factsBetween: (image, status) => factsBetween(image.status, status),
      // A webhook may let its writes hang, for as long as a request may take.
      onBegin: ({ metadata: { uid = '' } }) => clock.setTimer(() => this.#admission.setStuck(uid), STUCK_AFTER_MS),
      onRemoved: ({ status }, { kind }) => {
        if (kind === IMAGE.kind) metrics.removed(status)
      },
      onError: (image, error) => this.#onError(image, error),
    })
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, metrics, clock, log } = this.#options
    const { images } = caches
    const { queue } = this.#controller
    const { admission, references } = this.#sources
    const stops = [feedQueue(queue, { ...this.#options, admission, references, onGone: (uid) => this.#forget(uid) })]
    metrics.readFrom(() => factsOf(admission, caches))
    try {
      await admission.takeOver(signal)
      // What the last list told is the work of who led before, and counted there.
      stops.push(countDownloads(metrics, caches), noticeLookAlikes(this.#options))
      await primeQueue(queue, images, { plan: (image) => this.#planFirst(image), clock, signal })
      const onDue = (key: string, uid: string) => {
        this.#positionDue.add(uid)
        queue.add(key)
      }
      await Promise.all([
        this.#controller.run(signal),
        admission.run(signal),
        this.#claimRefusals.run(signal),
        refreshPositions({ admission, images, clock, log, signal, onDue }),
      ])
    } finally {
      for (const stop of stops) stop()
      metrics.readFrom(undefined)
    }
  }

  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences = (image: ObjectKey, signal: AbortSignal): Promise<References> =>
    countLive(this.#sources.references, image, signal)

  #forget(uid: string): void {
    this.#admission.forget(uid)
    this.#progress.forget(uid)
    this.#claimRefusals.drop(uid)
    this.#controller.forget(uid)
    this.#positionDue.delete(uid)
  }

  /** One that cannot be planned must not keep the others waiting; its own reconcile says what is wrong. */
  #planFirst(image: ImageView): void {
    try {
      this.#plan(image)
    } catch (error) {
      this.#options.log.error({ key: keyOf(image.metadata), error: traceOf(error) }, BUG)
    }
  }

  #plan(image: ImageView): ImagePlan {
    const plan = planImage(observeImage(image, this.#sources), this.#options.clock.now())
    // What may rest on a cache that is behind has to be looked at first.
    this.#admission.want(image.metadata.uid ?? '', plan.onlyIf === undefined ? plan.start : undefined)
    return plan
  }

  #pace({ metadata: { uid = '' }, status }: ImageView, plan: ImagePlan, sinceWriteMs: number | undefined): Pace {
    const isPositionDue = this.#positionDue.delete(uid)
    if (isWorthWriting(status, plan.status, sinceWriteMs, isPositionDue)) return { isStatusDue: true }
    return { isStatusDue: false, wake: isBehind(status, plan.status) ? NAMES_DUE : undefined }
  }

  #onError(image: ImageView, error: unknown): void {
    // A conflict is over in a moment, and nobody may overtake for that.
    if (!isApiError(error, 'Conflict')) this.#admission.setStuck(image.metadata.uid ?? '')
    if (!isApiError(error, 'Rejected')) return
    const message = `the API server refuses what this image needs: ${redactUrls(error.message)}`
    this.#options.events.record(image, { type: 'Warning', reason: 'Refused', message })
  }
}

const BUG = 'a bug in the operator: the image cannot be planned'

const CHILDREN = {
  // Gone only when its importer is.
  DataVolume: { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
  VolumeSnapshot: { type: VOLUME_SNAPSHOT, propagationPolicy: 'Background' },
  DataSource: { type: DATA_SOURCE, propagationPolicy: 'Background' },
  VMDiskImage: { type: IMAGE, propagationPolicy: 'Background' },
} as const
