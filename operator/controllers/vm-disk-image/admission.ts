import { ANNOTATIONS, childName, LABELS, MANAGER, renderDataVolume } from '@open-terrain/constructs'
import { type ApiError, isApiError, isNamespaceTerminating } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_VOLUME, POD } from '../../kube/resource-types.ts'
import { backoffMs } from '../../runtime/backoff.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Store } from '../../runtime/store.ts'
import { AdmissionQueue, compareTickets } from './admission-queue.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { Start } from './image-plan.ts'
import { isFinished, redactUrls } from './judge.ts'
import { CLAIM_VALID_MS, type LedgerState, type SlotLedger } from './slot-ledger.ts'
import { adopt, claimOf, decideSlots } from './slots.ts'
import { controllerOf, type DataVolumeView, type ImageView, isControlledBy, viewDataVolume } from './views.ts'
import type { Holder, Refusal } from './world.ts'

/**
 * After a claim changes hands, requests of its former holder may still arrive: it sends none later than 5 s after it
 * asked the ledger, and none takes longer than 10 s. So long only a download that is known to be over frees the slot.
 */
const SETTLE_MS = 15_000
const LOOK_AGAIN_MS = 1_000
const REFUSED_RETRY_MS = 60_000

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
  readonly #refusals = new Map<string, Refusal>()
  readonly #stuck = new Set<string>()
  /** Claims whose download is proved to be over, or never to have begun. */
  readonly #over = new Set<string>()
  readonly #verifying = new Set<string>()
  /** When a claim may be looked at for being empty, by the monotonic clock: a request about it may be on its way until then. */
  readonly #settledAt = new Map<string, number>()
  readonly #retryAt = new Map<string, number>()
  #quietUntil = 0
  #wake = Promise.withResolvers<void>()
  #failures = 0
  #cancelTimer: (() => void) | undefined

  constructor(options: AdmissionOptions) {
    this.#options = options
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
    if (start === undefined) {
      this.#queue.remove(uid)
      this.#starts.delete(uid)
    } else if (this.slotOf(uid) === undefined) {
      this.#starts.delete(uid)
      this.#queue.put(start)
    } else {
      this.#queue.remove(uid)
      this.#starts.set(uid, start)
    }
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
    this.#refusals.delete(uid)
  }

  wake(): void {
    this.#wake.resolve()
  }

  /** Becomes the one who answers for the ledger. Everything after rests on what it reads and writes here. */
  async takeOver(signal: AbortSignal): Promise<void> {
    const { ledger, clock } = this.#options
    await this.#persist(signal, async () => {
      const state = (await ledger.load()) ?? (await this.#rebuild())
      // Whoever claimed them, and be it this process in an earlier term: its requests may still be on their way.
      for (const holder of state.holders) this.#settledAt.set(claimOf(holder), clock.monotonic() + SETTLE_MS)
      await this.#adopt(state)
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
    let needsLoad = false
    while (!signal.aborted) {
      try {
        if (needsLoad) await this.#reload()
        await work()
        this.#failures = 0
        return
      } catch (error) {
        needsLoad = true
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

  async #reload(): Promise<void> {
    const { ledger } = this.#options
    if ((await ledger.load()) === undefined) await this.#rebuild()
  }

  /**
   * There is no ledger: the first start, or somebody deleted it. Whoever downloads is found by a live list. Claims that
   * an earlier leader made just before are unknown, so nobody is admitted until their requests have settled; unless no
   * image has ever been given a ticket, for then there was no claim either.
   */
  async #rebuild(): Promise<LedgerState> {
    const { ledger, images, limit, log, clock, me } = this.#options
    const found = await this.#importing()
    const holders = found.flatMap((dataVolume): Holder[] => {
      const owner = controllerOf(dataVolume)
      const revision = dataVolume.metadata.labels?.[LABELS.revision]
      if (owner === undefined || revision === undefined) return []
      return [
        {
          uid: owner.uid,
          namespace: dataVolume.metadata.namespace ?? '',
          name: owner.name,
          revision,
          attempt: attemptOf(dataVolume),
          claimant: me,
        },
      ]
    })
    const state: LedgerState = { limit: limit(undefined), holders: uniqueByUid(holders) }
    await ledger.create(state)
    const isFirst =
      found.length === 0 &&
      ![...images.values()].some(({ status }) => status.ticket !== undefined || status.attempts !== undefined)
    if (!isFirst) this.#quietUntil = clock.monotonic() + SETTLE_MS
    log.info(
      { holders: state.holders.length, limit: state.limit, admissionInMs: isFirst ? 0 : SETTLE_MS },
      'made the slot ledger',
    )
    return state
  }

  async #importing(): Promise<DataVolumeView[]> {
    const found: DataVolumeView[] = []
    let continueToken: string | undefined
    do {
      const page = await this.#pageOfDataVolumes(continueToken)
      if (page === undefined) return []
      found.push(...page.items.map(viewDataVolume).filter((one) => isOurDownload(one) && !isFinished(one)))
      continueToken = page.continueToken
    } while (continueToken !== undefined)
    return found
  }

  async #pageOfDataVolumes(continueToken: string | undefined) {
    const labelSelector = `${LABELS.managedBy}=${MANAGER}`
    try {
      return await this.#options.client.list(DATA_VOLUME, {
        labelSelector,
        limit: 500,
        ...(continueToken !== undefined && { continueToken }),
      })
    } catch (error) {
      // Without CDI there is no download.
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }

  async #adopt(state: LedgerState): Promise<void> {
    const { ledger, me, limit } = this.#options
    const next: LedgerState = { ...adopt(state, me), limit: limit(state.limit) }
    const isSame = next.limit === state.limit && state.holders.every(({ claimant }) => claimant === me)
    if (!isSame) await ledger.replace(next)
    for (const holder of next.holders) this.#options.onChange(keyOf(holder))
  }

  /** One step. Throws what the ledger throws; the caller loads it again then. */
  async #step(signal: AbortSignal): Promise<void> {
    const { ledger, me, clock, limit, metrics } = this.#options
    const state = ledger.state ?? (await ledger.load()) ?? (await this.#rebuild())
    // Somebody who does not lead any more has claimed meanwhile: its request is as good as any, so it is ours to end now.
    if (state.holders.some(({ claimant }) => claimant !== me)) {
      for (const holder of state.holders)
        if (holder.claimant !== me) this.#settledAt.set(claimOf(holder), clock.monotonic() + SETTLE_MS)
      await this.#adopt(state)
      this.wake()
      return
    }
    this.#sortOut(state)
    const decision = decideSlots({
      ledger: state,
      me,
      limit: limit(state.limit),
      isOver: (holder) => this.#isOver(holder),
      unheld: this.#unheld(state),
      heads: (count) => this.#queue.heads(count, (uid) => this.#stuck.has(uid)),
      isAdmitting: clock.monotonic() >= this.#quietUntil,
    })
    if (decision.isChange) {
      await ledger.replace(decision.next)
      this.#settle(state, decision.next, decision.claimed)
    }
    metrics.observeSlots(decision.next.holders.length, decision.next.limit, this.#queue.size)
    await this.#createDataVolumes(signal)
    this.#lookForEmptySlots()
    this.#wakeLater()
  }

  /** The ledger may say other than what we last knew: a write whose answer was lost, a ledger that was lost itself. */
  #sortOut({ holders }: LedgerState): void {
    const held = new Set(holders.map(({ uid }) => uid))
    for (const uid of held) {
      const start = this.#queue.get(uid)
      if (start === undefined) continue
      this.#queue.remove(uid)
      this.#starts.set(uid, start)
    }
    for (const [uid, start] of this.#starts) {
      if (held.has(uid)) continue
      this.#starts.delete(uid)
      this.#queue.put(start)
      this.#options.onChange(start.key)
    }
  }

  /** Takes note of a ledger write that succeeded. */
  #settle(before: LedgerState, after: LedgerState, claimed: readonly Start[]): void {
    for (const start of claimed) {
      this.#queue.remove(start.uid)
      this.#starts.set(start.uid, start)
      this.#options.metrics.admitted(this.#options.images.get(start.key)?.status.queuedAt)
    }
    const kept = new Set(after.holders.map(claimOf))
    for (const holder of before.holders) {
      const claim = claimOf(holder)
      if (kept.has(claim)) continue
      for (const known of [this.#over, this.#settledAt, this.#retryAt]) known.delete(claim)
      this.#starts.delete(holder.uid)
      this.#options.onChange(keyOf(holder))
    }
  }

  #isOver(holder: Holder): boolean {
    if (this.#over.has(claimOf(holder))) return true
    const dataVolume = this.#dataVolumeOf(holder)
    return dataVolume !== undefined && isFinished(dataVolume) && attemptOf(dataVolume) === holder.attempt
  }

  #dataVolumeOf({ uid, namespace, name, revision }: Holder): DataVolumeView | undefined {
    const found = this.#options.dataVolumes.get(keyOf({ namespace, name: childName(name, revision) }))
    return found !== undefined && isControlledBy(found, uid) ? found : undefined
  }

  #unheld({ holders }: LedgerState): number {
    const held = new Set(holders.map(({ uid, revision }) => `${uid}/${revision}`))
    const importing = this.#options.dataVolumes.find(IMPORTING_INDEX, 'ours')
    return importing.filter((one) => !held.has(`${controllerOf(one)?.uid}/${one.metadata.labels?.[LABELS.revision]}`))
      .length
  }

  /** DataVolumes of all claims that have none yet, in ticket order; one that fails does not hold the next. */
  async #createDataVolumes(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const wanted = (this.state?.holders ?? []).flatMap((holder) => {
      const start = this.#starts.get(holder.uid)
      const isWanted = start !== undefined && claimOf(start) === claimOf(holder) && !this.#over.has(claimOf(holder))
      const isDue = (this.#retryAt.get(claimOf(holder)) ?? 0) <= clock.monotonic()
      return isWanted && isDue && this.#dataVolumeOf(holder) === undefined ? [start] : []
    })
    for (const start of wanted.toSorted(compareTickets)) {
      if (signal.aborted) return
      if (this.#isStillAsPlanned(start)) await this.#createDataVolume(start)
    }
  }

  /** The image was not deleted or changed since; if it was, its own reconcile says what next. */
  #isStillAsPlanned({ key, uid, generation }: Start): boolean {
    const image = this.#options.images.get(key)
    return (
      image?.metadata.uid === uid &&
      image.metadata.deletionTimestamp === undefined &&
      image.metadata.generation === generation
    )
  }

  async #createDataVolume(start: Start): Promise<void> {
    const { ledger, client, dataVolumes, clock, me, metrics } = this.#options
    const claim = claimOf(start)
    const dataVolume = renderFor(start)
    // The last look before the request leaves: a claim is only as good as the answer that shows it is young.
    if (!ledger.isFresh) await ledger.load()
    const isOurs = ledger.state?.holders.some((holder) => holder.claimant === me && claimOf(holder) === claim)
    if (!isOurs || !ledger.isFresh) return
    this.#settledAt.set(claim, clock.monotonic() + SETTLE_MS)
    try {
      const created = await client.create(DATA_VOLUME, dataVolume, { timeoutMs: CLAIM_VALID_MS })
      dataVolumes.observeWrite(viewDataVolume(created))
      this.#settledAt.delete(claim)
      this.#starts.delete(start.uid)
      this.#refusals.delete(start.uid)
      metrics.started()
    } catch (error) {
      if (!isApiError(error)) throw error
      await this.#handleRefusal(start, dataVolume, error)
    }
    this.#options.onChange(start.key)
  }

  /** What an unsuccessful create means. Only an answer that rules it out frees the slot. */
  async #handleRefusal(start: Start, dataVolume: KubeObject, error: ApiError): Promise<void> {
    const { log, clock } = this.#options
    const claim = claimOf(start)
    switch (error.reason) {
      case 'AlreadyExists':
        return await this.#handleNamesake(start, dataVolume)
      case 'Rejected':
      case 'NotFound':
      case 'Expired':
        this.#settledAt.delete(claim)
        log.warn({ key: start.key, error: redactUrls(error.message) }, 'the DataVolume was refused')
        return this.#refuse(start, refusalFrom(start, error, clock.now()))
      default:
        this.#retryAt.set(claim, clock.monotonic() + Math.max(LOOK_AGAIN_MS, error.retryAfterMs ?? 0))
        log.warn(
          { key: start.key, error: redactUrls(error.message) },
          'the DataVolume could not be created; trying again',
        )
    }
  }

  /** A DataVolume of that name exists: the one that we were about to make, one of ours that is on its way out, or a stranger's. */
  async #handleNamesake(start: Start, { metadata }: KubeObject): Promise<void> {
    const { client, dataVolumes, clock } = this.#options
    const claim = claimOf(start)
    const retry = () => this.#retryAt.set(claim, clock.monotonic() + LOOK_AGAIN_MS)
    try {
      const found = viewDataVolume(await client.get(DATA_VOLUME, metadata))
      dataVolumes.observeWrite(found)
      if (isControlledBy(found, start.uid)) return void retry()
      const message = `DataVolume ${metadata.name} exists and is not ours: it is left alone; delete or rename it to go on`
      this.#settledAt.delete(claim)
      const { revision, target } = start
      this.#refuse(start, {
        revision,
        budgetKey: target.budgetKey,
        reason: 'NameConflict',
        message,
        until: clock.now() + LOOK_AGAIN_MS,
      })
    } catch (error) {
      if (!isApiError(error)) throw error
      retry()
    }
  }

  #refuse(start: Start, refusal: Refusal): void {
    this.#refusals.set(start.uid, refusal)
    this.#over.add(claimOf(start))
    this.#starts.delete(start.uid)
    this.wake()
  }

  /** Slots whose DataVolume is not there and not about to be: a live look tells whether they are empty. */
  #lookForEmptySlots(): void {
    const now = this.#options.clock.monotonic()
    for (const holder of this.state?.holders ?? []) {
      const claim = claimOf(holder)
      const start = this.#starts.get(holder.uid)
      const isToBeMade = start !== undefined && claimOf(start) === claim && this.#isStillAsPlanned(start)
      const isSettled = (this.#settledAt.get(claim) ?? 0) <= now
      if (
        isToBeMade ||
        !isSettled ||
        this.#over.has(claim) ||
        this.#verifying.has(claim) ||
        this.#dataVolumeOf(holder) !== undefined
      )
        continue
      this.#verifying.add(claim)
      void this.#verify(holder).finally(() => this.#verifying.delete(claim))
    }
  }

  /** DataVolume 404 alone is not enough: people delete in the background, and its importer lives on for a while. */
  async #verify(holder: Holder): Promise<void> {
    const { client, clock, log, dataVolumes } = this.#options
    const { namespace, name, uid, revision } = holder
    try {
      const found = await client
        .get(DATA_VOLUME, { namespace, name: childName(name, revision) })
        .catch(undefinedIfNotFound)
      if (found !== undefined && isControlledBy(found, uid)) dataVolumes.observeWrite(viewDataVolume(found))
      else {
        const pods = await client.list(POD, {
          namespace,
          labelSelector: `${LABELS.imageUid}=${uid}`,
          metadataOnly: true,
        })
        const isStillOurs = this.slotOf(uid) !== undefined && claimOf(holder) === claimOf(this.slotOf(uid) ?? holder)
        if (pods.items.length === 0 && isStillOurs && this.#dataVolumeOf(holder) === undefined) {
          this.#over.add(claimOf(holder))
          this.wake()
          return
        }
      }
    } catch (error) {
      log.warn({ key: keyOf(holder), error: String(error) }, 'cannot tell whether a slot is empty; it is kept')
    }
    clock.setTimer(() => this.wake(), LOOK_AGAIN_MS)
  }

  /** Wakes when the next of the times that matter has come. */
  #wakeLater(): void {
    const { clock } = this.#options
    const now = clock.monotonic()
    const times = [this.#quietUntil, ...this.#settledAt.values(), ...this.#retryAt.values()].filter(
      (time) => time > now,
    )
    this.#cancelTimer?.()
    this.#cancelTimer = times.length === 0 ? undefined : clock.setTimer(() => this.wake(), Math.min(...times) - now + 1)
  }
}

/** Name of the index over DataVolumes that finds ours which may download. */
export const IMPORTING_INDEX = 'importing'

/** Values of {@link IMPORTING_INDEX}. */
export function importingIndex(dataVolume: DataVolumeView): readonly string[] {
  return isOurDownload(dataVolume) && !isFinished(dataVolume) ? ['ours'] : []
}

/** Made by us for an image; clones for virtual machines have another owner. */
export function isOurDownload(dataVolume: DataVolumeView): boolean {
  return dataVolume.metadata.labels?.[LABELS.managedBy] === MANAGER && controllerOf(dataVolume)?.kind === 'VMDiskImage'
}

function attemptOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[ANNOTATIONS.attempt] ?? 1)
}

function renderFor({ namespace, name, uid, revision, attempt, target }: Start): KubeObject {
  const {
    sourceType = 'blank',
    url,
    secretRef,
    certConfigMap,
    checksum,
    diskSize = '',
    storageClass,
    volumeName,
  } = target
  return renderDataVolume({
    image: { name, namespace, uid },
    name: volumeName,
    revision,
    attempt,
    source: { type: sourceType, url, secretRef, certConfigMap, checksum },
    diskSize,
    storageClass,
  }) as KubeObject
}

function refusalFrom({ revision, target: { budgetKey } }: Start, error: ApiError, now: number): Refusal {
  const message = redactUrls(error.message)
  if (isNamespaceTerminating(error))
    return { revision, budgetKey, reason: 'NamespaceTerminating', message, until: now + REFUSED_RETRY_MS }
  if (error.reason === 'NotFound')
    return { revision, budgetKey, reason: 'CDIMissing', message, until: now + REFUSED_RETRY_MS }
  // Permissions and quota change without a change of the image; what a webhook says of the object itself does not.
  if (error.status === 403)
    return { revision, budgetKey, reason: 'QuotaExceeded', message, until: now + REFUSED_RETRY_MS }
  const isNameTaken = /already exists/.test(message)
  if (isNameTaken) return { revision, budgetKey, reason: 'NameConflict', message, until: now + REFUSED_RETRY_MS }
  return {
    revision,
    budgetKey,
    reason: 'RejectedByCDI',
    message: `CDI refused the DataVolume: ${message}`,
    until: undefined,
  }
}

function uniqueByUid(holders: readonly Holder[]): Holder[] {
  return [...new Map(holders.map((holder) => [holder.uid, holder])).values()]
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!isApiError(error, 'NotFound')) throw error
}
