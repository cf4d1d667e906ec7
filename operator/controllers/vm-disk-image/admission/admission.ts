import type { DataVolumeView } from '../../../cluster/views.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { backoffMs } from '../../../runtime/backoff.ts'
import { sleep } from '../../../runtime/clock.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Holder, Refusal } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { AdmissionQueue } from './decide/admission-queue.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { adopt, decideSlots, slotKeyOf, TAKEN_AT_ONCE } from './decide/slots.ts'
import { findHolders } from './downloads.ts'
import { HeldSlots, SETTLE_MS } from './held-slots.ts'
import { Strays } from './strays.ts'

/** So long after slots were handed on, others may be kept waiting for the DataVolumes. */
const HAND_OVER_MS = 250

/**
 * The one gate between the queue and the network. It alone writes the ledger, and after each write handles the slots
 * that it holds, one step after another:
 *
 * ```
 * wake ─▶ decide (pure) ─▶ ledger: slots freed and taken in one compare-and-swap ─▶ their DataVolumes, in ticket order
 *  ▲                                                                                       │
 *  └── DataVolume changed · download wanted · policy changed · slot proved empty ◀──────────┘
 * ```
 */
export class Admission {
  readonly queue = new AdmissionQueue()
  readonly #options: AdmissionOptions
  readonly #slots: HeldSlots
  readonly #stuck = new Set<string>()
  readonly #strays: Strays
  /** Holders as the images last knew them, by uid of the image. */
  #known: ReadonlyMap<string, Holder> = new Map()
  /** The ledger that they are from. */
  #told: LedgerState | undefined
  #handingOver: Promise<void> | undefined
  /** While a ledger that was made again is settling. */
  #quietUntil: number | undefined
  #isLedgerDoubtful = false
  #wake = Promise.withResolvers<void>()
  #failures = 0
  #cancelTimer: (() => void) | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#slots = new HeldSlots({
      ...options,
      wake: () => this.wake(),
      reload: (signal) => this.#load(signal, this.#mostHolders),
    })
    this.#strays = new Strays(options, this.#slots)
  }

  get state(): LedgerState | undefined {
    return this.#options.ledger.state
  }

  slotOf(uid: string): Holder | undefined {
    return this.state?.holders.find((holder) => holder.uid === uid)
  }

  /** Whether this download has no slot, for certain: the watch may tell of it before it tells of its slot. */
  isStray(dataVolume: DataVolumeView): boolean {
    return this.#strays.isKnown(dataVolume)
  }

  /** How many of the operator's downloads have no slot in the ledger as it was last read. */
  countStrays(): number {
    return this.state === undefined ? 0 : this.#strays.countOurs(this.state)
  }

  refusalOf(uid: string): Refusal | undefined {
    return this.#slots.refusalOf(uid)
  }

  /** Whether the image has a slot, and its DataVolume is asked for in vain. */
  isAskedInVain(uid: string): boolean {
    const slot = this.slotOf(uid)
    return slot !== undefined && this.#slots.isAskedInVain(slot)
  }

  /**
   * Resolves when nobody waits for a slot that is being handed on. Requests of others at that moment, of which the end of a
   * download causes many, would slow down the few that decide how long a slot is empty.
   */
  async giveWay(): Promise<void> {
    await this.#handingOver
  }

  /** Takes in what an image wants: a download, or none. */
  want(uid: string, start: Start | undefined): void {
    // Each further try to write what is missing would hold up those behind it as the first one did.
    const wasStuck = (start === undefined || start.admissible) && this.#stuck.delete(uid)
    // As the images were last told, not as last read: a slot that comes and goes in between takes nobody out of the queue.
    const hasSlot = this.#known.has(uid)
    const isQueueNews = start !== undefined && !hasSlot ? this.queue.put(start) : this.queue.remove(uid)
    const isSlotNews = this.#slots.want(uid, hasSlot ? start : undefined)
    // Most plans want what they wanted before.
    if (isQueueNews || isSlotNews || wasStuck) this.wake()
  }

  /** The image's own writes fail: it must not hold up those behind it. */
  setStuck(uid: string): void {
    this.#stuck.add(uid)
    this.wake()
  }

  /** The image is gone. */
  forget(uid: string): void {
    this.want(uid, undefined)
    this.#slots.forgetImage(uid)
    // Its downloads count no more.
    this.wake()
  }

  /** The ledger changed, or is gone (undefined). If that was not by our own write, it is read before anything else is decided. */
  checkLedger(seen: KubeObject | undefined): void {
    const { ledger } = this.#options
    if (seen === undefined) this.#isLedgerDoubtful = true
    else ledger.see(seen)
    if (seen === undefined || ledger.isOutdated) this.wake()
  }

  wake(): void {
    this.#wake.resolve()
  }

  /** A DataVolume, a claim of one or a pod of this namespace has changed: to be called at each such change, for what is gone tells nothing any more. */
  downloadsChanged(namespace: string): void {
    this.#slots.noteDownloads((this.state?.holders ?? []).filter((holder) => holder.namespace === namespace))
    this.wake()
  }

  /** Becomes the one who answers for the ledger. Everything after rests on what it reads and writes here. */
  async takeOver(signal: AbortSignal): Promise<void> {
    await this.#persist(signal, async () => {
      const state = await this.#load(signal)
      // Another process may have taken them, or this one in an earlier term: those requests may still be on their way.
      await this.#adopt(state, state.holders, signal)
      // Only now: nobody else takes slots from here on, so nobody else comes to an end either.
      await this.#options.refresh(signal)
      this.#tellChanges()
    })
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake(), { once: true })
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers()
      await this.#persist(signal, () => this.#step(signal))
      await this.#wake.promise
    }
    this.#cancelTimer?.()
  }

  /** Tries until it works: there is nothing else to do without the ledger. */
  async #persist(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await work()
        this.#failures = 0
        return
      } catch (error) {
        // Whether a write happened may be unknown; whatever it was, the ledger knows.
        this.#isLedgerDoubtful = true
        if (!signal.aborted) await this.#pause(error, signal)
      }
    }
  }

  /** Somebody else wrote the ledger: read it and go on. Anything else is trouble that needs time. */
  async #pause(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, log, ledger } = this.#options
    const isRace = isApiError(error, 'Conflict', 'AlreadyExists') && this.#failures < 3
    this.#failures += 1
    if (isRace) return log.debug({ error: String(error) }, 'the ledger was written by somebody else')
    const retryAfterMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.max(retryAfterMs, backoffMs(this.#failures - 1, 100, 5_000, random))
    const facts = { error: String(error), retryInMs: Math.round(waitMs), limit: ledger.state?.limit }
    log.warn(facts, 'admission is held up')
    await sleep(clock, waitMs, signal).catch(() => undefined)
  }

  /** The ledger as it is now, created again where there is none. @param most holders that it can have, where that is known */
  async #load(signal: AbortSignal, most?: number): Promise<LedgerState> {
    this.#isLedgerDoubtful = false
    const { ledger, clock } = this.#options
    const state = await ledger.load(signal, most)
    if (state === undefined) return await this.#rebuild(signal)
    if (state.isSettling === true) this.#quietUntil ??= clock.monotonic() + SETTLE_MS
    else this.#endQuiet()
    return state
  }

  get #isQuiet(): boolean {
    return this.#options.clock.monotonic() < (this.#quietUntil ?? 0)
  }

  /** The ledger is not marked as settling any more. A wait that has begun goes on: somebody else may have removed the mark. */
  #endQuiet(): void {
    if (!this.#isQuiet) this.#quietUntil = undefined
  }

  /**
   * There is no ledger: the first start, or somebody deleted or garbled it. What downloads is found by a live list.
   * A leader may have taken slots just before, which are unknown. So nobody is admitted until their requests have settled, even if the leader changes.
   * If no image has a ticket, no slot was taken, and the first image is admitted at once.
   */
  async #rebuild(signal: AbortSignal): Promise<LedgerState> {
    const { ledger, images, limit, log, clock, client, me } = this.#options
    const holders = await findHolders(client, images, me, { signal })
    const isTouched = [...images.values()].some(
      ({ status }) => status.ticket !== undefined || status.attempts !== undefined,
    )
    const isFirst = holders.length === 0 && !isTouched && !ledger.isGarbled
    const state: LedgerState = { limit: limit(ledger.state?.limit), holders, ...(!isFirst && { isSettling: true }) }
    // Before the write: its answer may be lost.
    if (!isFirst) this.#quietUntil = clock.monotonic() + SETTLE_MS
    await ledger.make(state, signal)
    log.info({ holders: state.holders.length, limit: state.limit, isFirst }, 'made the slot ledger')
    return state
  }

  /** Makes all slots ours. Requests about those of `inherited` may still be on their way. */
  async #adopt(state: LedgerState, inherited: readonly Holder[], signal: AbortSignal): Promise<void> {
    const { ledger, me, limit } = this.#options
    for (const holder of inherited) this.#slots.inherit(holder)
    const next: LedgerState = { ...adopt(state, me), limit: limit(state.limit) }
    const isSame = next.limit === state.limit && state.holders.every(({ claimant }) => claimant === me)
    if (!isSame) await ledger.replace(next, signal)
  }

  /** The ledger to decide by: read again where it may have changed, or has no slot for a download that was not seen before. */
  async #look(signal: AbortSignal): Promise<LedgerState> {
    const { ledger, onChange } = this.#options
    const { state } = ledger
    const isCurrent = !ledger.isOutdated && !this.#isLedgerDoubtful
    if (state !== undefined && isCurrent && this.#strays.areAllKnown(state)) return state
    const seen = this.#strays.seen()
    const loaded = await this.#load(signal, this.#mostHolders)
    for (const image of this.#strays.note(loaded, seen)) onChange(keyOf(image.metadata))
    return loaded
  }

  /**
   * More holders than there were or may be, and than another leader takes in one write, are somebody's invention: to look for the download of each of thousands
   * would hold up the queue for a minute, and what runs may not be among them.
   */
  get #mostHolders(): number | undefined {
    const { state } = this
    return state && Math.max(state.holders.length, this.#options.limit(state.limit)) + TAKEN_AT_ONCE
  }

  /** One step. Throws what the ledger throws; then it is loaded again. */
  async #step(signal: AbortSignal): Promise<void> {
    const { ledger, me, limit, clock } = this.#options
    const begun = clock.monotonic()
    const state = await this.#look(signal)
    // Somebody who does not lead any more has taken slots meanwhile: its request is as good as any, so it is ours to end now.
    const foreign = state.holders.filter(({ claimant }) => claimant !== me)
    if (foreign.length > 0) await this.#adopt(state, foreign, signal)
    this.#tellChanges()
    const current = ledger.state ?? state
    const decision = decideSlots({
      ledger: current,
      me,
      limit: limit(current.limit),
      isOver: (holder) => this.#slots.isOver(holder),
      unheld: this.#strays.countOurs(current),
      heads: (count) => this.queue.heads(count, (uid) => this.#stuck.has(uid)),
      isAdmitting: !this.#isQuiet,
    })
    await this.#handOver(async () => {
      if (decision.isChange) {
        await ledger.replace(decision.next, signal)
        if (decision.next.isSettling !== true) this.#endQuiet()
        this.#tellChanges()
      }
      await this.#slots.createDataVolumes(signal)
    })
    this.#slots.lookForEmpty(this.#strays.leaving(ledger.state), signal)
    this.#wakeLater(begun)
    // A large batch gets its slots in parts, and one part's creates may have taken their time. They read the ledger again where it is old.
    if (decision.hasMore || ledger.state !== this.#told) this.wake()
  }

  async #handOver(work: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancelTimer = this.#options.clock.setTimer(resolve, HAND_OVER_MS)
    this.#handingOver = promise
    try {
      await work()
    } finally {
      cancelTimer()
      resolve()
      this.#handingOver = undefined
    }
  }

  /**
   * The ledger says other than what the images were last told: by our write, by one whose answer was lost, or because it
   * was lost itself. Those that have a slot now leave the queue, those that have none any more queue again, and all are looked at.
   */
  #tellChanges(): void {
    const { metrics, images } = this.#options
    const known = this.#known
    const now = new Map((this.state?.holders ?? []).map((holder) => [holder.uid, holder]))
    const isIn = (told: ReadonlyMap<string, Holder>, holder: Holder) => {
      const other = told.get(holder.uid)
      return other === holder || (other !== undefined && slotKeyOf(other) === slotKeyOf(holder))
    }
    this.#known = now
    this.#told = this.state
    for (const holder of known.values()) {
      if (isIn(now, holder)) continue
      this.#slots.forget(holder)
      this.#options.onChange(keyOf(holder))
    }
    const fresh = [...now.values()].filter((holder) => !isIn(known, holder))
    this.#slots.noteDownloads(fresh)
    for (const holder of now.values()) {
      const start = this.queue.get(holder.uid)
      if (start !== undefined) {
        metrics.admitted(images.get(start.key))
        this.queue.remove(holder.uid)
        this.#slots.want(holder.uid, start)
      }
    }
    for (const holder of fresh) this.#options.onChange(keyOf(holder))
  }

  /**
   * Wakes when the next of the times that matter has come.
   * @param begun when the step began to decide: a time that has come since may not have counted in it
   */
  #wakeLater(begun: number): void {
    const { clock } = this.#options
    const coming = [this.#quietUntil ?? 0, ...this.#slots.times()].filter((time) => time > begun)
    this.#cancelTimer?.()
    this.#cancelTimer =
      coming.length === 0 ? undefined : clock.setTimer(() => this.wake(), Math.min(...coming) - clock.monotonic() + 1)
  }
}
