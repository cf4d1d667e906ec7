import { childName } from '@open-terrain/constructs'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Store } from '../../runtime/store.ts'
import { AdmissionQueue, compareTickets } from './admission-queue.ts'
import { ClaimNotes } from './claim-notes.ts'
import {
  attemptOf,
  type CreateOutcome,
  createDataVolume,
  findHolders,
  hasImporter,
  IMPORTING_INDEX,
  lookForDataVolume,
  refusal,
} from './downloads.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { Start } from './image-plan.ts'
import { isFinished } from './judge.ts'
import { RefusalBook } from './refusal-book.ts'
import { CLAIM_VALID_MS, type LedgerState, type SlotLedger } from './slot-ledger.ts'
import { adopt, claimOf, decideSlots, isHeldBy } from './slots.ts'
import { type DataVolumeView, type ImageView, isControlledBy } from './views.ts'
import type { Holder, Refusal } from './world.ts'

/**
 * After a claim changes hands, requests of its former holder may still arrive: it sends none later than 5 s after it
 * asked the ledger, and none takes longer than 10 s. So long only a download that is known to be over frees the slot.
 */
const SETTLE_MS = 15_000
const LOOK_AGAIN_MS = 1_000
/** An API server, or a webhook, that answers with errors so often gets the slot back for somebody else. */
const ANSWERED_FAILURES = 4

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
  /** The limit that the policy wants, given what the ledger says. */
  readonly limit: (ledgerLimit: number | undefined) => number
  /** The image should be looked at: it got a slot, lost it, or was refused. */
  readonly onChange: (key: string) => void
}

/**
 * The one gate between the queue and the network. It alone writes the ledger and creates DataVolumes, one step after
 * another:
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
  /** What holders of slots should download. */
  readonly #starts = new Map<string, Start>()
  readonly #refusals: RefusalBook
  readonly #stuck = new Set<string>()
  readonly #notes = new ClaimNotes()
  /** Holders that the images were last told of, by claim. */
  #known = new Map<string, Holder>()
  #quietUntil = 0
  #isLedgerDoubtful = false
  #wake = Promise.withResolvers<void>()
  #failures = 0
  #cancelTimer: (() => void) | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#refusals = new RefusalBook(options.clock)
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

  refusalOf(uid: string): Refusal | undefined {
    return this.#refusals.get(uid)
  }

  /** Takes in what an image wants: a download, or none. */
  want(uid: string, start: Start | undefined): void {
    this.#stuck.delete(uid)
    const hasSlot = this.slotOf(uid) !== undefined
    if (start !== undefined && !hasSlot) this.#queue.put(start)
    else this.#queue.remove(uid)
    if (start !== undefined && hasSlot) this.#starts.set(uid, start)
    else this.#starts.delete(uid)
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
    this.#refusals.forget(uid)
  }

  /** The ledger changed, or is gone (undefined). If that was not by our own write, look before anything else is decided. */
  checkLedger(seen: KubeObject | undefined): void {
    if (this.#options.ledger.isNews(seen)) this.#isLedgerDoubtful = true
    this.wake()
  }

  wake(): void {
    this.#wake.resolve()
  }

  /** Becomes the one who answers for the ledger. Everything after rests on what it reads and writes here. */
  async takeOver(signal: AbortSignal): Promise<void> {
    await this.#persist(signal, async () => {
      const state = await this.#load()
      // Whoever claimed them, and be it this process in an earlier term: its requests may still be on their way.
      await this.#adopt(state, state.holders)
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

  /** The ledger as it is now, made anew where there is none. */
  async #load(): Promise<LedgerState> {
    this.#isLedgerDoubtful = false
    return (await this.#options.ledger.load()) ?? (await this.#rebuild())
  }

  /**
   * There is no ledger: the first start, or somebody deleted or garbled it. Whoever downloads is found by a live list.
   * Claims that a leader made just before are unknown, so nobody is admitted until their requests have settled; unless
   * no image has ever been given a ticket, for then there was no claim either.
   */
  async #rebuild(): Promise<LedgerState> {
    const { ledger, images, limit, log, clock, client, me } = this.#options
    const state: LedgerState = { limit: limit(ledger.state?.limit), holders: await findHolders(client, me) }
    const isTouched = [...images.values()].some(
      ({ status }) => status.ticket !== undefined || status.attempts !== undefined,
    )
    const isFirst = state.holders.length === 0 && !isTouched && !ledger.isGarbled
    // Before the write: its answer may be lost.
    if (!isFirst) this.#quietUntil = clock.monotonic() + SETTLE_MS
    await ledger.make(state)
    log.info({ holders: state.holders.length, limit: state.limit, isFirst }, 'made the slot ledger')
    return state
  }

  /** Makes all slots ours. Requests about those of `inherited` may still be on their way. */
  async #adopt(state: LedgerState, inherited: readonly Holder[]): Promise<void> {
    const { ledger, me, limit, clock } = this.#options
    for (const holder of inherited) this.#notes.settledAt.set(claimOf(holder), clock.monotonic() + SETTLE_MS)
    const next: LedgerState = { ...adopt(state, me), limit: limit(state.limit) }
    const isSame = next.limit === state.limit && state.holders.every(({ claimant }) => claimant === me)
    if (!isSame) await ledger.replace(next)
  }

  /** One step. Throws what the ledger throws; then it is loaded again. */
  async #step(signal: AbortSignal): Promise<void> {
    const { ledger, me, clock, limit, metrics } = this.#options
    const state = this.#isLedgerDoubtful || ledger.state === undefined ? await this.#load() : ledger.state
    // Somebody who does not lead any more has claimed meanwhile: its request is as good as any, so it is ours to end now.
    const foreign = state.holders.filter(({ claimant }) => claimant !== me)
    if (foreign.length > 0) await this.#adopt(state, foreign)
    this.#tellChanges()
    const current = ledger.state ?? state
    const decision = decideSlots({
      ledger: current,
      me,
      limit: limit(current.limit),
      isOver: (holder) => this.#isOver(holder),
      unheld: this.#unheld(current),
      heads: (count) => this.#queue.heads(count, (uid) => this.#stuck.has(uid)),
      isAdmitting: clock.monotonic() >= this.#quietUntil,
    })
    if (decision.isChange) {
      await ledger.replace(decision.next)
      for (const { key } of decision.claimed) metrics.admitted(this.#options.images.get(key)?.status.queuedAt)
      this.#tellChanges()
    }
    metrics.observeSlots(decision.next.holders.length, decision.next.limit, this.#queue.size)
    await this.#createDataVolumes(signal)
    this.#lookForEmptySlots()
    this.#wakeLater()
    // A large batch is claimed in parts, and one part's creates may have taken their time.
    if (decision.hasMore) this.wake()
  }

  /**
   * The ledger says other than what the images were last told: by our write, by one whose answer was lost, or because it
   * was lost itself. Whoever has a slot now leaves the queue, whoever has none any more queues again, and all are looked at.
   */
  #tellChanges(): void {
    const now = new Map((this.state?.holders ?? []).map((holder) => [claimOf(holder), holder]))
    for (const [claim, holder] of this.#known) {
      if (now.has(claim)) continue
      this.#notes.forget(claim)
      this.#starts.delete(holder.uid)
      this.#options.onChange(keyOf(holder))
    }
    for (const [claim, holder] of now) {
      const start = this.#queue.get(holder.uid)
      if (start !== undefined) {
        this.#queue.remove(holder.uid)
        this.#starts.set(holder.uid, start)
      }
      if (!this.#known.has(claim)) this.#options.onChange(keyOf(holder))
    }
    this.#known = now
  }

  #isOver(holder: Holder): boolean {
    const dataVolume = this.#dataVolumeOf(holder)
    if (dataVolume === undefined) return this.#notes.over.has(claimOf(holder))
    return isFinished(dataVolume) && attemptOf(dataVolume) === holder.attempt
  }

  #dataVolumeOf({ uid, namespace, name, revision }: Holder): DataVolumeView | undefined {
    const found = this.#options.dataVolumes.get(keyOf({ namespace, name: childName(name, revision) }))
    return found !== undefined && isControlledBy(found, uid) ? found : undefined
  }

  #unheld({ holders }: LedgerState): number {
    const importing = this.#options.dataVolumes.find(IMPORTING_INDEX, 'ours')
    return importing.filter((one) => !holders.some((holder) => isHeldBy(one, holder))).length
  }

  /** DataVolumes of all claims that have none yet, in ticket order; one that fails does not hold the next. */
  async #createDataVolumes(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic()
    const wanted = (this.state?.holders ?? []).flatMap((holder) => {
      const claim = claimOf(holder)
      const start = this.#startOf(holder)
      const isFree = !this.#notes.over.has(claim) && !this.#notes.verifying.has(claim) && this.#notes.isDue(claim, now)
      return start !== undefined && isFree && this.#dataVolumeOf(holder) === undefined ? [start] : []
    })
    for (const start of wanted.toSorted(compareTickets)) {
      if (signal.aborted) return
      if (this.#isStillAsPlanned(start)) await this.#create(start, signal)
    }
  }

  #startOf(holder: Holder): Start | undefined {
    const start = this.#starts.get(holder.uid)
    return start !== undefined && claimOf(start) === claimOf(holder) ? start : undefined
  }

  /** The image was not deleted or changed since; if it was, its own reconcile says what next. */
  #isStillAsPlanned({ key, uid, generation }: Start): boolean {
    const image = this.#options.images.get(key)
    const isAlive = image?.metadata.uid === uid && image.metadata.deletionTimestamp === undefined
    return isAlive && image.metadata.generation === generation
  }

  async #create(start: Start, signal: AbortSignal): Promise<void> {
    const { ledger, client, clock, me } = this.#options
    const claim = claimOf(start)
    // A claim is only as good as the answer that shows it is young; looked at again right before the request leaves.
    if (!ledger.isFresh && (await ledger.load()) === undefined) {
      this.checkLedger(undefined)
      return
    }
    const isClaimed = () =>
      ledger.state?.holders.some((holder) => holder.claimant === me && claimOf(holder) === claim) === true
    if (!isClaimed() || !ledger.isFresh) return
    this.#notes.settledAt.set(claim, clock.monotonic() + SETTLE_MS)
    const options = { timeoutMs: CLAIM_VALID_MS, signal, isStillValid: () => ledger.isFresh }
    await this.#takeOutcome(start, await createDataVolume(client, start, options))
    this.#options.onChange(start.key)
  }

  async #takeOutcome(start: Start, outcome: CreateOutcome): Promise<void> {
    const { log, clock, dataVolumes, metrics, random } = this.#options
    const claim = claimOf(start)
    switch (outcome.kind) {
      case 'created':
        dataVolumes.observeWrite(outcome.dataVolume)
        // Its name is taken now: whatever still arrives meets AlreadyExists.
        this.#notes.settledAt.delete(claim)
        this.#starts.delete(start.uid)
        this.#refusals.forget(start.uid)
        return metrics.started()
      case 'namesake':
        return await this.#handleNamesake(start)
      case 'refused':
        log.warn({ key: start.key, error: outcome.error }, 'the DataVolume was refused')
        return this.#refuse(start, outcome.refusal, outcome.isFinal)
      case 'failed': {
        const now = clock.monotonic()
        const answered = this.#notes.failed(claim, now, outcome, random)
        if (outcome.mayHappen) this.#notes.doubt(claim, now + SETTLE_MS)
        log.warn({ key: start.key, error: outcome.error, answered }, 'the DataVolume could not be created')
        const message = `the DataVolume could not be created: ${outcome.error}`
        if (answered >= ANSWERED_FAILURES) this.#refuse(start, refusal(start, 'CreateFailed', message), false)
      }
    }
  }

  /** One of that name exists: what we were about to make, one of ours that is on its way out, or a stranger's. */
  async #handleNamesake(start: Start): Promise<void> {
    const { client, dataVolumes, clock, random } = this.#options
    const holder = this.slotOf(start.uid)
    this.#notes.failed(claimOf(start), clock.monotonic(), { isAnswered: false, retryAfterMs: 0 }, random)
    if (holder === undefined) return
    const found = await lookForDataVolume(client, holder).catch(() => undefined)
    if (found === 'foreign') {
      const name = start.target.volumeName
      const message = `DataVolume ${name} exists and is not ours: it is left alone; delete or rename it to go on`
      this.#refuse(start, refusal(start, 'NameConflict', message), false)
    } else if (found !== undefined) {
      dataVolumes.observeWrite(found)
    }
  }

  /** It is not asked for again. The slot is free, unless an earlier request may still be carried out: then a look tells, later. */
  #refuse(start: Start, refused: Omit<Refusal, 'until'>, isFinal: boolean): void {
    this.#refusals.add(start.uid, refused, isFinal)
    const claim = claimOf(start)
    if (this.#notes.settle(claim, this.#options.clock.monotonic())) this.#notes.over.add(claim)
    this.#starts.delete(start.uid)
    this.wake()
  }

  /** Slots whose DataVolume is not there and not about to be: a live look tells whether they are empty. */
  #lookForEmptySlots(): void {
    for (const holder of this.state?.holders ?? []) {
      const claim = claimOf(holder)
      if (!this.#maybeEmpty(holder) || this.#notes.verifying.has(claim)) continue
      this.#notes.verifying.add(claim)
      void this.#verify(holder).finally(() => {
        this.#notes.verifying.delete(claim)
        this.wake()
      })
    }
  }

  #maybeEmpty(holder: Holder): boolean {
    const claim = claimOf(holder)
    const start = this.#startOf(holder)
    const isToBeMade = start !== undefined && this.#isStillAsPlanned(start)
    const isSettled = this.#notes.isSettled(claim, this.#options.clock.monotonic())
    return !isToBeMade && isSettled && !this.#notes.over.has(claim) && this.#dataVolumeOf(holder) === undefined
  }

  /** DataVolume 404 alone is not enough: people delete in the background, and its importer lives on for a while. */
  async #verify(holder: Holder): Promise<void> {
    const { client, clock, log, dataVolumes } = this.#options
    try {
      const found = await lookForDataVolume(client, holder)
      const isEmpty = (found === undefined || found === 'foreign') && !(await hasImporter(client, holder))
      if (found !== undefined && found !== 'foreign') dataVolumes.observeWrite(found)
      // What was true before the look must be true after it: meanwhile the image may have changed its mind.
      const current = this.slotOf(holder.uid)
      const isSame = current !== undefined && claimOf(current) === claimOf(holder)
      if (isEmpty && isSame && this.#maybeEmpty(holder)) this.#notes.over.add(claimOf(holder))
      else await sleep(clock, LOOK_AGAIN_MS)
    } catch (error) {
      log.warn({ key: keyOf(holder), error: String(error) }, 'cannot tell whether a slot is empty; it is kept')
      await sleep(clock, LOOK_AGAIN_MS)
    }
  }

  /** Wakes when the next of the times that matter has come. */
  #wakeLater(): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    const quiet = this.#quietUntil > now ? [this.#quietUntil] : []
    const times = [...quiet, ...[this.#notes.nextTime(now)].filter((time) => time !== undefined)]
    this.#cancelTimer?.()
    this.#cancelTimer = times.length === 0 ? undefined : clock.setTimer(() => this.wake(), Math.min(...times) - now + 1)
  }
}
