import { ownerAmong } from '../../../cluster/ownership.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeClient } from '../../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { backoffMs } from '../../../runtime/backoff.ts'
import { type Clock, sleep } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/log.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Start } from '../decide/image-plan.ts'
import { isFinished } from '../decide/judge.ts'
import { isRecorded } from '../decide/status.ts'
import type { ImageMetrics } from '../image-metrics.ts'
import type { ClaimView, DataVolumeView, ImageView, PodView } from '../views.ts'
import type { Holder, Refusal } from '../world.ts'
import { Claims, SETTLE_MS } from './claims.ts'
import { AdmissionQueue } from './decide/admission-queue.ts'
import type { LedgerState } from './decide/ledger-content.ts'
import { adopt, CLAIMS_AT_ONCE, claimOf, decideSlots, isHeldBy, volumeNameOf } from './decide/slots.ts'
import { findHolders, holderOf, IMPORTING_INDEX } from './downloads.ts'
import type { Patience } from './orphaned-downloads.ts'
import type { SlotLedger } from './slot-ledger.ts'

/** So long after slots were handed on, others may be kept waiting for the DataVolumes. */
const HAND_OVER_MS = 250

export interface AdmissionOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly metrics: ImageMetrics
  readonly ledger: SlotLedger
  /** Identity of this process. */
  readonly me: string
  readonly images: Store<ImageView>
  readonly dataVolumes: Store<DataVolumeView>
  /** Claims of volumes. */
  readonly volumeClaims: Store<ClaimView>
  readonly pods: Store<PodView>
  /** The limit that the policy wants, given what the ledger says. */
  readonly limit: (ledgerLimit: number | undefined) => number
  /** The policy's, for downloads that have lost their owner. */
  readonly patience: () => Patience
  /** Brings the copies of images and DataVolumes up to date: who led before has changed them until a moment ago. Throws ApiErrors. */
  readonly refresh: (signal: AbortSignal) => Promise<void>
  /** The image should be looked at: it got a slot, lost it, or was refused. */
  readonly onChange: (key: string) => void
}

/**
 * The one gate between the queue and the network. It alone writes the ledger, and after each write sees to the claims in
 * it, one step after another:
 *
 * ```
 * wake ─▶ decide (pure) ─▶ ledger: releases and claims in one compare-and-swap ─▶ DataVolumes of the claims, in ticket order
 *  ▲                                                                                       │
 *  └── DataVolume changed · download wanted · policy changed · slot proved empty ◀──────────┘
 * ```
 */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #queue = new AdmissionQueue()
  readonly #claims: Claims
  readonly #stuck = new Set<string>()
  /** Downloads that no slot was held for in a ledger that was read after they were seen, by uid. */
  #strays: ReadonlySet<string> = new Set()
  /** Holders that the images were last told of, by uid of the image. */
  #known: ReadonlyMap<string, Holder> = new Map()
  #handingOver: Promise<void> | undefined
  #quietUntil = 0
  #isLedgerDoubtful = false
  #wake = Promise.withResolvers<void>()
  #failures = 0
  #cancelTimer: (() => void) | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#claims = new Claims({
      ...options,
      wake: () => this.wake(),
      onLedgerLost: () => this.checkLedger(undefined),
    })
  }

  get state(): LedgerState | undefined {
    return this.#options.ledger.state
  }

  get queue(): AdmissionQueue {
    return this.#queue
  }

  slotOf(uid: string): Holder | undefined {
    return this.state?.holders.find((holder) => holder.uid === uid)
  }

  /** Whether this download has no slot, for certain: the watch may tell of it before it tells of its claim. */
  isStray(dataVolume: DataVolumeView): boolean {
    if (this.#claims.isOverAndLeft(dataVolume)) return true
    return !isFinished(dataVolume) && this.#strays.has(dataVolume.metadata.uid ?? '')
  }

  refusalOf(uid: string): Refusal | undefined {
    return this.#claims.refusalOf(uid)
  }

  /** Whether the image has a slot, and its DataVolume is asked for in vain. */
  isAskedInVain(uid: string): boolean {
    const slot = this.slotOf(uid)
    return slot !== undefined && this.#claims.isAskedInVain(slot)
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
    if (start === undefined || start.admissible) this.#stuck.delete(uid)
    // As last told, not as last read: a slot that comes and goes before anybody is told of it takes nobody out of the queue.
    const hasSlot = this.#known.has(uid)
    if (start !== undefined && !hasSlot) this.#queue.put(start)
    else this.#queue.remove(uid)
    this.#claims.want(uid, hasSlot ? start : undefined)
    this.wake()
  }

  /** The image's own writes fail: it must not hold up those behind it. */
  setStuck(uid: string): void {
    this.#stuck.add(uid)
    this.wake()
  }

  /** The image is gone. */
  forget(uid: string): void {
    this.want(uid, undefined)
    this.#claims.forgetImage(uid)
  }

  /** The ledger changed, or is gone (undefined). If that was not by our own write, it is read before anything else is decided. */
  checkLedger(seen: KubeObject | undefined): void {
    if (seen === undefined) this.#isLedgerDoubtful = true
    else this.#options.ledger.see(seen)
    this.wake()
  }

  wake(): void {
    this.#wake.resolve()
  }

  /** A DataVolume, a claim of one or a pod has changed: to be called at each such change, for what is gone tells nothing any more. */
  downloadsChanged(): void {
    this.#claims.noteDownloads()
    this.wake()
  }

  /** Becomes the one who answers for the ledger. Everything after rests on what it reads and writes here. */
  async takeOver(signal: AbortSignal): Promise<void> {
    await this.#persist(signal, async () => {
      const state = await this.#load(signal)
      // Whoever claimed them, and be it this process in an earlier term: its requests may still be on their way.
      await this.#adopt(state, state.holders, signal)
      // Only now: nobody else claims from here on, so nobody else comes to an end either.
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

  /** The ledger as it is now, made anew where there is none. @param most holders that it can have, where that is known */
  async #load(signal: AbortSignal, most?: number): Promise<LedgerState> {
    this.#isLedgerDoubtful = false
    return (await this.#options.ledger.load(signal, most)) ?? (await this.#rebuild(signal))
  }

  /**
   * There is no ledger: the first start, or somebody deleted or garbled it. Whoever downloads is found by a live list.
   * Claims that a leader made just before are unknown, so nobody is admitted until their requests have settled; unless
   * no image has ever been given a ticket, for then there was no claim either.
   */
  async #rebuild(signal: AbortSignal): Promise<LedgerState> {
    const { ledger, images, limit, log, clock, client, me } = this.#options
    const holders = await findHolders(client, images, me, { signal })
    const state: LedgerState = { limit: limit(ledger.state?.limit), holders }
    const isTouched = [...images.values()].some(
      ({ status }) => status.ticket !== undefined || status.attempts !== undefined,
    )
    const isFirst = state.holders.length === 0 && !isTouched && !ledger.isGarbled
    // Before the write: its answer may be lost.
    if (!isFirst) this.#quietUntil = clock.monotonic() + SETTLE_MS
    await ledger.make(state, signal)
    log.info({ holders: state.holders.length, limit: state.limit, isFirst }, 'made the slot ledger')
    return state
  }

  /** Makes all slots ours. Requests about those of `inherited` may still be on their way. */
  async #adopt(state: LedgerState, inherited: readonly Holder[], signal: AbortSignal): Promise<void> {
    const { ledger, me, limit } = this.#options
    for (const holder of inherited) this.#claims.inherit(holder)
    const next: LedgerState = { ...adopt(state, me), limit: limit(state.limit) }
    const isSame = next.limit === state.limit && state.holders.every(({ claimant }) => claimant === me)
    if (!isSame) await ledger.replace(next, signal)
  }

  /** The ledger to decide by: read again where it may have changed, or has no slot for a download that was not seen before. */
  async #look(signal: AbortSignal): Promise<LedgerState> {
    const { ledger, dataVolumes, images, onChange } = this.#options
    const { state } = ledger
    const isCurrent = !ledger.isOutdated && !this.#isLedgerDoubtful
    if (state !== undefined && isCurrent && this.#unheld(state).every((one) => this.isStray(one))) return state
    const seen = new Set(dataVolumes.find(IMPORTING_INDEX, 'ours').map(({ metadata }) => metadata.uid))
    const loaded = await this.#load(signal, this.#mostHolders)
    const strays = this.#unheld(loaded).filter(({ metadata }) => seen.has(metadata.uid))
    const news = strays.filter((one) => !this.isStray(one))
    this.#strays = new Set(strays.map(({ metadata }) => metadata.uid ?? ''))
    for (const one of news) {
      const image = ownerAmong(one, images)
      if (image !== undefined) onChange(keyOf(image.metadata))
    }
    return loaded
  }

  /**
   * More holders than there were or may be, and than another leader claims in one write, are somebody's invention: to look for the download of each of thousands
   * would hold up the queue for a minute, and what runs may not be among them.
   */
  get #mostHolders(): number | undefined {
    const { state } = this
    return state && Math.max(state.holders.length, this.#options.limit(state.limit)) + CLAIMS_AT_ONCE
  }

  /** One step. Throws what the ledger throws; then it is loaded again. */
  async #step(signal: AbortSignal): Promise<void> {
    const { ledger, me, clock, limit } = this.#options
    const state = await this.#look(signal)
    // Somebody who does not lead any more has claimed meanwhile: its request is as good as any, so it is ours to end now.
    const foreign = state.holders.filter(({ claimant }) => claimant !== me)
    if (foreign.length > 0) await this.#adopt(state, foreign, signal)
    this.#tellChanges()
    this.#claims.noteDownloads()
    const current = ledger.state ?? state
    const decision = decideSlots({
      ledger: current,
      me,
      limit: limit(current.limit),
      isOver: (holder) => this.#claims.isOver(holder),
      unheld: this.#unheld(current).filter((one) => this.#isOurs(one)).length,
      heads: (count) => this.#queue.heads(count, (uid) => this.#stuck.has(uid)),
      isAdmitting: clock.monotonic() >= this.#quietUntil,
    })
    await this.#handOver(async () => {
      if (decision.isChange) {
        await ledger.replace(decision.next, signal)
        this.#tellChanges()
      }
      await this.#claims.createDataVolumes(signal)
    })
    this.#claims.lookForEmpty(this.#leavingStrays(), signal)
    this.#wakeLater()
    // A large batch is claimed in parts, and one part's creates may have taken their time.
    if (decision.hasMore) this.wake()
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
   * was lost itself. Whoever has a slot now leaves the queue, whoever has none any more queues again, and all are looked at.
   */
  #tellChanges(): void {
    const { metrics, images } = this.#options
    const known = this.#known
    const now = new Map((this.state?.holders ?? []).map((holder) => [holder.uid, holder]))
    const isIn = (told: ReadonlyMap<string, Holder>, holder: Holder) => {
      const other = told.get(holder.uid)
      return other !== undefined && claimOf(other) === claimOf(holder)
    }
    this.#known = now
    for (const holder of known.values()) {
      if (isIn(now, holder)) continue
      this.#claims.forget(holder)
      this.#options.onChange(keyOf(holder))
    }
    for (const holder of now.values()) {
      const start = this.#queue.get(holder.uid)
      if (start !== undefined) {
        metrics.admitted(images.get(start.key))
        this.#queue.remove(holder.uid)
        this.#claims.want(holder.uid, start)
      }
      if (!isIn(known, holder)) this.#options.onChange(keyOf(holder))
    }
  }

  #unheld({ holders }: LedgerState): DataVolumeView[] {
    const { dataVolumes, images } = this.#options
    // Anybody can name an owner that does not exist: such a one counts for nothing.
    const importing = dataVolumes.find(IMPORTING_INDEX, 'ours').filter((one) => ownerAmong(one, images) !== undefined)
    const byVolume = new Map(holders.map((one) => [keyOf({ namespace: one.namespace, name: volumeNameOf(one) }), one]))
    const isHeld = (one: DataVolumeView) => {
      const holder = byVolume.get(keyOf(one.metadata))
      return holder !== undefined && isHeldBy(one, holder)
    }
    return importing.filter((one) => !isHeld(one) && !this.#claims.isOverAndLeft(one))
  }

  /**
   * Whether we have made this download, as far as its image or this process remembers. Whoever may write in the namespace of an image can make others that look the same: those
   * are deleted too, and take no slot from anybody, nor because their end is written down.
   */
  #isOurs(dataVolume: DataVolumeView): boolean {
    const { uid } = dataVolume.metadata
    const status = ownerAmong(dataVolume, this.#options.images)?.status
    if (status === undefined || uid === undefined) return false
    const isUnderWay = status.dataVolumeUID === uid && !isRecorded(status)
    const hasSucceeded = status.attempts?.some((one) => one.dataVolumeUID === uid && one.outcome === 'Succeeded')
    return this.#claims.wasHeld(dataVolume) || isUnderWay || hasSucceeded === true
  }

  /** Downloads without a slot that are being deleted, as what would hold one: they count until they can download nothing any more. */
  #leavingStrays(): Holder[] {
    const { images, me } = this.#options
    const strays = this.state === undefined ? [] : this.#unheld(this.state)
    const isLeaving = ({ metadata }: DataVolumeView) => metadata.deletionTimestamp !== undefined
    return strays.filter(isLeaving).flatMap((one) => {
      const image = ownerAmong(one, images)
      return (image && holderOf(image, one, me)) ?? []
    })
  }

  /** Wakes when the next of the times that matter has come. */
  #wakeLater(): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    const quiet = this.#quietUntil > now ? [this.#quietUntil] : []
    const times = [...quiet, ...[this.#claims.nextTime(now)].filter((time) => time !== undefined)]
    this.#cancelTimer?.()
    this.#cancelTimer = times.length === 0 ? undefined : clock.setTimer(() => this.wake(), Math.min(...times) - now + 1)
  }
}
