import { LABELS } from '@open-terrain/constructs'
import { attemptOf } from '../../../operator/cluster/import-facts.ts'
import { BY_CLAIM, claimIndex } from '../../../operator/cluster/importers.ts'
import {
  type ClaimView,
  type DataVolumeView,
  type MetaView,
  type PodView,
  viewClaim,
  viewDataVolume,
  viewMeta,
  viewPod,
} from '../../../operator/cluster/views.ts'
import { Admission } from '../../../operator/controllers/vm-disk-image/admission/admission.ts'
import { compareTickets } from '../../../operator/controllers/vm-disk-image/admission/admission-queue.ts'
import { slotKeyOf } from '../../../operator/controllers/vm-disk-image/admission/decide/slots.ts'
import { listenForDownloads } from '../../../operator/controllers/vm-disk-image/admission/download-triggers.ts'
import { IMPORTING_INDEX, importingIndex } from '../../../operator/controllers/vm-disk-image/admission/downloads.ts'
import { LEDGER_NAME, SlotLedger } from '../../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import type { Start } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import type { KubeClient } from '../../../operator/kube/kube-client.ts'
import { keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../operator/kube/resource-types.ts'
import type { Logger } from '../../../operator/runtime/log.ts'
import { Reflector, type ReflectorOptions } from '../../../operator/runtime/reflector.ts'
import { Store, type Stored } from '../../../operator/runtime/store.ts'
import type { SimulatedProcess } from '../../../sandbox/memory-cluster/index.ts'
import { OPERATOR_NAMESPACE } from '../chronicle.ts'
import type { ImageUpdate } from './gate-images.ts'

const DAY_MS = 24 * 60 * 60_000

const BY_IMAGE = 'image'
const LEDGER = `${OPERATOR_NAMESPACE}/${LEDGER_NAME}`
/** An image whose ticket is not written after this time counts as stuck. */
const STUCK_AFTER_MS = 200
const RETRY_MS = 1_000

/** The only metric of the admission is the number of admissions. */
const UNCOUNTED = { admitted: () => undefined }

export interface GateProcessOptions {
  readonly process: SimulatedProcess
  readonly client: KubeClient
  readonly random: () => number
  readonly log: Logger
}

/** A replica of the operator in which only the gate is real: admission, ledger and caches. This class imitates the rest of a reconcile. */
export class GateProcess {
  readonly process: SimulatedProcess
  readonly #options: GateProcessOptions
  readonly #images = new Store<ImageView>()
  readonly dataVolumes = new Store<DataVolumeView>()
    .index(IMPORTING_INDEX, importingIndex)
    .index(BY_IMAGE, (one) => [controllerOf(one)?.uid ?? ''])
  readonly #claims = new Store<ClaimView>()
  readonly #pods = new Store<PodView>().index(BY_CLAIM, claimIndex)
  readonly #configMaps = new Store<MetaView>()
  /** What each image wants, as far as this process has observed it, by uid. */
  readonly #known = new Map<string, ImageUpdate>()
  /** What the admission was last asked for, by uid. */
  readonly #wishes = new Map<string, Start>()
  /** Claims whose DataVolume this process has observed, as the status that a leader writes would show. They are not started again. */
  readonly #begun = new Set<string>()
  readonly #stuck = new Set<string>()
  readonly #synced: Promise<unknown>
  readonly #caching = new AbortController()
  #due = new Set<string>()
  #policyLimit: number | undefined
  #term: AbortController | undefined
  #admission: Admission | undefined

  constructor(options: GateProcessOptions) {
    this.#options = options
    this.process = options.process
    const reflectors = [
      this.#reflect(DATA_VOLUME, this.dataVolumes, viewDataVolume),
      this.#reflect(PERSISTENT_VOLUME_CLAIM, this.#claims, viewClaim),
      this.#reflect(POD, this.#pods, viewPod, { labelSelector: LABELS.imageUid }),
      this.#reflect(CONFIG_MAP, this.#configMaps, viewMeta, { metadataOnly: true }),
    ]
    this.#synced = Promise.all(reflectors.map(({ synced }) => synced))
    this.dataVolumes.onChange(({ after }) => {
      const uid = after && controllerOf(after)?.uid
      if (after !== undefined && uid !== undefined) this.#begun.add(slotKeyOf({ uid, ...slotOf(after) }))
    })
    const caches = { dataVolumes: this.dataVolumes, claims: this.#claims, pods: this.#pods }
    listenForDownloads(caches, { downloadsChanged: (changed) => this.#admission?.downloadsChanged(changed) })
    this.#configMaps.onChange(({ key }) => {
      if (key === LEDGER) this.#admission?.checkLedger(this.#configMaps.get(LEDGER))
    })
    for (const reflector of reflectors) void reflector.run(this.#caching.signal)
  }

  get admission(): Admission | undefined {
    return this.#admission
  }

  isStuck(uid: string): boolean {
    return this.#stuck.has(uid)
  }

  /** What the admission was last asked to download for this image. */
  wishOf(uid: string): Start | undefined {
    return this.#wishes.get(uid)
  }

  /** All that the admission was asked for, except for images that are queued for a reconcile. */
  *wishes(): Iterable<Start> {
    for (const start of this.#wishes.values()) if (!this.#due.has(start.key)) yield start
  }

  /** Handles a watch event of an image, or its entry in the first list. */
  learn(update: ImageUpdate): void {
    const { uid = '' } = update.image.metadata
    this.#known.set(uid, update)
    this.#images.put(update.image)
    // As in the admission, an image is stuck until the write that failed succeeds.
    if (update.start?.admissible !== false) this.#stuck.delete(uid)
    else this.#options.process.clock.setTimer(() => this.#giveUp(uid, update), STUCK_AFTER_MS)
    this.#reconcile(uid)
  }

  learnLimit(limit: number): void {
    this.#policyLimit = limit
    this.#admission?.wake()
  }

  lead(): void {
    if (this.#term === undefined) void this.#lead()
  }

  resign(): void {
    this.#term?.abort(new Error('lost the lead'))
    this.#term = undefined
    this.#admission = undefined
  }

  async #lead(): Promise<void> {
    const term = new AbortController()
    this.#term = term
    await this.#synced
    if (term.signal.aborted) return
    const { client, process, random, log } = this.#options
    const { clock, name: me } = process
    const admission = new Admission({
      client,
      clock,
      random,
      log,
      me,
      metrics: UNCOUNTED,
      ledger: new SlotLedger({ client, clock, log, namespace: OPERATOR_NAMESPACE }),
      images: this.#images,
      refresh: () => Promise.resolve(),
      dataVolumes: this.dataVolumes,
      claims: this.#claims,
      pods: this.#pods,
      limit: (ledgerLimit) => this.#policyLimit ?? ledgerLimit ?? 4,
      // Longer than any story.
      patience: () => ({ stallTimeoutMs: DAY_MS, attemptTimeoutMs: DAY_MS }),
      onChange: (key) => this.#lookSoon(key),
    })
    this.#admission = admission
    this.#wishes.clear()
    await admission.takeOver(term.signal)
    if (term.signal.aborted) return
    for (const { image } of [...this.#known.values()].toSorted(byTicket)) this.#reconcile(image.metadata.uid ?? '')
    await admission.run(term.signal)
  }

  #reflect<T extends Stored>(
    type: ResourceType,
    store: Store<T>,
    project: ReflectorOptions<T>['project'],
    selection: NonNullable<ReflectorOptions<T>['selection']> = {},
  ) {
    const { client, random, log, process } = this.#options
    return new Reflector<T>({ client, random, log, clock: process.clock, type, store, project, selection })
  }

  /** Imitates the work queue of the operator: each key is reconciled once, after a moment. */
  #lookSoon(key: string): void {
    if (this.#due.size === 0) this.#options.process.clock.setTimer(() => this.#lookAtDue(), this.#options.random() * 2)
    this.#due.add(key)
  }

  #lookAtDue(): void {
    const due = this.#due
    this.#due = new Set()
    for (const key of due) {
      const uid = this.#images.get(key)?.metadata.uid
      if (uid === undefined) continue
      this.#reconcile(uid)
      this.#removeStrays(uid, key)
    }
  }

  /** Reconciles an image as a plan does: a refused image does not ask again for a while. */
  #reconcile(uid: string): void {
    const admission = this.#admission
    const told = this.#known.get(uid)?.start
    if (admission === undefined) return
    const start = told !== undefined && this.#begun.has(slotKeyOf(told)) ? undefined : told
    const refusal = admission.refusalOf(uid)
    const isRefused = start !== undefined && refusal?.revision === start.revision
    if (!isRefused) {
      this.#want(uid, start)
      return
    }
    const { clock } = this.#options.process
    const leftMs = (refusal.until ?? Number.POSITIVE_INFINITY) - clock.now()
    this.#want(uid, leftMs > 0 ? undefined : start)
    if (leftMs > 0 && Number.isFinite(leftMs)) clock.setTimer(() => this.#reconcile(uid), leftMs)
  }

  #want(uid: string, start: Start | undefined): void {
    if (start === undefined) this.#wishes.delete(uid)
    else this.#wishes.set(uid, start)
    this.#admission?.want(uid, start)
  }

  #giveUp(uid: string, update: ImageUpdate): void {
    if (this.#known.get(uid) !== update) return
    this.#stuck.add(uid)
    this.#admission?.setStuck(uid)
  }

  /** Deletes the DataVolumes of the image that have no slot, as soon as they are observed. */
  #removeStrays(uid: string, key: string): void {
    for (const one of this.dataVolumes.find(BY_IMAGE, uid)) {
      const isGoing = one.metadata.deletionTimestamp !== undefined
      if (isGoing || this.#admission?.isStray(one) !== true) continue
      const { uid: volumeUid = '', resourceVersion = '' } = one.metadata
      // Only in the observed version: it may have succeeded since, which frees its slot.
      const preconditions = { uid: volumeUid, resourceVersion, propagationPolicy: 'Foreground' } as const
      const { client, process } = this.#options
      const again = () => process.clock.setTimer(() => this.#lookSoon(key), RETRY_MS)
      client
        .delete(DATA_VOLUME, { namespace: one.metadata.namespace ?? '', name: one.metadata.name }, preconditions)
        .catch(again)
    }
  }
}

function byTicket(a: ImageUpdate, b: ImageUpdate): number {
  if (a.start === undefined || b.start === undefined)
    return (a.start === undefined ? 1 : 0) - (b.start === undefined ? 1 : 0)
  return compareTickets(a.start, b.start)
}

function slotOf(dataVolume: DataVolumeView): { revision: string; attempt: number } {
  return { revision: dataVolume.metadata.labels?.[LABELS.revision] ?? '', attempt: attemptOf(dataVolume) }
}

export function keyOfStart({ namespace, target }: Start): string {
  return keyOf({ namespace, name: target.volumeName })
}
