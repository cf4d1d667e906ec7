import { FINALIZER, type Policy } from '@open-terrain/constructs'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { compareResourceVersions, type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import { applyChanges, type Changes } from '../../runtime/apply.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Controller, type Wake } from '../../runtime/controller.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RuntimeMetrics } from '../../runtime/metrics.ts'
import { redactUrls } from '../../runtime/redact.ts'
import type { Change } from '../../runtime/store.ts'
import { WorkQueue } from '../../runtime/work-queue.ts'
import { Admission } from './admission.ts'
import { BY_CLONE_SOURCE, type Caches, IMAGE } from './caches.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { ImagePlan, Removal } from './image-plan.ts'
import { observeImage, type Sources } from './observe.ts'
import { planImage } from './plan.ts'
import { refreshPositions } from './positions.ts'
import { ProgressWatch } from './progress-watch.ts'
import { cloneSourceKey, isBeingCloned, type ReferenceSource, sumReferences } from './references.ts'
import { LEDGER_NAME, SlotLedger } from './slot-ledger.ts'
import { isWorthWriting } from './status.ts'
import { listenForTriggers } from './triggers.ts'
import { type ImageView, viewDataSource, viewDataVolume, viewImage, viewSnapshot } from './views.ts'
import type { World } from './world.ts'

const WORKERS = 8
/** A DELETE that was accepted shows in the cache soon after; so long it is not repeated. */
const DELETED_SEEN_MS = 30_000
/** Planning thousands of images at the start must not keep a Lease from being renewed. */
const PRIMED_AT_ONCE = 200

export interface ImageControllerOptions {
  readonly client: KubeClient
  readonly caches: Caches
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
  readonly references: readonly ReferenceSource[]
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
  readonly #statusWrittenAt = new Map<string, number>()
  readonly #deletedAt = new Map<string, number>()
  /** Images whose queue position is to be written now, though nothing else changed. */
  readonly #positionDue = new Set<string>()
  readonly #sources: Sources

  constructor(options: ImageControllerOptions) {
    const { client, caches, clock, random, log, metrics, namespace, identity } = options
    this.#options = options
    this.#queue = new WorkQueue(clock)
    this.#progress = new ProgressWatch(clock)
    this.#admission = new Admission({
      client,
      clock,
      random,
      log,
      metrics,
      ledger: new SlotLedger({ client, clock, namespace }),
      me: identity,
      images: caches.images,
      dataVolumes: caches.dataVolumes,
      limit: options.limit,
      onChange: (key) => this.#queue.add(key, 'urgent'),
    })
    this.#sources = {
      caches,
      policy: options.policy,
      admission: this.#admission,
      progress: this.#progress,
      references: options.references,
      sinceStatusWriteMs: (uid) => {
        const at = this.#statusWrittenAt.get(uid)
        return at === undefined ? undefined : clock.monotonic() - at
      },
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
    const stopListening = this.#listen()
    try {
      await this.#admission.takeOver(signal)
      await this.#prime(signal)
      await Promise.all([
        controller.run(signal),
        this.#admission.run(signal),
        refreshPositions({
          admission: this.#admission,
          images: this.#options.caches.images,
          clock,
          signal,
          onDue: (key, uid) => this.#refreshPosition(key, uid),
        }),
      ])
    } finally {
      stopListening()
      for (const image of this.#options.caches.images.values())
        this.#options.metrics.moved(image.status.phase, undefined)
    }
  }

  #listen(): () => void {
    const { caches, onPolicyChange, namespace } = this.#options
    const stopTriggers = listenForTriggers(caches, {
      image: (change) => this.#onImage(change),
      enqueue: (image, lane) => this.#queue.add(keyOf(image.metadata), lane),
      downloads: () => this.#admission.wake(),
      configMap: (key) => {
        if (key === `${namespace}/${LEDGER_NAME}`) this.#admission.checkLedger(caches.configMaps.get(key))
      },
    })
    const stopPolicy = onPolicyChange(({ isLimitAlone }) => {
      this.#admission.wake()
      if (!isLimitAlone) for (const key of caches.images.keys()) this.#queue.add(key)
    })
    return () => {
      stopTriggers()
      stopPolicy()
    }
  }

  #onImage({ key, before, after }: Change<ImageView>): void {
    this.#options.metrics.moved(before?.status.phase, after?.status.phase)
    if (after === undefined) this.#forget(before)
    // What is new waits behind what is under way: a thousand arrivals must not delay a teardown.
    this.#queue.add(key, after?.status.ticket === undefined ? 'normal' : 'urgent')
  }

  #forget(image: ImageView | undefined): void {
    const uid = image?.metadata.uid ?? ''
    this.#admission.forget(uid)
    this.#progress.forget(uid)
    this.#statusWrittenAt.delete(uid)
    this.#positionDue.delete(uid)
  }

  /**
   * Before anybody is admitted, the queue must be complete, or the first ones to be looked at would be the first to
   * start. In ticket order, so that the images at the head are also enqueued first.
   */
  async #prime(signal: AbortSignal): Promise<void> {
    const { caches, clock, metrics } = this.#options
    const images = [...caches.images.values()].toSorted((a, b) => compareResourceVersions(ticketOf(a), ticketOf(b)))
    for (const [at, image] of images.entries()) {
      if (signal.aborted) return
      metrics.moved(undefined, image.status.phase)
      const plan = planImage(observeImage(image, this.#sources), clock.now())
      this.#admission.want(image.metadata.uid ?? '', plan.start)
      this.#queue.add(keyOf(image.metadata), image.status.phase === 'Syncing' ? 'urgent' : 'normal')
      if (at % PRIMED_AT_ONCE === PRIMED_AT_ONCE - 1) await new Promise<void>((resolve) => clock.setTimer(resolve, 0))
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { caches, clock } = this.#options
    const image = caches.images.get(key)
    if (image === undefined) return undefined
    const uid = image.metadata.uid ?? ''
    const world = observeImage(image, this.#sources)
    const plan = planImage(world, clock.now())
    this.#admission.want(uid, plan.start)
    await this.#apply(world, plan, signal)
    if (plan.reclaim) await this.#reclaim(image, signal)
    return plan.wake
  }

  async #apply(world: World, plan: ImagePlan, signal: AbortSignal): Promise<void> {
    const { client, clock, events } = this.#options
    const { image } = world
    const uid = image.metadata.uid ?? ''
    const isWriting = isWorthWriting(image.status, plan.status, world, this.#positionDue.delete(uid))
    const changes: Changes = {
      ...(isWriting && { status: plan.status }),
      ...finalizerChange(image, plan),
      children: plan.apply.map((wanted) => ({ ...this.#existing(wanted), wanted })),
      removals: await this.#removals(image, plan.remove),
    }
    try {
      await applyChanges(image, changes, {
        client,
        type: IMAGE,
        signal,
        onWritten: (type, object) => this.#onWritten(type, object),
      })
    } catch (error) {
      if (!this.#isGone(image, error)) throw error
    }
    for (const removal of changes.removals) this.#deletedAt.set(removal.uid, clock.monotonic())
    if (isWriting) this.#noteStatus(image, plan)
    if (isWriting || changes.removals.length > 0) for (const note of plan.events) events.record(image, note)
  }

  #isGone(image: ImageView, error: unknown): boolean {
    const current = this.#options.caches.images.get(keyOf(image.metadata))
    return isApiError(error, 'NotFound') && current?.metadata.uid !== image.metadata.uid
  }

  #noteStatus({ metadata, status }: ImageView, plan: ImagePlan): void {
    this.#statusWrittenAt.set(metadata.uid ?? '', this.#options.clock.monotonic())
    const known = status.attempts?.at(-1)
    const ended = plan.status.attempts?.at(-1)
    if (ended !== undefined && ended.dataVolumeUID !== known?.dataVolumeUID) this.#options.metrics.ended(ended)
  }

  #existing({ kind, metadata }: KubeObject): { type: ResourceType; existing?: KubeObject } {
    const { caches } = this.#options
    const type = TYPES[kind as Removal['kind']]
    const store = kind === 'DataSource' ? caches.dataSources : caches.snapshots
    const existing = store.get(keyOf(metadata))
    return existing === undefined ? { type } : { type, existing }
  }

  #wasJustDeleted(uid: string): boolean {
    const now = this.#options.clock.monotonic()
    const deletedAt = this.#deletedAt.get(uid)
    // In the order in which they were added: the first one that is young ends it.
    for (const [other, at] of this.#deletedAt) {
      if (now - at < DELETED_SEEN_MS) break
      this.#deletedAt.delete(other)
    }
    return deletedAt !== undefined && now - deletedAt < DELETED_SEEN_MS
  }

  async #removals(image: ImageView, removals: readonly Removal[]): Promise<Changes['removals']> {
    const namespace = image.metadata.namespace ?? ''
    const due: Changes['removals'][number][] = []
    for (const { kind, name, uid, unlessCloned } of removals) {
      if (this.#wasJustDeleted(uid)) continue
      if (unlessCloned !== 'never' && (await this.#isCloned({ kind, namespace, name }, unlessCloned))) continue
      // In the foreground, so that a DataVolume is gone only when its importer is.
      const propagationPolicy = kind === 'DataVolume' ? 'Foreground' : 'Background'
      due.push({ type: TYPES[kind], key: { namespace, name }, uid, propagationPolicy })
    }
    return due
  }

  /** The cache answers first, since a yes is enough; only what cannot be undone asks for a live no. */
  async #isCloned(child: { kind: string; namespace: string; name: string }, look: 'cached' | 'live'): Promise<boolean> {
    const { caches, client } = this.#options
    if (caches.dataVolumes.find(BY_CLONE_SOURCE, cloneSourceKey(child)).length > 0) return true
    return look === 'live' && (await isBeingCloned(client, child))
  }

  #onWritten(type: ResourceType, object: KubeObject): void {
    const { caches } = this.#options
    if (type === IMAGE) caches.images.observeWrite(viewImage(object))
    else if (type === VOLUME_SNAPSHOT) caches.snapshots.observeWrite(viewSnapshot(object))
    else if (type === DATA_SOURCE) caches.dataSources.observeWrite(viewDataSource(object))
    else if (type === DATA_VOLUME) caches.dataVolumes.observeWrite(viewDataVolume(object))
  }

  /** Deletes an image that nobody needs, if a live count says the same and nothing about it has changed. */
  async #reclaim(image: ImageView, signal: AbortSignal): Promise<void> {
    const { client, references, events, log } = this.#options
    const { name, namespace = '', uid, resourceVersion } = image.metadata
    const counts = await Promise.all(references.map((source) => source.live({ namespace, name })))
    if (sumReferences(counts).count > 0) return
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    }
    await client.delete(IMAGE, { namespace, name }, { ...preconditions, propagationPolicy: 'Background', signal })
    log.info({ key: keyOf(image.metadata) }, 'deleted an image that nothing refers to')
    events.record(image, {
      type: 'Normal',
      reason: 'Unreferenced',
      message: 'nothing has referred to the image for its unreferencedTTL: it is deleted',
    })
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

const TYPES: Readonly<Record<Removal['kind'], ResourceType>> = {
  DataVolume: DATA_VOLUME,
  VolumeSnapshot: VOLUME_SNAPSHOT,
  DataSource: DATA_SOURCE,
}

function finalizerChange(
  { metadata }: ImageView,
  { finalizer }: ImagePlan,
): Pick<Changes, 'addFinalizer' | 'releaseFinalizer'> {
  if (finalizer === 'add') return { addFinalizer: FINALIZER }
  return finalizer === 'release' && metadata.finalizers?.includes(FINALIZER) ? { releaseFinalizer: FINALIZER } : {}
}

function ticketOf({ status, metadata }: ImageView): string {
  return status.ticket ?? metadata.resourceVersion ?? '0'
}
