import { FINALIZER, LABELS, MANAGER, type Policy } from '@open-terrain/constructs'
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
import type { Change } from '../../runtime/store.ts'
import { type Lane, WorkQueue } from '../../runtime/work-queue.ts'
import { Admission } from './admission.ts'
import { type Caches, IMAGE } from './caches.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { ImagePlan, Removal } from './image-plan.ts'
import { observeImage, type Sources } from './observe.ts'
import { planImage } from './plan.ts'
import { refreshPositions } from './positions.ts'
import { ProgressWatch } from './progress-watch.ts'
import { isBeingCloned, type ReferenceSource, sumReferences } from './references.ts'
import { SlotLedger } from './slot-ledger.ts'
import { isWorthWriting } from './status.ts'
import { controllerOf, type ImageView, viewDataSource, viewDataVolume, viewImage, viewSnapshot } from './views.ts'
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
  readonly onPolicyChange: (listener: () => void) => () => void
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
      onError: (key) => this.#onError(key),
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
      for (const stop of stopListening) stop()
      for (const image of this.#options.caches.images.values())
        this.#options.metrics.moved(image.status.phase, undefined)
    }
  }

  /** From changes in the caches to keys of images. No decision is made here. */
  #listen(): (() => void)[] {
    const { caches, onPolicyChange } = this.#options
    const allWaiting = () => this.#enqueueAll(({ status }) => status.phase !== 'Succeeded')
    const inNamespaceOf = ({ key }: Change<KubeObject>) => {
      const namespace = key.split('/')[0] ?? ''
      for (const image of caches.images.find('namespace', namespace))
        if (image.status.phase !== 'Succeeded') this.#enqueue(image)
    }
    return [
      caches.images.onChange((change) => this.#onImage(change)),
      caches.dataVolumes.onChange((change) => {
        this.#onChild(change)
        this.#admission.wake()
      }),
      caches.snapshots.onChange((change) => this.#onChild(change)),
      caches.claims.onChange((change) => this.#onLabelled(change)),
      caches.pods.onChange((change) => {
        this.#onLabelled(change)
        this.#admission.wake()
      }),
      caches.dataSources.onChange(({ key }) => this.#enqueueKey(key)),
      caches.secrets.onChange(onlyExistence(inNamespaceOf)),
      caches.configMaps.onChange(onlyExistence(inNamespaceOf)),
      caches.namespaces.onChange(({ key }) => {
        for (const image of caches.images.find('namespace', key)) this.#enqueue(image)
      }),
      caches.storageClasses.onChange(allWaiting),
      caches.snapshotClasses.onChange(onlyExistence(allWaiting)),
      caches.definitions.onChange(onlyExistence(allWaiting)),
      ...caches.reflectors.map((reflector) => reflector.onInstalled(allWaiting)),
      onPolicyChange(() => {
        this.#admission.wake()
        this.#enqueueAll(() => true)
      }),
    ]
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

  #onChild({ before, after }: Change<KubeObject>): void {
    for (const child of [before, after]) {
      if (child === undefined) continue
      const owner = controllerOf(child)
      const { namespace, name, uid = '' } = child.metadata
      if (owner?.kind === IMAGE.kind)
        this.#enqueueKey(keyOf({ ...(namespace !== undefined && { namespace }), name: owner.name }))
      else this.#enqueueNamesakes(namespace, name)
      if (after === undefined) this.#deletedAt.delete(uid)
    }
  }

  /** Claims and pods belong to CDI; they carry the labels of our DataVolume. */
  #onLabelled({ before, after }: Change<KubeObject>): void {
    const child = after ?? before
    if (child === undefined) return
    const { namespace = '', name, labels = {} } = child.metadata
    const uid = labels[LABELS.imageUid]
    if (uid === undefined) this.#enqueueNamesakes(namespace, name)
    else this.#enqueueByUid(namespace, labels[LABELS.imageName] ?? '', uid)
  }

  /** @param labelled the image's name, unless it was too long for a label */
  #enqueueByUid(namespace: string, labelled: string, uid: string): void {
    const { images } = this.#options.caches
    const image = images.get(keyOf({ namespace, name: labelled }))
    const candidates = image?.metadata.uid === uid ? [image] : images.find('namespace', namespace)
    for (const one of candidates) if (one.metadata.uid === uid) this.#enqueue(one)
  }

  /** A stranger took, or gave back, a name: whoever waits for it is named like it up to the revision. */
  #enqueueNamesakes(namespace: string | undefined, childName: string): void {
    const name = childName.replace(/-[0-9a-f]{8}$/, '')
    if (name === childName || namespace === undefined) return
    for (const image of this.#options.caches.images.find('namespace', namespace)) {
      if (image.metadata.name.replaceAll('.', '-').startsWith(name.slice(0, 40))) this.#enqueue(image)
    }
  }

  #enqueue(image: ImageView, lane: Lane = 'urgent'): void {
    this.#queue.add(keyOf(image.metadata), lane)
  }

  #enqueueKey(key: string): void {
    if (this.#options.caches.images.get(key) !== undefined) this.#queue.add(key, 'urgent')
  }

  #enqueueAll(matches: (image: ImageView) => boolean): void {
    for (const image of this.#options.caches.images.values()) if (matches(image)) this.#enqueue(image, 'normal')
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
        fieldManager: MANAGER,
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

  #existing({ kind, metadata }: KubeObject): { type: ResourceType; existingUid?: string } {
    const { caches } = this.#options
    const type = TYPES[kind as Removal['kind']]
    const store = kind === 'DataSource' ? caches.dataSources : caches.snapshots
    const uid = store.get(keyOf(metadata))?.metadata.uid
    return uid === undefined ? { type } : { type, existingUid: uid }
  }

  async #removals(image: ImageView, removals: readonly Removal[]): Promise<Changes['removals']> {
    const { client, clock } = this.#options
    const namespace = image.metadata.namespace ?? ''
    const due: Changes['removals'][number][] = []
    for (const { kind, name, uid, unlessCloned } of removals) {
      const deletedAt = this.#deletedAt.get(uid)
      if (deletedAt !== undefined && clock.monotonic() - deletedAt < DELETED_SEEN_MS) continue
      if (unlessCloned && (await isBeingCloned(client, { kind, namespace, name }))) continue
      // In the foreground, so that a DataVolume is gone only when its importer is.
      const propagationPolicy = kind === 'DataVolume' ? 'Foreground' : 'Background'
      due.push({ type: TYPES[kind], key: { namespace, name }, uid, propagationPolicy })
    }
    return due
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

  #onError(key: string): void {
    const image = this.#options.caches.images.get(key)
    if (image !== undefined) this.#admission.setStuck(image.metadata.uid ?? '')
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

/** Most changes of Secrets and the like do not concern us: only that one came or went. */
function onlyExistence(listener: (change: Change<KubeObject>) => void): (change: Change<KubeObject>) => void {
  return (change) => {
    if ((change.before === undefined) !== (change.after === undefined)) listener(change)
  }
}
