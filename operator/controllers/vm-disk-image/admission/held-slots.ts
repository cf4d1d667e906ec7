import type { DataVolumeView, PodView } from '../../../cluster/views.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import { POD } from '../../../kube/resource-types.ts'
import { sleep } from '../../../runtime/clock.ts'
import { isSame } from '../../../runtime/owned-fields.ts'
import { attemptOf } from '../decide/attempts.ts'
import type { Start } from '../decide/image-plan.ts'
import { isFinished } from '../decide/judge.ts'
import type { Holder } from '../world.ts'
import type { HeldSlotsOptions } from './admission-options.ts'
import { compareTickets } from './decide/admission-queue.ts'
import { slotKeyOf, volumeNameOf } from './decide/slots.ts'
import { DownloadNotes } from './download-notes.ts'
import { createDataVolume, isDownloadOf, lookForDataVolume, type Why } from './downloads.ts'
import { RefusalBook } from './refusal-book.ts'
import { ANSWER_VALID_MS } from './slot-ledger.ts'
import { SlotLooks } from './slot-looks.ts'
import { RemainNotes, SlotNotes } from './slot-notes.ts'

const LOOK_AGAIN_MS = 1_000
/** After this many error responses of the API server or a webhook, the slot is freed for another image. */
const ANSWERED_FAILURES = 4
/** Number of failed creates that is reported: a single failure may be one lost response. */
const FAILING_CREATES = 2
/** How long CDI has to end the importers of a deleted DataVolume. After that the operator does it: CDI may be away. */
const CDI_ENDS_MS = 3_000
/** How long a slot may wait for its DataVolume before this is reported. */
const PROMPT_MS = 3_000

/**
 * Manages the slots that this process holds according to the ledger. Each slot gets its DataVolume exactly once, and is over
 * when nothing can download for it any more.
 *
 * ```
 * taken ───▶ DataVolume asked for ─▶ it is there ─▶ Succeeded ───────────────────────────────────────────────▶ over
 *                  │ refused, or never asked for         │ gone                                              ▲
 *                  └─▶ no request can arrive any more ◀──┘ ─▶ live reads find neither it, nor an importer, ──┘
 *                                                             nor a claim that another importer could fill
 * ```
 */
export class HeldSlots {
  readonly #options: HeldSlotsOptions
  /** What the holders of slots should download, by uid of the image. */
  readonly #starts = new Map<string, Start>()
  /** Why the DataVolumes of images were not created. */
  readonly refusals: RefusalBook
  readonly downloads: DownloadNotes
  readonly #notes: SlotNotes
  readonly #remains: RemainNotes
  readonly #looks: SlotLooks
  /** Slots with a live read in flight. */
  readonly #verifying = new Set<string>()
  /** Downloads without a slot, as slots, that are proved to be over. */
  readonly #emptyStrays = new Set<string>()
  /** When importers that CDI should have ended are ended, by uid of the pod. */
  readonly #endAt = new Map<string, number>()

  constructor(options: HeldSlotsOptions) {
    this.#options = options
    this.refusals = new RefusalBook(options.clock)
    this.downloads = new DownloadNotes(options)
    this.#notes = new SlotNotes(options)
    this.#remains = new RemainNotes(options)
    this.#looks = new SlotLooks({ ...options, remains: this.#remains, downloads: this.downloads })
  }

  /** Sets what the holder of a slot should download; undefined: nothing any more. Reports whether this is a change. */
  want(uid: string, start: Start | undefined): boolean {
    if (start === undefined) return this.#starts.delete(uid)
    const isChanged = !isSame(this.#starts.get(uid), start)
    this.#starts.set(uid, start)
    return isChanged
  }

  /** Reports whether creating the DataVolume of this holder fails or takes too long. It keeps its slot, since a request may still succeed. */
  isCreateFailing(holder: Holder): boolean {
    const { isFailing, failures } = this.#notes.of(holder)
    return isFailing || failures >= FAILING_CREATES
  }

  /** The slot is no longer in the ledger. */
  forget(holder: Holder): void {
    this.#notes.forget(holder)
    this.#starts.delete(holder.uid)
  }

  /** The slot belonged to another process or term, whose requests may still be in flight. */
  inherit(holder: Holder): void {
    this.#notes.inherit(holder)
  }

  /** Reports whether nothing can download for this slot any more. */
  isOver(holder: Holder): boolean {
    const dataVolume = this.#dataVolumeOf(holder)
    const { isOver, isInherited } = this.#notes.of(holder)
    if (dataVolume === undefined) return isOver
    if (this.downloads.isOver(dataVolume) || this.downloads.isTimedOut(dataVolume)) return true
    // A request that arrived late may have created it while an importer of its predecessor was still terminating.
    if (!isFinished(dataVolume) || this.#remains.isAnyAlive(holder, dataVolume)) return false
    // As long as a finished one exists, no other can be created. Requests in flight must meet it before somebody deletes it.
    // Requests of a former leader are not waited for, since that would stall a handover.
    return (isInherited && attemptOf(dataVolume) === holder.attempt) || this.#notes.isSettled(holder)
  }

  /**
   * Records which downloads have these slots, their claims and importer pods, while the objects that identify these exist.
   * The caller must call this for each new slot, and at every change in the namespace of a slot.
   */
  noteDownloads(holders: readonly Holder[]): void {
    this.downloads.prune()
    for (const holder of holders) {
      const dataVolume = this.#dataVolumeOf(holder)
      if (dataVolume !== undefined) this.downloads.noteHeld(dataVolume)
      this.#remains.note(holder, dataVolume)
    }
  }

  /** Reports whether a download without a slot, whose DataVolume is gone, is proved to be over. */
  isStrayOver(stray: Holder): boolean {
    return this.#emptyStrays.has(slotKeyOf(stray))
  }

  forgetStray(stray: Holder): void {
    this.#emptyStrays.delete(slotKeyOf(stray))
  }

  /** Returns the times, past or future, at which something about a slot becomes possible, by the monotonic clock. */
  times(): number[] {
    return [...this.#notes.times(), ...this.downloads.times(), ...this.#endAt.values()]
  }

  /** Creates the DataVolumes of all slots that have none yet, in ticket order. A failure does not hold up the next one. */
  async createDataVolumes(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic()
    const wanted = this.#holders.flatMap((holder) => {
      const start = this.#startOf(holder)
      const { isOver, retryAt } = this.#notes.of(holder)
      const isDue = !isOver && !this.#verifying.has(slotKeyOf(holder)) && retryAt <= now
      return start !== undefined && isDue && this.#dataVolumeOf(holder) === undefined ? [start] : []
    })
    const inOrder = wanted.toSorted(compareTickets)
    // Those behind the first one also wait for its response.
    const timers = inOrder.map((start) => this.#options.clock.setTimer(() => this.#reportFailing(start), PROMPT_MS))
    try {
      for (const [at, start] of inOrder.entries()) {
        if (signal.aborted) return
        if (this.#isStillAsPlanned(start)) await this.#create(start, signal)
        timers[at]?.()
      }
    } finally {
      for (const cancel of timers) cancel()
    }
  }

  /**
   * Starts live reads that show later whether slots are empty: those without a DataVolume present or due, or with one long terminating.
   * @param strays stand-ins for the holders of downloads that have no slot
   */
  lookForEmpty(strays: readonly Holder[], signal: AbortSignal): void {
    const lookedAt = [...this.#holders, ...strays]
    this.#remains.keep(lookedAt)
    this.#endImporters(lookedAt, signal)
    for (const holder of lookedAt) {
      const slot = slotKeyOf(holder)
      if (!this.#maybeEmpty(holder) || this.#verifying.has(slot)) continue
      this.#verifying.add(slot)
      void this.#verify(holder, strays, signal).finally(() => {
        this.#verifying.delete(slot)
        this.#options.wake()
      })
    }
  }

  get #holders(): readonly Holder[] {
    return this.#options.ledger.state?.holders ?? []
  }

  #dataVolumeOf(holder: Holder): DataVolumeView | undefined {
    const found = this.#options.dataVolumes.get(keyOf({ namespace: holder.namespace, name: volumeNameOf(holder) }))
    return found !== undefined && isDownloadOf(found, holder) ? found : undefined
  }

  /**
   * Reports whether the limit allows this slot to start its download. It allows every slot that we take, but it may have been lowered
   * since, and somebody else may have written holders. Slots that certainly do not download yet do not count, or none could be the first.
   */
  #hasRoom(slot: string): boolean {
    const { ledger, limit } = this.#options
    const most = limit(ledger.state?.limit)
    if (this.#holders.length <= most) return true
    const isIdle = (holder: Holder) =>
      this.#startOf(holder) !== undefined && this.#notes.isSettled(holder) && this.#dataVolumeOf(holder) === undefined
    return this.#holders.filter((holder) => slotKeyOf(holder) !== slot && !isIdle(holder)).length < most
  }

  #startOf(holder: Holder): Start | undefined {
    const start = this.#starts.get(holder.uid)
    return start !== undefined && slotKeyOf(start) === slotKeyOf(holder) ? start : undefined
  }

  /** Reports whether the image was neither deleted nor changed since. Otherwise its own reconcile decides what comes next. */
  #isStillAsPlanned({ key, uid, generation }: Start): boolean {
    const image = this.#options.images.get(key)
    return image?.metadata.uid === uid && !isTerminating(image) && image.metadata.generation === generation
  }

  async #create(start: Start, signal: AbortSignal): Promise<void> {
    const { ledger, client, me, log } = this.#options
    const slot = slotKeyOf(start)
    // A slot is certainly held only while the response that shows it is recent. This is checked again right before the request is sent.
    if (!ledger.isFresh) await this.#options.reload(signal)
    // The response came too late.
    if (!ledger.isFresh) return this.#options.wake()
    const isHeld = this.#holders.some((holder) => holder.claimant === me && slotKeyOf(holder) === slot)
    if (!isHeld || !this.#hasRoom(slot)) return
    this.#notes.noteRequest(start)
    const options = { timeoutMs: ANSWER_VALID_MS, signal, isStillValid: () => ledger.isFresh }
    const outcome = await createDataVolume(client, start, options)
    if (outcome.kind === 'created') this.#takeCreated(start, outcome.dataVolume)
    else if (outcome.kind === 'namesake') await this.#handleNamesake(start, signal)
    else if (outcome.kind === 'refused') {
      log.warn({ key: start.key, error: outcome.why.message }, 'the DataVolume was refused')
      this.#refuse(start, outcome.why, outcome.isFinal)
    } else {
      const { error, isWebhookDown } = outcome
      const answered = this.#notes.failed(start, outcome)
      if (isWebhookDown) {
        this.#reportFailing(start)
        this.#options.onUnreached?.(error)
      }
      log.warn({ key: start.key, error, answered }, 'the DataVolume could not be created')
      const message = `the DataVolume could not be created: ${error}`
      if (answered >= ANSWERED_FAILURES) this.#refuse(start, { reason: 'CreateFailed', message })
    }
    this.#options.onChange(start.key)
  }

  #reportFailing(start: Start): void {
    this.#notes.note(start, { isFailing: true })
    this.#options.onChange(start.key)
  }

  #takeCreated(start: Start, dataVolume: DataVolumeView): void {
    this.#options.dataVolumes.observeWrite(dataVolume)
    this.downloads.noteHeld(dataVolume)
    // Requests that still arrive get AlreadyExists, unless this one is deleted before that.
    this.#notes.settle(start)
    this.#starts.delete(start.uid)
    this.refusals.forget(start.uid)
  }

  /** A DataVolume of that name exists: the wanted one, an earlier one that is being deleted, or somebody else's. */
  async #handleNamesake(start: Start, signal: AbortSignal): Promise<void> {
    const { client, dataVolumes } = this.#options
    const holder = this.#holders.find(({ uid }) => uid === start.uid)
    this.#notes.failed(start, { isAnswered: false, mayHappen: false, retryAfterMs: 0 })
    if (holder === undefined) return
    const found = await lookForDataVolume(client, holder, signal).catch(() => undefined)
    if (found === 'foreign') {
      const name = start.target.volumeName
      const message = `DataVolume ${name} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`
      this.#refuse(start, { reason: 'NameConflict', message })
    } else if (found !== undefined) {
      dataVolumes.observeWrite(found)
    }
  }

  /** Stops requesting the DataVolume. The slot is free, unless an earlier request may still be carried out: then a later live read decides. */
  #refuse(start: Start, why: Why, isFinal = false): void {
    const { images, wake } = this.#options
    // The image may be gone by now, and nobody would forget its refusal.
    if (images.get(start.key)?.metadata.uid === start.uid) this.refusals.add(start, why, isFinal)
    if (this.#notes.settle(start)) this.#notes.note(start, { isOver: true })
    this.#starts.delete(start.uid)
    wake()
  }

  #maybeEmpty(holder: Holder): boolean {
    const start = this.#startOf(holder)
    const isToBeMade = start !== undefined && this.#isStillAsPlanned(start)
    const isKnownOver = this.#notes.of(holder).isOver
    const dataVolume = this.#dataVolumeOf(holder)
    const isInUse = dataVolume === undefined ? this.#remains.isAnyAlive(holder) : !this.downloads.isLookDue(dataVolume)
    return !isToBeMade && this.#notes.isSettled(holder) && !isKnownOver && !isInUse
  }

  /** Deletes importers that nobody ends, though what they fill is being deleted. CDI does that, if it is there. */
  #endImporters(holders: readonly Holder[], signal: AbortSignal): void {
    const now = this.#options.clock.monotonic()
    const pods = new Map(
      holders.flatMap((holder) =>
        this.#isLeft(holder) ? this.#remains.unended(holder).map((pod) => [pod.metadata.uid ?? '', pod] as const) : [],
      ),
    )
    for (const uid of this.#endAt.keys()) if (!pods.has(uid)) this.#endAt.delete(uid)
    for (const [uid, pod] of pods) {
      const at = this.#endAt.get(uid) ?? now + CDI_ENDS_MS
      this.#endAt.set(uid, at <= now ? now + CDI_ENDS_MS : at)
      if (at <= now) void this.#endImporter(pod, signal)
    }
  }

  async #endImporter({ metadata }: PodView, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    try {
      await client.delete(POD, metadata, { signal, propagationPolicy: 'Background', uid: metadata.uid })
    } catch (error) {
      if (signal.aborted || isApiError(error, 'NotFound', 'Conflict')) return
      log.warn({ key: keyOf(metadata), error: String(error) }, 'an importer cannot be ended; it is tried again')
    }
  }

  /** Reports whether the DataVolume of a slot is gone, or being deleted. */
  #isLeft(holder: Holder): boolean {
    const dataVolume = this.#dataVolumeOf(holder)
    return dataVolume === undefined || isTerminating(dataVolume)
  }

  /** A 404 for the DataVolume is not enough: after a background deletion its importer lives on for a while. */
  async #verify(holder: Holder, strays: readonly Holder[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const slot = slotKeyOf(holder)
    try {
      const isEmpty = await this.#looks.isEmpty(holder, signal)
      // What was true before the read must still be true after it: what the image wants may have changed.
      const isSame = this.#holders.some((one) => slotKeyOf(one) === slot)
      if (isEmpty && isSame && this.#maybeEmpty(holder)) return this.#notes.note(holder, { isOver: true })
      const isStray = !isSame && strays.some((one) => slotKeyOf(one) === slot)
      if (isEmpty && isStray && this.#maybeEmpty(holder)) return void this.#emptyStrays.add(slot)
    } catch (error) {
      if (signal.aborted) return
      log.warn({ key: keyOf(holder), error: String(error) }, 'cannot tell whether a slot is empty; it is kept')
    }
    await sleep(clock, LOOK_AGAIN_MS, signal).catch(() => undefined)
  }
}
