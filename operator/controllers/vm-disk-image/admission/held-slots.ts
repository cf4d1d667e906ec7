import { backoffMs } from '../../../base/backoff.ts'
import { sleep } from '../../../base/clock.ts'
import { isSame } from '../../../base/equality.ts'
import { isWaitingForDependents } from '../../../cluster/dependents.ts'
import { attemptOf } from '../../../cluster/import-facts.ts'
import { isChildOf, ownerIn } from '../../../cluster/ownership.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeClient } from '../../../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../kube/resource-types.ts'
import { Semaphore } from '../../../runtime/semaphore.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Holder, SlotWait } from '../world.ts'
import type { HeldSlotsOptions } from './admission-options.ts'
import { compareTickets } from './admission-queue.ts'
import { isDownloadOf, isJustRunning, isReadDue, isTimedOut } from './decide/download.ts'
import { ANSWER_VALID_MS } from './decide/requests.ts'
import {
  type Effect,
  type Fact,
  isAtRest,
  isCreateFailing,
  isDue,
  isIdle,
  type LiveFinding,
  NEW_SLOT,
  nextTimeOf,
  READ_AGAIN_MS,
  type Remains,
  type Seen,
  type Slot,
  step,
} from './decide/slot.ts'
import { holdersBySlot, type SlotId, slotKeyOf, volumeKeyOf } from './decide/slots.ts'
import {
  createDataVolume,
  type KnownDownloads,
  type LeftoverReads,
  liveClaims,
  livePods,
  lookForDataVolume,
  lookForRemains,
  type Why,
} from './downloads.ts'
import { RefusalBook } from './refusal-book.ts'
import { isAnyAlive, type RemainCaches, unendedOf, unfilledOf, withFound, withImporters } from './remains.ts'
import { SeenDownloads } from './seen-downloads.ts'

/** Somebody may have written thousands of holders, and other requests must not wait behind the reads for all of them. */
const LOOKS_AT_ONCE = 16
const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000
/** How long a slot may wait for its DataVolume before this is reported. */
const PROMPT_MS = 3_000

/** What the cache last had under the name of the DataVolume of a slot. */
interface Match {
  readonly found: DataVolumeView
  /** Undefined if it is not the download of this slot. */
  readonly dataVolume: DataVolumeView | undefined
  readonly isJustRunning: boolean
}

/**
 * Follows the slots of the ledger, and downloads without a slot, to their end. What a slot is, and what follows from a fact, is in
 * {@link step}: this class reads the facts and carries out the effects.
 */
export class HeldSlots {
  readonly #options: HeldSlotsOptions
  /** By {@link slotKeyOf}. */
  readonly #slots = new Map<string, Slot>()
  readonly downloads: SeenDownloads
  /** Why the DataVolumes of images were not created. It outlives the slot. */
  readonly refusals: RefusalBook
  readonly #caches: RemainCaches
  readonly #live: LeftoverReads
  readonly #semaphore = new Semaphore(LOOKS_AT_ONCE)
  /** By holder. */
  readonly #matches = new WeakMap<Holder, Match>()

  constructor(options: HeldSlotsOptions) {
    this.#options = options
    this.#caches = { claims: options.claims, pods: options.pods }
    this.#live = { claims: liveClaims(options.client), pods: livePods(options.client) }
    this.refusals = new RefusalBook(options.clock)
    this.downloads = new SeenDownloads(options)
  }

  /** Sets what the holder of a slot should download; undefined: nothing any more. Reports whether this is a change. */
  want(holder: Holder, start: Start | undefined): boolean {
    const wanted = start !== undefined && slotKeyOf(start) === slotKeyOf(holder) ? start : undefined
    if (isSame(this.#of(holder).wanted, wanted)) return false
    this.#learn(holder, { kind: 'wanted', start: wanted })
    return true
  }

  /** The ledger has these slots from now on. */
  take(holders: readonly Holder[]): void {
    for (const holder of holders) this.#learn(holder, { kind: 'taken' })
    this.noteDownloads(holders)
  }

  /** The ledger has this slot no more. */
  lose(holder: Holder): void {
    this.#learn(holder, { kind: 'lost' })
  }

  /** The slot belonged to another process or term, whose requests may still be in flight. */
  inherit(holder: Holder): void {
    this.#learn(holder, { kind: 'inherited' })
  }

  /** A download without a slot is followed from now on. */
  follow(standIn: Holder): void {
    this.#learn(standIn, { kind: 'taken' })
    this.noteDownloads([standIn])
  }

  /** Reports whether nothing can download for this slot any more. */
  isOver(holder: Holder): boolean {
    return this.#present(holder).state === 'empty'
  }

  /** Reports whether creating the DataVolume of this holder fails or takes too long. */
  isCreateFailing(holder: Holder): boolean {
    return isCreateFailing(this.#of(holder))
  }

  /** Returns what keeps the slot of this holder, by the last live reads. */
  waitsFor(holder: Holder): SlotWait | undefined {
    return this.#of(holder).waitsFor
  }

  /**
   * Records which downloads have these slots, their claims and importer pods, while the objects that identify these exist.
   * The caller must call this for each new slot, and {@link noteChange} from then on.
   */
  noteDownloads(holders: readonly Holder[]): void {
    this.downloads.prune()
    for (const holder of holders) {
      const dataVolume = this.#dataVolumeOf(holder)
      if (dataVolume !== undefined) this.downloads.noteHeld(dataVolume)
      this.#find(holder, dataVolume)
    }
  }

  /** The same, of those that a changed object leads to: it is their DataVolume or claim, or belongs to what is known of their download. */
  noteChange({ metadata }: KubeObject, holders: readonly Holder[]): void {
    const [key, owner] = [keyOf(metadata), ownerIn(metadata)?.uid ?? '']
    const isConcerned = (holder: Holder) => {
      if (metadata.namespace !== holder.namespace) return false
      const { claims, pods } = this.#of(holder).remains
      return claims.has(owner) || pods.has(owner) || volumeKeyOf(holder) === key
    }
    this.noteDownloads(holders.filter(isConcerned))
  }

  /** Returns the first time after `moment` at which something about a slot becomes possible, by the monotonic clock; `Infinity`: none. */
  nextTimeAfter(moment: number): number {
    const { attemptTimeoutMs } = this.#options.patience()
    let next = Math.min(...this.downloads.times().filter((time) => time > moment))
    for (const slot of this.#slots.values()) next = Math.min(next, nextTimeOf(slot, attemptTimeoutMs, moment))
    return next
  }

  /** Creates the DataVolumes of all slots that have none yet, in ticket order. A failure does not hold up the next one. */
  async createDataVolumes(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic()
    const due = this.#holders.flatMap((holder) => {
      // What is seen makes no wish.
      if (this.#of(holder).wanted === undefined) return []
      const slot = this.#present(holder)
      return slot.wanted !== undefined && isDue(slot, now) ? [{ ...slot.wanted, holder }] : []
    })
    const inOrder = due.toSorted(compareTickets)
    // Those behind the first one also wait for its response.
    const timers = inOrder.map(({ holder }) =>
      this.#options.clock.setTimer(() => this.#learn(holder, { kind: 'late' }), PROMPT_MS),
    )
    try {
      for (const [at, { holder }] of inOrder.entries()) {
        if (signal.aborted) return
        await this.#create(holder, signal)
        timers[at]?.()
      }
    } finally {
      for (const cancel of timers) cancel()
    }
  }

  /**
   * Sees to what nobody else does, for slots and for downloads without a slot: begins live reads of those that may be empty, and ends importers.
   * @param strays stand-ins for the holders of downloads that have no slot
   */
  check(strays: readonly Holder[], signal: AbortSignal): void {
    const held = holdersBySlot(this.#holders)
    const followed = strays.length === 0 ? held : new Map([...held, ...holdersBySlot(strays)])
    for (const [key, { isReading }] of this.#slots) if (!followed.has(key) && !isReading) this.#slots.delete(key)
    for (const holder of followed.values()) if (!this.#isJustRunning(holder)) this.#check(holder, signal)
  }

  #check(holder: Holder, signal: AbortSignal): void {
    const seen = this.#see(holder)
    const dataVolume = this.#dataVolumeOf(holder)
    const isLeft = dataVolume === undefined || isTerminating(dataVolume)
    const pods = isLeft ? unendedOf(this.#of(holder).remains, this.#caches) : []
    const unended = pods.map(({ metadata }) => metadata.uid ?? '')
    const unfilled = dataVolume === undefined ? unfilledOf(this.#of(holder).remains, this.#caches) : []
    const attemptMs = this.#options.patience().attemptTimeoutMs
    const hasOrphan = unfilled.length > 0
    for (const effect of this.#learn(holder, { kind: 'checked', unended, hasOrphan, attemptMs, seen })) {
      const pod = effect.kind === 'endImporter' ? pods[unended.indexOf(effect.uid)] : undefined
      if (pod !== undefined) void this.#end(POD, pod, signal)
      if (effect.kind === 'endOrphan')
        for (const claim of unfilled) void this.#end(PERSISTENT_VOLUME_CLAIM, claim, signal)
      if (effect.kind === 'read') void this.#readLive(holder, signal)
    }
  }

  get #holders(): readonly Holder[] {
    return this.#options.ledger.state?.holders ?? []
  }

  #of(slot: SlotId): Slot {
    return this.#slots.get(slotKeyOf(slot)) ?? NEW_SLOT
  }

  /** Returns what the slot is, with what the caches show now. */
  #present(holder: Holder): Slot {
    if (!this.#isJustRunning(holder)) this.#see(holder)
    return this.#of(holder)
  }

  /** Most slots are, and then neither the sight of it nor a check changes anything. */
  #isJustRunning(holder: Holder): boolean {
    return isAtRest(this.#of(holder)) && this.#matchOf(holder)?.isJustRunning === true
  }

  #see(holder: Holder): Seen {
    const seen = this.#sightOf(holder)
    this.#learn(holder, { kind: 'seen', ...seen })
    return seen
  }

  #learn(holder: Holder, fact: Fact): readonly Effect[] {
    const { slot, effects } = step(this.#of(holder), fact, this.#options.clock.monotonic())
    this.#slots.set(slotKeyOf(holder), slot)
    if (effects.some(({ kind }) => kind === 'report')) this.#options.onChange(keyOf(holder))
    return effects
  }

  #sightOf(holder: Holder): Seen {
    const { clock, patience } = this.#options
    const { remains, wanted } = this.#of(holder)
    const dataVolume = this.#dataVolumeOf(holder)
    const isAsPlanned = wanted !== undefined && this.#isStillAsPlanned(wanted)
    if (dataVolume === undefined)
      return { download: undefined, isImporterAlive: isAnyAlive(remains, this.#caches), isAsPlanned }
    const now = clock.monotonic()
    const download = this.downloads.see(dataVolume)
    return {
      download: {
        state: download.state,
        isReadDue: isReadDue(download, now),
        isTimedOut: isTimedOut(download, now, patience()),
        isOfAttempt: attemptOf(dataVolume) === holder.attempt,
      },
      isImporterAlive: isAnyAlive(remains, this.#caches, dataVolume.metadata.uid),
      isAsPlanned,
    }
  }

  #dataVolumeOf(holder: Holder): DataVolumeView | undefined {
    return this.#matchOf(holder)?.dataVolume
  }

  /** Every step asks for this several times for each slot, and seldom has anything changed. */
  #matchOf(holder: Holder): Match | undefined {
    const found = this.#options.dataVolumes.get(volumeKeyOf(holder))
    if (found === undefined) return undefined
    const known = this.#matches.get(holder)
    if (known?.found === found) return known
    const dataVolume = isDownloadOf(found, holder) ? found : undefined
    const match = { found, dataVolume, isJustRunning: isJustRunning(dataVolume) }
    this.#matches.set(holder, match)
    return match
  }

  #find(holder: Holder, dataVolume: KubeObject | undefined): void {
    this.#record(holder, withFound(this.#of(holder).remains, dataVolume, this.#caches))
  }

  #record(holder: Holder, remains: Remains): void {
    if (remains !== this.#of(holder).remains) this.#learn(holder, { kind: 'found', remains })
  }

  /**
   * Reports whether the limit allows this slot to start its download. It allows every slot that we take, but it may have been lowered
   * since, and somebody else may have written holders. Slots that certainly do not download yet do not count, or none could be the first.
   */
  #hasRoom(slot: string): boolean {
    const { ledger, limit, clock } = this.#options
    const most = limit(ledger.state?.limit)
    if (this.#holders.length <= most) return true
    const now = clock.monotonic()
    const others = this.#holders.filter((holder) => slotKeyOf(holder) !== slot)
    return others.filter((holder) => !isIdle(this.#present(holder), now)).length < most
  }

  /** Reports whether the image was neither deleted nor changed since. Otherwise its own reconcile decides what comes next. */
  #isStillAsPlanned({ key, uid, generation }: Start): boolean {
    const image = this.#options.images.get(key)
    return image?.metadata.uid === uid && !isTerminating(image) && image.metadata.generation === generation
  }

  async #create(holder: Holder, signal: AbortSignal): Promise<void> {
    const { ledger, client, me } = this.#options
    const slot = slotKeyOf(holder)
    const { wanted, state } = this.#present(holder)
    if (wanted === undefined || state !== 'claimed') return
    // A slot is certainly held only while the response that shows it is recent. This is checked again right before the request is sent.
    if (!ledger.isFresh) await this.#options.reload(signal)
    // The response came too late.
    if (!ledger.isFresh) return this.#options.wake()
    const isHeld = this.#holders.some((one) => one.claimant === me && slotKeyOf(one) === slot)
    if (!isHeld || !this.#hasRoom(slot)) return
    this.#learn(holder, { kind: 'asked' })
    const options = { timeoutMs: ANSWER_VALID_MS, signal, isStillValid: () => ledger.isFresh }
    await this.#takeOutcome(holder, wanted, await createDataVolume(client, wanted, options), signal)
    this.#options.onChange(wanted.key)
  }

  async #takeOutcome(
    holder: Holder,
    start: Start,
    outcome: Awaited<ReturnType<typeof createDataVolume>>,
    signal: AbortSignal,
  ): Promise<void> {
    const { log, dataVolumes, onUnreached } = this.#options
    if (outcome.kind === 'created') {
      dataVolumes.observeWrite(outcome.dataVolume)
      this.downloads.noteHeld(outcome.dataVolume)
      this.refusals.forget(start.uid)
      this.#learn(holder, { kind: 'created' })
    } else if (outcome.kind === 'namesake') {
      await this.#meetNamesake(holder, start, signal)
    } else if (outcome.kind === 'refused') {
      log.warn({ key: start.key, error: outcome.why.message }, 'the DataVolume was refused')
      this.#refuse(holder, start, outcome.why, outcome.isFinal)
    } else {
      const { error, isWebhookDown } = outcome
      const effects = this.#fail(holder, outcome)
      if (isWebhookDown) {
        this.#learn(holder, { kind: 'late' })
        onUnreached?.(error)
      }
      log.warn(
        { key: start.key, error, answered: this.#of(holder).tries.answered },
        'the DataVolume could not be created',
      )
      const message = `the DataVolume could not be created: ${error}`
      if (effects.some(({ kind }) => kind === 'refuse')) this.#tell(start, { reason: 'CreateFailed', message }, false)
    }
  }

  /** Each failure delays the next try further. */
  #fail(holder: Holder, failure: { isAnswered: boolean; mayHappen: boolean; retryAfterMs: number }): readonly Effect[] {
    const { isAnswered, mayHappen, retryAfterMs } = failure
    const { failures } = this.#of(holder).tries
    const waitMs = backoffMs(failures, RETRY_BASE_MS, RETRY_MAX_MS, this.#options.random)
    return this.#learn(holder, { kind: 'failed', isAnswered, mayHappen, retryInMs: Math.max(retryAfterMs, waitMs) })
  }

  /** A DataVolume of that name exists: the wanted one, an earlier one that is being deleted, or somebody else's. */
  async #meetNamesake(holder: Holder, start: Start, signal: AbortSignal): Promise<void> {
    const { client, dataVolumes } = this.#options
    const found = await lookForDataVolume(client, holder, signal).catch(() => undefined)
    if (found === 'foreign') {
      const name = start.target.volumeName
      const message = `DataVolume ${name} exists and belongs to somebody else: the operator does not touch it; delete it, or create the image under another name`
      return this.#refuse(holder, start, { reason: 'NameConflict', message }, false)
    }
    if (found !== undefined) dataVolumes.observeWrite(found)
    this.#fail(holder, { isAnswered: false, mayHappen: false, retryAfterMs: 0 })
  }

  #refuse(holder: Holder, start: Start, why: Why, isFinal: boolean): void {
    this.#learn(holder, { kind: 'refused' })
    this.#tell(start, why, isFinal)
  }

  #tell(start: Start, why: Why, isFinal: boolean): void {
    const { images, wake } = this.#options
    // The image may be gone by now, and nobody would forget its refusal.
    if (images.get(start.key)?.metadata.uid === start.uid) this.refusals.add(start, why, isFinal)
    wake()
  }

  /** Deletes an importer, or a claim that CDI fills. */
  async #end(type: ResourceType, { metadata }: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    try {
      await deleteInBackground(client, type, { metadata }, signal)
    } catch (error) {
      if (signal.aborted) return
      const key = `${type.kind} ${keyOf(metadata)}`
      log.warn({ key, error: String(error) }, 'what still downloads cannot be ended; it is tried again')
    }
  }

  /** A 404 for the DataVolume is not enough: after a background deletion its importer lives on for a while. */
  async #readLive(holder: Holder, signal: AbortSignal): Promise<void> {
    const { clock, log, patience, wake } = this.#options
    let found: LiveFinding['found']
    try {
      found = await this.#read(holder, signal)
      const claimMs = patience().stallTimeoutMs
      const effects = this.#learn(holder, { kind: 'read', found, claimMs, seen: this.#see(holder) })
      for (const effect of effects) await this.#carryOut(effect, holder, signal)
    } catch (error) {
      this.#learn(holder, { kind: 'read', found: undefined, claimMs: 0, seen: this.#see(holder) })
      if (!signal.aborted)
        log.warn({ key: keyOf(holder), error: String(error) }, 'cannot tell whether a slot is empty; it is kept')
    }
    if (this.#of(holder).state !== 'empty') await sleep(clock, READ_AGAIN_MS, signal).catch(() => undefined)
    wake()
  }

  async #read(holder: Holder, signal: AbortSignal): Promise<LiveFinding['found']> {
    await this.#semaphore.acquire()
    try {
      const { client, dataVolumes, clock } = this.#options
      const dataVolume = await lookForDataVolume(client, holder, signal)
      const isThere = dataVolume !== undefined && dataVolume !== 'foreign'
      if (isThere) {
        dataVolumes.observeWrite(dataVolume)
        if (!isReadDue(this.downloads.see(dataVolume), clock.monotonic())) return undefined
        this.#find(holder, dataVolume)
      }
      const known = this.#known(holder, isThere ? dataVolume.metadata.uid : undefined)
      const left = await lookForRemains(this.#live, holder, known, signal)
      // Those that only the status of the image told of: their end is seen in the cache from now on, and they are ended where nobody does it.
      if (left.what === 'importer') this.#record(holder, withImporters(this.#of(holder).remains, left.importers))
      return { left: left.what, ending: isThere ? { isWaiting: isWaitingForDependents(dataVolume) } : undefined }
    } finally {
      this.#semaphore.release()
    }
  }

  /** Includes what the status of the image says, which is written before its DataVolume is deleted: this process may have noted nothing. */
  #known(holder: Holder, uid: string | undefined): KnownDownloads {
    const { remains } = this.#of(holder)
    const image = this.#options.images.get(keyOf(holder))
    const { dataVolumeUID, importerPodUID } = image?.metadata.uid === holder.uid ? image.status : {}
    const claims = [...remains.claims.values()]
    const isText = (one: string | undefined): one is string => one !== undefined
    return {
      claims,
      dataVolumes: new Set([uid, dataVolumeUID, ...claims.map(({ dataVolume }) => dataVolume)].filter(isText)),
      pods: new Set([importerPodUID, ...remains.pods.keys()].filter(isText)),
    }
  }

  async #carryOut({ kind }: Effect, holder: Holder, signal: AbortSignal): Promise<void> {
    const { client, claims } = this.#options
    const dataVolume = this.#dataVolumeOf(holder)
    if (dataVolume === undefined) return
    if (kind === 'over') this.downloads.setOver(dataVolume)
    if (kind === 'stopWaiting') await deleteInBackground(client, DATA_VOLUME, dataVolume, signal)
    const claim = kind === 'endClaim' ? claims.get(keyOf(dataVolume.metadata)) : undefined
    if (claim === undefined || isTerminating(claim) || !isChildOf(claim, dataVolume)) return
    await deleteInBackground(client, PERSISTENT_VOLUME_CLAIM, claim, signal)
  }
}

/**
 * In the foreground it would wait for dependents, of which somebody may have made one that is never deleted. A claim is deleted in the observed version only:
 * it may since have been filled.
 */
async function deleteInBackground(
  client: KubeClient,
  type: ResourceType,
  { metadata }: Pick<KubeObject, 'metadata'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { uid, resourceVersion } = metadata
    const version = type === PERSISTENT_VOLUME_CLAIM ? { resourceVersion } : {}
    await client.delete(type, metadata, { signal, propagationPolicy: 'Background', uid, ...version })
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error
  }
}
