import { backoffMs } from '../../../base/backoff.ts'
import { sleep } from '../../../base/clock.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { KeyRateLimiter } from '../../../runtime/key-rate-limiter.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Holder, Refusal, SlotWait } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { AdmissionQueue } from './admission-queue.ts'
import { BlockedQueue } from './blocked-queue.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { SETTLE_MS } from './decide/requests.ts'
import { adopt, decideSlots, holdersByUid, slotKeyOf, slotsLeft, TAKEN_AT_ONCE } from './decide/slots.ts'
import { findHolders } from './downloads.ts'
import { HeldSlots } from './held-slots.ts'
import { Strays } from './strays.ts'

/** How long other work waits at most while slots are handed over and their DataVolumes are created. */
const HAND_OVER_MS = 250

/**
 * The only gate between the queue and the network. Nothing else writes the ledger. After each write it handles the slots
 * that it holds, one step at a time:
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
  readonly #blocked = new BlockedQueue()
  readonly #strays: Strays
  /** The state whose holders the images were last notified of. */
  #reported: LedgerState | undefined
  #handingOver: Promise<void> | undefined
  /** Until when nobody is admitted because a recreated ledger is settling. */
  #quietUntil: number | undefined
  #isLedgerDoubtful = false
  #wake = Promise.withResolvers<void>()
  /** Of adoptions: two processes that both believe that they lead would take all slots from each other without a pause. */
  readonly #adoptions = new KeyRateLimiter()
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
    return holdersByUid(this.state).get(uid)
  }

  /** Reports whether this download certainly has no slot. Its watch event may arrive before the one of its slot. */
  isStray(dataVolume: DataVolumeView): boolean {
    return this.#strays.isKnown(dataVolume)
  }

  /** Returns how many of the operator's downloads have no slot in the ledger as last read. */
  countStrays(): number {
    return this.state === undefined ? 0 : this.#strays.countOurs(this.state)
  }

  refusalOf(uid: string): Refusal | undefined {
    return this.#slots.refusals.get(uid)
  }

  /** Reports whether the image has a slot, but creating its DataVolume fails or takes too long. */
  isCreateFailing(uid: string): boolean {
    const slot = this.slotOf(uid)
    return slot !== undefined && this.#slots.isCreateFailing(slot)
  }

  /** Returns what was last found left of the download that the image has a slot for. */
  slotWaitsFor(uid: string): SlotWait | undefined {
    const slot = this.slotOf(uid)
    return slot && this.#slots.waitsFor(slot)
  }

  /**
   * Resolves when no handover of slots is in progress, or it takes too long. The end of a download causes many requests:
   * sent during a handover, they would slow down the few that determine how long a slot stays empty.
   */
  async giveWay(): Promise<void> {
    await this.#handingOver
  }

  /** Records what an image wants: a download, or none. */
  want(uid: string, start: Start | undefined): void {
    const isUnwritten = start !== undefined && !start.admissible
    const wasStuck = !isUnwritten && this.#blocked.setWritten(uid)
    if (isUnwritten) this.#blocked.see(uid, this.#options.clock.monotonic())
    // The ledger of which the images were last told. In one that was read since, a slot may have come and gone: that must not cost an image its place.
    const holder = holdersByUid(this.#reported).get(uid)
    const isQueueChanged = start !== undefined && holder === undefined ? this.queue.put(start) : this.queue.remove(uid)
    const isSlotChanged = holder !== undefined && this.#slots.want(holder, start)
    // Most plans want the same as before.
    if (isQueueChanged || isSlotChanged || wasStuck) this.wake()
  }

  /** Marks an image whose own writes fail or hang, so that it does not hold up those behind it. It may be gone by now. */
  setStuck(uid: string): void {
    if (this.queue.get(uid) !== undefined) this.#blocked.setStuck(uid, this.#options.clock.monotonic())
    this.wake()
  }

  /** The image is gone. */
  forget(uid: string): void {
    this.want(uid, undefined)
    this.#blocked.forget(uid)
    this.#slots.refusals.forget(uid)
    // Its downloads no longer count.
    this.wake()
  }

  /** Handles a watch event: the ledger changed, or is gone (undefined). Unless this process wrote it, it is read before the next decision. */
  checkLedger(seen: KubeObject | undefined): void {
    const { ledger } = this.#options
    if (seen === undefined) this.#isLedgerDoubtful = true
    else ledger.see(seen)
    if (seen === undefined || ledger.isOutdated) this.wake()
  }

  wake(): void {
    this.#wake.resolve()
  }

  /**
   * The caller must call this at every change of a DataVolume, a claim or a pod that a slot may depend on: what is gone cannot be inspected later.
   * @param changed what it is now, or was when it went
   */
  downloadsChanged(changed: KubeObject): void {
    const { state } = this
    if (state !== undefined) this.#slots.noteChange(changed, [...state.holders, ...this.#strays.standIns(state)])
    this.wake()
  }

  /** Takes responsibility for the ledger. Everything afterwards relies on what this reads and writes. */
  async takeOver(signal: AbortSignal): Promise<void> {
    await this.#persist(signal, async () => {
      const state = await this.#load(signal)
      // Another process, or this one in an earlier term, may have taken these slots. Its requests may still be in flight.
      await this.#adopt(state, state.holders, signal)
      // Not earlier: from here on nobody else takes slots, so no further downloads of others can start and end.
      await this.#options.refresh(signal)
      this.#reportChanges()
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

  /** Retries until the work succeeds: nothing else can be done without the ledger. */
  async #persist(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await work()
      } catch (error) {
        // The outcome of a write may be unknown. The next read of the ledger shows it.
        this.#isLedgerDoubtful = true
        if (!signal.aborted) await this.#pause(error, failures, signal)
      }
    }
  }

  /** Returns at once if somebody else wrote the ledger, so that it is read again. Backs off after any other error. */
  async #pause(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random, log, ledger } = this.#options
    const isRace = isApiError(error, 'Conflict', 'AlreadyExists') && failures < 3
    if (isRace) return log.debug({ error: String(error) }, 'the ledger was written by somebody else')
    const retryAfterMs = isApiError(error) ? (error.retryAfterMs ?? 0) : 0
    const waitMs = Math.max(retryAfterMs, backoffMs(failures, 100, 5_000, random))
    const facts = { error: String(error), retryInMs: Math.round(waitMs), limit: ledger.state?.limit }
    log.warn(facts, 'admission is held up')
    await sleep(clock, waitMs, signal).catch(() => undefined)
  }

  /** Reads the ledger live, and recreates it if there is none. @param most maximum number of holders, if known */
  async #load(signal: AbortSignal, most?: number): Promise<LedgerState> {
    this.#isLedgerDoubtful = false
    const state = await this.#options.ledger.load(signal, most)
    if (state === undefined) return await this.#rebuild(signal)
    this.#noteSettling(state)
    return state
  }

  get #isQuiet(): boolean {
    return this.#options.clock.monotonic() < (this.#quietUntil ?? 0)
  }

  /** A wait in progress continues without the mark, since somebody else may have removed it. */
  #noteSettling({ isSettling }: LedgerState): void {
    if (isSettling === true) this.#quietUntil ??= this.#options.clock.monotonic() + SETTLE_MS
    else if (!this.#isQuiet) this.#quietUntil = undefined
  }

  /**
   * Creates the ledger on the first start, or after somebody deleted or corrupted it. A live list finds the running downloads.
   * A leader may have taken slots just before, which are unknown. Nobody is admitted until its requests have settled, even if the leader changes.
   * If no image has a ticket, no slot was ever taken, and the first image is admitted at once.
   */
  async #rebuild(signal: AbortSignal): Promise<LedgerState> {
    const { ledger, images, limit, log, clock } = this.#options
    const holders = await findHolders(this.#options, signal)
    const isTouched = [...images.values()].some(
      ({ status }) => status.ticket !== undefined || status.attempts !== undefined,
    )
    const isFirst = holders.length === 0 && !isTouched && !ledger.isGarbled
    const state: LedgerState = { limit: limit(ledger.state?.limit), holders, ...(!isFirst && { isSettling: true }) }
    // Set before the write, whose response may be lost.
    if (!isFirst) this.#quietUntil = clock.monotonic() + SETTLE_MS
    await ledger.make(state, signal)
    log.info({ holders: state.holders.length, limit: state.limit, isFirst }, 'made the slot ledger')
    return state
  }

  /** Makes this process the claimant of all slots. Requests for the slots in `inherited` may still be in flight. */
  async #adopt(state: LedgerState, inherited: readonly Holder[], signal: AbortSignal): Promise<void> {
    const { ledger, me, limit } = this.#options
    for (const holder of inherited) this.#slots.inherit(holder)
    const next: LedgerState = { ...adopt(state, me), limit: limit(state.limit) }
    const isSame = next.limit === state.limit && state.holders.every(({ claimant }) => claimant === me)
    if (!isSame) await ledger.replace(next, signal)
  }

  /** Returns the ledger to decide by. Reads it again if it may have changed, or has no slot for a newly seen download. */
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
   * More holders than before or than the limit, plus what another leader takes in one write, must be forged. Live reads for
   * thousands of forged holders would hold up the queue for a minute, and the running downloads may not be among them.
   */
  get #mostHolders(): number | undefined {
    const { state } = this
    return state && Math.max(state.holders.length, this.#options.limit(state.limit)) + TAKEN_AT_ONCE
  }

  /** Runs one step. Throws the errors of the ledger, which is then loaded again. */
  async #step(signal: AbortSignal): Promise<void> {
    const { ledger, me, limit, clock } = this.#options
    const begun = clock.monotonic()
    const state = await this.#look(signal)
    // A former leader has taken slots in the meantime. They are as valid as any, and this process is now responsible for them.
    const foreign = state.holders.filter(({ claimant }) => claimant !== me)
    if (foreign.length > 0) {
      const waitMs = this.#adoptions.waitMs('', begun)
      if (waitMs > 0) return this.#wakeAt(begun + waitMs)
      this.#adoptions.take('', begun)
      await this.#adopt(state, foreign, signal)
    }
    this.#reportChanges()
    const current = ledger.state ?? state
    const mine = current.holders.filter(({ claimant }) => claimant === me)
    const facts = {
      ledger: current,
      me,
      limit: limit(current.limit),
      over: new Set(mine.filter((holder) => this.#slots.isOver(holder))),
      unheld: this.#strays.countOurs(current),
      isAdmitting: !this.#isQuiet,
    }
    const left = slotsLeft(facts)
    const decision = decideSlots(facts, left, this.#heads(Math.min(left.free, TAKEN_AT_ONCE), begun))
    await this.#handOver(async () => {
      if (decision.isChange) {
        await ledger.replace(decision.next, signal)
        this.#noteSettling(decision.next)
        this.#reportChanges()
      }
      await this.#slots.createDataVolumes(signal)
    })
    this.#slots.check(this.#strays.standIns(ledger.state ?? current), signal)
    // Not by the present time: what became possible since this step began may not have been considered.
    const own = [this.#quietUntil ?? 0, this.#blocked.endsAt ?? 0].filter((time) => time > begun)
    this.#wakeAt(Math.min(...own, this.#slots.nextTimeAfter(begun)))
    // A large batch gets its slots in several steps. Slow creates may have read the ledger again, so it may be newer than what was decided by.
    if (decision.hasMore || ledger.state !== this.#reported) this.wake()
  }

  /** Returns the next images, at most `count`. One that holds up others for too long is passed: it keeps its ticket, so it is next when it can be. */
  #heads(count: number, now: number): readonly Start[] {
    const { heads, passed, blocker } = this.queue.heads(count, (uid) => this.#blocked.isPassed(uid, now))
    this.#blocked.note(blocker?.uid, now)
    for (const { uid, key, ticket } of passed) {
      if (!this.#blocked.tell(uid, now)) continue
      const text =
        'an image cannot start yet: its ticket or finalizer could not be written; images behind it get slots first'
      this.#options.log.warn({ image: key, ticket }, text)
    }
    return heads
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
   * Notifies the images of changes in the ledger: by our write, by a write whose response was lost, or by the loss of the
   * ledger. Images that now have a slot leave the queue, images that lost theirs queue again, and all of these are reconciled.
   */
  #reportChanges(): void {
    // Most steps change nothing.
    if (this.state === this.#reported) return
    const { metrics, images, onChange } = this.#options
    const before = holdersByUid(this.#reported)
    const now = holdersByUid(this.state)
    const isPaused = (state: LedgerState | undefined) => state?.limit === 0
    const isPauseChanged = isPaused(this.#reported) !== isPaused(this.state)
    const without = (holders: typeof now, others: typeof now) =>
      [...holders.values()].filter((holder) => {
        const other = others.get(holder.uid)
        return other === undefined || slotKeyOf(other) !== slotKeyOf(holder)
      })
    this.#reported = this.state
    for (const holder of without(before, now)) {
      this.#slots.lose(holder)
      onChange(keyOf(holder))
    }
    const fresh = without(now, before)
    this.#slots.take(fresh)
    for (const holder of now.values()) {
      const { uid } = holder
      const start = this.queue.get(uid)
      if (start === undefined) continue
      metrics.admitted(images.get(start.key))
      this.queue.remove(uid)
      this.#blocked.forget(uid)
      this.#slots.want(holder, start)
    }
    // Those that have not begun say whether they can.
    for (const holder of isPauseChanged ? now.values() : fresh) onChange(keyOf(holder))
  }

  /** @param time by the monotonic clock; `Infinity`: never */
  #wakeAt(time: number): void {
    const { clock } = this.#options
    this.#cancelTimer?.()
    const delayMs = time - clock.monotonic() + 1
    this.#cancelTimer = Number.isFinite(time) ? clock.setTimer(() => this.wake(), delayMs) : undefined
  }
}
