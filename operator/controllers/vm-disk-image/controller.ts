import { FINALIZER, type Policy } from '@open-terrain/constructs'
import { ownerAmong } from '../../cluster/ownership.ts'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { compareResourceVersions, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Controller } from '../../runtime/controller.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RuntimeMetrics } from '../../runtime/metrics.ts'
import { PlanWriter } from '../../runtime/plan-writer.ts'
import { redactUrls, traceOf } from '../../runtime/redact.ts'
import type { Change } from '../../runtime/store.ts'
import { sooner, type Wake } from '../../runtime/wake.ts'
import { WorkQueue } from '../../runtime/work-queue.ts'
import { Admission } from './admission.ts'
import { type Caches, IMAGE } from './caches.ts'
import { ClaimRefusals } from './claim-refusals.ts'
import { CloneReferences } from './clone-references.ts'
import { Clones } from './clones.ts'
import type { ImageFacts, ImageMetrics } from './image-metrics.ts'
import type { ImagePlan, ImageRemoval } from './image-plan.ts'
import { noticeLookAlikes } from './look-alike-watch.ts'
import { lookForLost } from './losses.ts'
import { observeImage, type Sources } from './observe.ts'
import { planImage } from './plan.ts'
import { refreshPositions } from './positions.ts'
import { ProgressWatch } from './progress-watch.ts'
import { type ReferenceSource, sumReferences } from './references.ts'
import { LEDGER_NAME, SlotLedger } from './slot-ledger.ts'
import { factsBetween, isBehind, isWorthWriting, NAMES_EVERY_MS } from './status.ts'
import { listenForTriggers } from './triggers.ts'
import type { ImageView } from './views.ts'
import type { References, World } from './world.ts'

const WORKERS = 8
/** Watches bring it soon. */
const NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should have by then what a live look has found' }
const USERS_NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should know by then who uses the image' }
const NAMES_DUE: Wake = { afterMs: NAMES_EVERY_MS, because: 'who refers to the image is written by then' }
/** Hundreds of references may come or go at once: they are counted together. */
const REFERENCES_SETTLE_MS = 100
/** The time of the next attempt, or the end of all attempts, of those that have failed already is written again so often. */
const RETIMED_EVERY_MS = 20
/** An image whose writes take longer is not waited for by those behind it. */
const STUCK_AFTER_MS = 5_000
const BUG = 'a bug in the operator: the image cannot be planned'
/** Planning thousands of images at the start must not keep a Lease from being renewed. */
const PRIMED_AT_ONCE = 200

export interface ImageControllerOptions {
  readonly client: KubeClient
  readonly caches: Caches
  /** Whether somebody else may have led since the caches were filled: what that one wrote last, their watches may not have told yet. */
  readonly hadPredecessor: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly events: EventRecorder
  readonly runtimeMetrics: RuntimeMetrics
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

interface Planned {
  readonly world: World
  readonly plan: ImagePlan
}

/**
 * VMDiskImages, for as long as this process leads: one instance serves one term. Watch events become keys; a key becomes
 * observe, plan, apply.
 */
export class ImageController {
  readonly #options: ImageControllerOptions
  readonly #queue: WorkQueue
  readonly #admission: Admission
  readonly #progress: ProgressWatch
  readonly #claimRefusals: ClaimRefusals
  readonly #writer: PlanWriter<ImageView, ImageRemoval>
  /** Images whose queue position is to be written now, though nothing else changed. */
  readonly #positionDue = new Set<string>()
  readonly #sources: Sources
  readonly #clones: Clones
  readonly #references: readonly ReferenceSource[]

  constructor(options: ImageControllerOptions) {
    const { client, caches, clock, random, log, metrics, namespace, identity } = options
    this.#options = options
    this.#queue = new WorkQueue(clock)
    this.#progress = new ProgressWatch(clock)
    this.#claimRefusals = new ClaimRefusals({ ...options, onNews: (key) => this.#queue.add(key, 'urgent') })
    this.#clones = new Clones(client, caches)
    this.#references = [...options.references, new CloneReferences(caches, this.#clones)]
    this.#admission = new Admission({
      client,
      clock,
      random,
      log,
      metrics,
      ledger: new SlotLedger({ client, clock, log, namespace }),
      me: identity,
      images: caches.images,
      dataVolumes: caches.dataVolumes,
      volumeClaims: caches.claims,
      pods: caches.pods,
      limit: options.limit,
      patience: options.policy,
      refresh: async (signal) => {
        if (options.hadPredecessor) await caches.reflectors.refresh([IMAGE, DATA_VOLUME], signal)
      },
      onChange: (key) => this.#queue.add(key, 'urgent'),
    })
    this.#writer = new PlanWriter({
      client,
      caches: caches.reflectors,
      clock,
      log,
      events: options.events,
      type: IMAGE,
      finalizer: FINALIZER,
      children: CHILDREN,
      isHeldBack: (removal, image, signal) => this.#isHeldBack(removal, image, signal),
      factsBetween: (image, status) => factsBetween(image.status, status),
    })
    this.#sources = {
      caches,
      policy: options.policy,
      admission: this.#admission,
      progress: this.#progress,
      claimRefusals: this.#claimRefusals,
      references: this.#references,
      sinceStatusWriteMs: (uid) => this.#writer.sinceStatusWriteMs(uid),
    }
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log, runtimeMetrics } = this.#options
    const controller = new Controller({
      name: 'vmdiskimage',
      queue: this.#queue,
      reconcile: (key, stop) => this.#reconcile(key, stop),
      onError: (key, error) => this.#onError(key, error),
      workers: WORKERS,
      clock,
      random,
      log,
      metrics: runtimeMetrics.forController('vmdiskimage'),
    })
    const stops = [this.#listen()]
    this.#options.metrics.readFrom(() => this.#facts())
    try {
      await this.#admission.takeOver(signal)
      // What the last list told is the work of who led before, and counted there.
      stops.push(this.#count())
      await this.#prime(signal)
      await Promise.all([
        controller.run(signal),
        this.#admission.run(signal),
        this.#claimRefusals.run(signal),
        refreshPositions({
          admission: this.#admission,
          images: this.#options.caches.images,
          clock,
          log,
          signal,
          onDue: (key, uid) => this.#refreshPosition(key, uid),
        }),
      ])
    } finally {
      for (const stop of stops) stop()
      this.#options.metrics.readFrom(undefined)
    }
  }

  #facts(): ImageFacts {
    const { state, queue } = this.#admission
    const { images } = this.#options.caches
    return {
      slotsInUse: state?.holders.length ?? 0,
      limit: state?.limit ?? 0,
      queued: queue.size,
      // Thousands: only for the gauges that look at them.
      get statuses() {
        return [...images.values()].map(({ status }) => status)
      },
    }
  }

  #listen(): () => void {
    const { caches, onPolicyChange, namespace } = this.#options
    const stopTriggers = listenForTriggers(caches, {
      image: (change) => this.#onImage(change),
      enqueue: (image, lane) => this.#queue.add(keyOf(image.metadata), lane),
      downloads: () => this.#admission.downloadsChanged(),
      configMap: (key) => {
        if (key === `${namespace}/${LEDGER_NAME}`) this.#admission.checkLedger(caches.configMaps.get(key))
      },
    })
    const stopPolicy = onPolicyChange(({ isLimitAlone }) => {
      this.#admission.wake()
      if (!isLimitAlone) this.#replanAll()
    })
    const stopReferences = this.#references.map((source) =>
      source.onChange((key) => this.#queue.addAfter(key, REFERENCES_SETTLE_MS, 'urgent')),
    )
    return () => {
      stopTriggers()
      stopPolicy()
      for (const stop of stopReferences) stop()
    }
  }

  /** The policy has changed. For an image that has failed that may mean a write: thousands of those come one after the other. */
  #replanAll(): void {
    let failed = 0
    for (const [key, { status }] of this.#options.caches.images.entries()) {
      const hasFailed = status.nextRetryTime !== undefined || (status.budget?.downloads ?? 0) > 0
      this.#queue.addAfter(key, hasFailed ? failed++ * RETIMED_EVERY_MS : 0)
    }
  }

  /** Downloads that begin, and attempts that end: only a leader brings about either. */
  #count(): () => void {
    const { caches, metrics } = this.#options
    const stops = [
      caches.dataVolumes.onChange(({ before, after }) => {
        const isNew = before === undefined && after !== undefined
        if (isNew && ownerAmong(after, caches.images) !== undefined) metrics.started()
      }),
      caches.images.onChange(({ before, after }) => {
        metrics.waited(before, after)
        if (before !== undefined) metrics.attempted(before.status.attempts, after?.status.attempts)
      }),
    ]
    stops.push(noticeLookAlikes(this.#options))
    return () => {
      for (const stop of stops) stop()
    }
  }

  #onImage({ key, before, after }: Change<ImageView>): void {
    if (after === undefined) this.#forget(before)
    // What is new waits behind what is under way: a thousand arrivals must not delay a teardown.
    this.#queue.add(key, after?.status.ticket === undefined ? 'normal' : 'urgent')
  }

  #forget(image: ImageView | undefined): void {
    const uid = image?.metadata.uid ?? ''
    this.#admission.forget(uid)
    this.#progress.forget(uid)
    this.#claimRefusals.drop(uid)
    this.#writer.forget(uid)
    this.#positionDue.delete(uid)
  }

  /**
   * Before anybody is admitted, the queue must be complete, or the first ones to be looked at would be the first to
   * start. In ticket order, so that the images at the head are also enqueued first.
   */
  async #prime(signal: AbortSignal): Promise<void> {
    const { caches, clock } = this.#options
    const images = [...caches.images.values()].toSorted((a, b) => compareResourceVersions(ticketOf(a), ticketOf(b)))
    for (const [at, image] of images.entries()) {
      if (signal.aborted) return
      this.#primeOne(image)
      this.#queue.add(keyOf(image.metadata), image.status.phase === 'Syncing' ? 'urgent' : 'normal')
      if (at % PRIMED_AT_ONCE === PRIMED_AT_ONCE - 1) await new Promise<void>((resolve) => clock.setTimer(resolve, 0))
    }
  }

  /** One image that cannot be planned must not keep the others waiting; its own reconcile says what is wrong. */
  #primeOne(image: ImageView): void {
    try {
      this.#plan(image)
    } catch (error) {
      this.#options.log.error({ key: keyOf(image.metadata), error: traceOf(error) }, BUG)
    }
  }

  #plan(image: ImageView): Planned {
    const world = observeImage(image, this.#sources)
    const plan = planImage(world, this.#options.clock.now())
    // What may rest on a cache that is behind has to be looked at first.
    this.#admission.want(image.metadata.uid ?? '', plan.losses === undefined ? plan.start : undefined)
    return { world, plan }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Wake | undefined> {
    await this.#admission.giveWay()
    const image = this.#options.caches.images.get(key)
    if (image === undefined) return undefined
    let planned: Planned
    try {
      planned = this.#plan(image)
    } catch (error) {
      await this.#writer.tellBug(image, error, signal)
      throw error
    }
    // A webhook may let its writes hang, for as long as a request may take.
    const cancel = this.#options.clock.setTimer(
      () => this.#admission.setStuck(image.metadata.uid ?? ''),
      STUCK_AFTER_MS,
    )
    try {
      return await this.#carryOut(image, planned, signal)
    } finally {
      cancel()
    }
  }

  async #carryOut(image: ImageView, { world, plan }: Planned, signal: AbortSignal): Promise<Wake | undefined> {
    if (await this.#findLost(image, plan, signal)) return NOT_SEEN
    if (plan.unlessUsed && (await this.#countLive(image, signal)).users.length > 0) return USERS_NOT_SEEN
    if (plan.unlessReferenced && (await this.#countLive(image, signal)).count > 0) return USERS_NOT_SEEN
    const isPositionDue = this.#positionDue.delete(image.metadata.uid ?? '')
    const isStatusDue = isWorthWriting(image.status, plan.status, world, isPositionDue)
    await this.#writer.write(image, plan, isStatusDue, signal)
    // What was just written is looked at once more.
    if (plan.reclaim && !isStatusDue) await this.#reclaim(image, signal)
    return !isStatusDue && isBehind(image.status, plan.status) ? sooner(plan.wake, NAMES_DUE) : plan.wake
  }

  /** Whether anything that the plan takes to be gone is there after all; then the caches know it from now on. */
  async #findLost(image: ImageView, { losses = [] }: ImagePlan, signal: AbortSignal): Promise<boolean> {
    const { client, caches } = this.#options
    const found = await Promise.all(losses.map((loss) => lookForLost(client, image, loss, signal)))
    for (const one of found) if (one !== undefined) caches.reflectors.observeWrite(one.type, one.object)
    return found.some((one) => one !== undefined)
  }

  async #isHeldBack(
    { kind, name, unlessCloned }: ImageRemoval,
    image: ImageView,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { namespace = '' } = image.metadata
    return (
      unlessCloned !== 'never' && (await this.#clones.reads({ kind, namespace, name }, image, unlessCloned, signal))
    )
  }

  /** Deletes an image that nobody needs, if a live count says the same and nothing about it has changed. */
  async #reclaim(image: ImageView, signal: AbortSignal): Promise<void> {
    const { client, events, log, metrics } = this.#options
    const { name, namespace = '', uid, resourceVersion } = image.metadata
    const { count } = await this.#countLive(image, signal)
    if (count > 0 || (await this.#clones.readAny(image, signal))) return
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    }
    await client.delete(IMAGE, { namespace, name }, { ...preconditions, propagationPolicy: 'Background', signal })
    metrics.removed(image.status)
    log.info({ key: keyOf(image.metadata) }, 'deleted an image that nothing refers to')
    events.record(image, {
      type: 'Normal',
      reason: 'Unreferenced',
      message: 'nothing has referred to the image for its unreferencedTTL: it is deleted',
    })
  }

  async #countLive({ metadata: { name, namespace = '' } }: ImageView, signal: AbortSignal): Promise<References> {
    return await this.countReferences({ namespace, name }, signal)
  }

  /** All that refers to an image, by a live look. Throws ApiError. */
  async countReferences(image: ObjectKey, signal: AbortSignal): Promise<References> {
    return sumReferences(await Promise.all(this.#references.map((source) => source.live(image, signal))))
  }

  #onError(key: string, error: unknown): void {
    const image = this.#options.caches.images.get(key)
    if (image === undefined) return
    // A conflict is over in a moment, and nobody may overtake for that.
    if (!isApiError(error, 'Conflict')) this.#admission.setStuck(image.metadata.uid ?? '')
    if (!isApiError(error, 'Rejected')) return
    const message = `the API server refuses what this image needs: ${redactUrls(error.message)}`
    this.#options.events.record(image, { type: 'Warning', reason: 'Refused', message })
  }

  #refreshPosition(key: string, uid: string): void {
    this.#positionDue.add(uid)
    this.#queue.add(key)
  }
}

const CHILDREN = {
  // Gone only when its importer is.
  DataVolume: { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
  VolumeSnapshot: { type: VOLUME_SNAPSHOT, propagationPolicy: 'Background' },
  DataSource: { type: DATA_SOURCE, propagationPolicy: 'Background' },
} as const

function ticketOf({ status, metadata }: ImageView): string {
  return status.ticket ?? metadata.resourceVersion ?? '0'
}
