import { importersOf } from '../../../cluster/importers.ts'
import { type DataVolumeView, isAlive } from '../../../cluster/views.ts'
import { keyOf } from '../../../kube/kube-object.ts'
import { sleep } from '../../../runtime/clock.ts'
import { isSame } from '../../../runtime/owned-fields.ts'
import { attemptOf } from '../decide/attempts.ts'
import type { Start } from '../decide/image-plan.ts'
import { isFinished } from '../decide/judge.ts'
import type { Holder, Refusal, Refused } from '../world.ts'
import type { HeldSlotsOptions } from './admission-options.ts'
import { compareTickets } from './decide/admission-queue.ts'
import { slotKeyOf, volumeNameOf } from './decide/slots.ts'
import {
  type CreateOutcome,
  createDataVolume,
  isDownloadOf,
  isWebhookDown,
  lookForDataVolume,
  refusal,
} from './downloads.ts'
import { ImporterNotes } from './importer-notes.ts'
import { LeavingDownloads } from './leaving-downloads.ts'
import { OrphanedDownloads } from './orphaned-downloads.ts'
import { RefusalBook } from './refusal-book.ts'
import { SeenDownloads } from './seen-downloads.ts'
import { ANSWER_VALID_MS } from './slot-ledger.ts'
import { SlotLooks } from './slot-looks.ts'
import { SlotNotes } from './slot-notes.ts'

/**
 * After a slot changes hands, requests of its former holder may still arrive: it sends none later than 5 s after it
 * asked the ledger, and none takes longer than 10 s. So long only a download that is known to be over frees the slot.
 */
export const SETTLE_MS = 15_000
const LOOK_AGAIN_MS = 1_000
/** An API server, or a webhook, that answers with errors so often gets the slot back for somebody else. */
const ANSWERED_FAILURES = 4
/** So many are more than one answer that got lost. */
const VAIN_CREATES = 2
/** So long a slot may wait for its DataVolume before it is reported. */
const PROMPT_MS = 3_000

/**
 * What becomes of the slots that this process holds by the ledger: each gets its DataVolume, exactly once, and is over when
 * nothing can download for it any more.
 *
 * ```
 * taken ───▶ DataVolume asked for ─▶ it is there ─▶ Succeeded ──────────────────────────────────────▶ over
 *                  │ refused, or never asked for         │ gone                                        ▲
 *                  └─▶ no request can arrive any more ◀──┘ ─▶ a live look finds it and no importer ────┘
 * ```
 */
export class HeldSlots {
  readonly #options: HeldSlotsOptions
  /** What holders of slots should download. */
  readonly #starts = new Map<string, Start>()
  readonly #refusals: RefusalBook
  readonly #notes = new SlotNotes()
  /** Slots at which a live look is under way. */
  readonly #verifying = new Set<string>()
  readonly #importers = new ImporterNotes()
  readonly #leaving: LeavingDownloads
  readonly #orphaned: OrphanedDownloads
  readonly #looks: SlotLooks
  readonly #seen: SeenDownloads

  constructor(options: HeldSlotsOptions) {
    this.#options = options
    this.#refusals = new RefusalBook(options.clock)
    this.#seen = new SeenDownloads(options.dataVolumes)
    this.#leaving = new LeavingDownloads(options.dataVolumes, options.clock)
    this.#orphaned = new OrphanedDownloads(options.dataVolumes, options.clock, options.patience)
    this.#looks = new SlotLooks({ ...options, importers: this.#importers, leaving: this.#leaving })
  }

  /** What the holder of a slot should download; undefined: nothing any more. Returns whether that is news. */
  want(uid: string, start: Start | undefined): boolean {
    if (start === undefined) return this.#starts.delete(uid)
    const isNews = !isSame(this.#starts.get(uid), start)
    this.#starts.set(uid, start)
    return isNews
  }

  /** Why the DataVolume of an image was not made. */
  refusalOf(uid: string): Refusal | undefined {
    return this.#refusals.get(uid)
  }

  /** Whether the DataVolume of this holder is asked for in vain. Its slot is kept meanwhile, since one may come of it. */
  isAskedInVain(holder: Holder): boolean {
    const { isInVain, failures } = this.#notes.of(slotKeyOf(holder))
    return isInVain || failures >= VAIN_CREATES
  }

  /** The image is gone. */
  forgetImage(uid: string): void {
    this.#starts.delete(uid)
    this.#refusals.forget(uid)
  }

  /** The slot is in the ledger no more. */
  forget(holder: Holder): void {
    this.#notes.forget(slotKeyOf(holder))
    this.#starts.delete(holder.uid)
  }

  /** The slot was somebody else's: requests of theirs may still be on their way. */
  inherit(holder: Holder): void {
    this.#notes.inherit(slotKeyOf(holder), this.#options.clock.monotonic() + SETTLE_MS)
  }

  /** Whether nothing can download for this slot any more. */
  isOver(holder: Holder): boolean {
    const dataVolume = this.#dataVolumeOf(holder)
    const { isOver, isInherited } = this.#notes.of(slotKeyOf(holder))
    if (dataVolume === undefined) return isOver
    if (this.#leaving.isOver(dataVolume) || this.#orphaned.isTimedOut(dataVolume)) return true
    if (!isFinished(dataVolume)) return false
    // Beside a finished one nothing can be made until somebody deletes it: what was asked for has to meet it before that.
    // What a former leader asked for is not waited for: a hand-over would stand still for it.
    return (isInherited && attemptOf(dataVolume) === holder.attempt) || this.#isSettled(holder)
  }

  /** Whether this process has seen a slot for this download. */
  wasHeld(dataVolume: DataVolumeView): boolean {
    return this.#seen.has(dataVolume)
  }

  /**
   * Takes in which downloads have these slots, and which pods they are, while the claims that these fill are there to tell: to be called for a slot when
   * it is new, and at each change in its namespace.
   */
  noteDownloads(holders: readonly Holder[]): void {
    const { claims, pods } = this.#options
    this.#leaving.prune()
    this.#orphaned.prune()
    this.#seen.prune()
    for (const holder of holders) {
      const dataVolume = this.#dataVolumeOf(holder)
      if (dataVolume === undefined) continue
      this.#seen.note(dataVolume)
      const importers = importersOf(dataVolume, { claims, pods }).filter(isAlive)
      this.#importers.note(slotKeyOf(holder), importers)
    }
  }

  /** When something about a slot becomes possible, or did, by the monotonic clock. */
  times(): number[] {
    return [this.#notes, this.#leaving, this.#orphaned].flatMap((one) => one.times())
  }

  /** DataVolumes of all slots that have none yet, in ticket order; one that fails does not hold the next. */
  async createDataVolumes(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic()
    const wanted = this.#holders.flatMap((holder) => {
      const slot = slotKeyOf(holder)
      const start = this.#startOf(holder)
      const { isOver, retryAt } = this.#notes.of(slot)
      const isDue = !isOver && !this.#verifying.has(slot) && retryAt <= now
      return start !== undefined && isDue && this.#dataVolumeOf(holder) === undefined ? [start] : []
    })
    const inOrder = wanted.toSorted(compareTickets)
    // Those behind the first one wait for its answer as well.
    const timers = inOrder.map((start) => this.#options.clock.setTimer(() => this.#tellInVain(start), PROMPT_MS))
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
   * Slots whose DataVolume is not there and not about to be, or has been leaving for a while: a live look tells, later, whether they are empty.
   * @param strays what would hold a slot for downloads that are leaving and have none
   */
  lookForEmpty(strays: readonly Holder[], signal: AbortSignal): void {
    const lookedAt = [...this.#holders, ...strays]
    this.#importers.keep(new Set(lookedAt.map(slotKeyOf)))
    for (const holder of lookedAt) {
      const slot = slotKeyOf(holder)
      if (!this.#maybeEmpty(holder) || this.#verifying.has(slot)) continue
      this.#verifying.add(slot)
      void this.#verify(holder, signal).finally(() => {
        this.#verifying.delete(slot)
        this.#options.wake()
      })
    }
  }

  /** Whether a DataVolume, though it is still there, can download nothing any more. */
  isOverAndLeft(dataVolume: DataVolumeView): boolean {
    return this.#leaving.isOver(dataVolume)
  }

  get #holders(): readonly Holder[] {
    return this.#options.ledger.state?.holders ?? []
  }

  #isSettled(holder: Holder): boolean {
    return this.#notes.isSettled(slotKeyOf(holder), this.#options.clock.monotonic())
  }

  #dataVolumeOf(holder: Holder): DataVolumeView | undefined {
    const found = this.#options.dataVolumes.get(keyOf({ namespace: holder.namespace, name: volumeNameOf(holder) }))
    return found !== undefined && isDownloadOf(found, holder) ? found : undefined
  }

  /**
   * Whether the limit allows this slot to begin to download. It does for each slot that we take; but the limit may have been lowered since, and somebody
   * else may have written holders. Those that certainly do not download yet leave room for each other, or none of them could be the first.
   */
  #hasRoom(slot: string): boolean {
    const { ledger, limit } = this.#options
    const most = limit(ledger.state?.limit)
    if (this.#holders.length <= most) return true
    return this.#holders.filter((holder) => slotKeyOf(holder) !== slot && !this.#isIdle(holder)).length < most
  }

  /** Whether it waits for its DataVolume, and no request for that can be on its way. */
  #isIdle(holder: Holder): boolean {
    const isWanted = this.#startOf(holder) !== undefined
    return isWanted && this.#isSettled(holder) && this.#dataVolumeOf(holder) === undefined
  }

  #startOf(holder: Holder): Start | undefined {
    const start = this.#starts.get(holder.uid)
    return start !== undefined && slotKeyOf(start) === slotKeyOf(holder) ? start : undefined
  }

  /** The image was not deleted or changed since; if it was, its own reconcile says what next. */
  #isStillAsPlanned({ key, uid, generation }: Start): boolean {
    const image = this.#options.images.get(key)
    const isAlive = image?.metadata.uid === uid && image.metadata.deletionTimestamp === undefined
    return isAlive && image.metadata.generation === generation
  }

  async #create(start: Start, signal: AbortSignal): Promise<void> {
    const { ledger, client, clock, me } = this.#options
    const slot = slotKeyOf(start)
    // A slot is only held for certain as long as the answer that shows it is young; looked at again right before the request leaves.
    if (!ledger.isFresh) await this.#options.reload(signal)
    // It came too late.
    if (!ledger.isFresh) return this.#options.wake()
    const isHeld = this.#holders.some((holder) => holder.claimant === me && slotKeyOf(holder) === slot)
    if (!isHeld || !this.#hasRoom(slot)) return
    this.#notes.asked(slot, clock.monotonic() + SETTLE_MS)
    const options = { timeoutMs: ANSWER_VALID_MS, signal, isStillValid: () => ledger.isFresh }
    await this.#takeOutcome(start, await createDataVolume(client, start, options), signal)
    this.#options.onChange(start.key)
  }

  #tellInVain(start: Start): void {
    this.#notes.note(slotKeyOf(start), { isInVain: true })
    this.#options.onChange(start.key)
  }

  async #takeOutcome(start: Start, outcome: CreateOutcome, signal: AbortSignal): Promise<void> {
    const { log, clock, dataVolumes, random } = this.#options
    const slot = slotKeyOf(start)
    switch (outcome.kind) {
      case 'created':
        dataVolumes.observeWrite(outcome.dataVolume)
        this.#seen.note(outcome.dataVolume)
        // Whatever still arrives meets AlreadyExists, unless this one is deleted before that.
        this.#notes.settle(slot, clock.monotonic())
        this.#starts.delete(start.uid)
        this.#refusals.forget(start.uid)
        return
      case 'namesake':
        return await this.#handleNamesake(start, signal)
      case 'refused':
        log.warn({ key: start.key, error: outcome.refusal.message }, 'the DataVolume was refused')
        return this.#refuse(start, outcome.refusal, outcome.isFinal)
      case 'failed': {
        const now = clock.monotonic()
        const answered = this.#notes.failed(slot, now, outcome, random)
        if (outcome.mayHappen) this.#notes.doubt(slot, now + SETTLE_MS)
        if (isWebhookDown(outcome)) this.#tellInVain(start)
        log.warn({ key: start.key, error: outcome.error, answered }, 'the DataVolume could not be created')
        const message = `the DataVolume could not be created: ${outcome.error}`
        if (answered >= ANSWERED_FAILURES) this.#refuse(start, refusal(start, 'CreateFailed', message), false)
      }
    }
  }

  /** One of that name exists: what was about to be created, an earlier one that is being deleted, or somebody else's. */
  async #handleNamesake(start: Start, signal: AbortSignal): Promise<void> {
    const { client, dataVolumes, clock, random } = this.#options
    const holder = this.#holders.find(({ uid }) => uid === start.uid)
    this.#notes.failed(slotKeyOf(start), clock.monotonic(), { isAnswered: false, retryAfterMs: 0 }, random)
    if (holder === undefined) return
    const found = await lookForDataVolume(client, holder, { signal }).catch(() => undefined)
    if (found === 'foreign') {
      const name = start.target.volumeName
      const message = `DataVolume ${name} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`
      this.#refuse(start, refusal(start, 'NameConflict', message), false)
    } else if (found !== undefined) {
      dataVolumes.observeWrite(found)
    }
  }

  /** It is not asked for again. The slot is free, unless an earlier request may still be carried out: then a look tells, later. */
  #refuse(start: Start, refused: Refused, isFinal: boolean): void {
    this.#refusals.add(start.uid, refused, isFinal)
    const slot = slotKeyOf(start)
    if (this.#notes.settle(slot, this.#options.clock.monotonic())) this.#notes.note(slot, { isOver: true })
    this.#starts.delete(start.uid)
    this.#options.wake()
  }

  #maybeEmpty(holder: Holder): boolean {
    const start = this.#startOf(holder)
    const isToBeMade = start !== undefined && this.#isStillAsPlanned(start)
    const isKnownOver = this.#notes.of(slotKeyOf(holder)).isOver
    const dataVolume = this.#dataVolumeOf(holder)
    const isInUse = dataVolume === undefined ? this.#hasImporter(holder) : !this.#leaving.isDue(dataVolume)
    return !isToBeMade && this.#isSettled(holder) && !isKnownOver && !isInUse
  }

  /** As far as the cache knows: the watch reports its end. */
  #hasImporter(holder: Holder): boolean {
    return [...this.#importers.of(slotKeyOf(holder))].some(([uid, key]) => {
      const pod = this.#options.pods.get(key)
      return pod?.metadata.uid === uid && isAlive(pod)
    })
  }

  /** DataVolume 404 alone is not enough: people delete in the background, and its importer lives on for a while. */
  async #verify(holder: Holder, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    const slot = slotKeyOf(holder)
    try {
      const isEmpty = await this.#looks.isEmpty(holder, signal)
      // What was true before the look must be true after it: meanwhile the image may have changed its mind.
      const isSame = this.#holders.some((one) => slotKeyOf(one) === slot)
      if (isEmpty && isSame && this.#maybeEmpty(holder)) {
        this.#notes.note(slot, { isOver: true })
        return
      }
    } catch (error) {
      if (signal.aborted) return
      log.warn({ key: keyOf(holder), error: String(error) }, 'cannot tell whether a slot is empty; it is kept')
    }
    await sleep(clock, LOOK_AGAIN_MS, signal).catch(() => undefined)
  }
}
