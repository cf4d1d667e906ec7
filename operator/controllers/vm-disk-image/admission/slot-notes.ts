import { type ClaimId, claimOwning, type ImporterCaches, remainsOf } from '../../../cluster/importers.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { isAlive, type PodView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { backoffMs } from '../../../runtime/backoff.ts'
import type { Basics } from '../../../runtime/basics.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { type SlotId, slotKeyOf } from './decide/slots.ts'
import { ANSWER_VALID_MS } from './slot-ledger.ts'

/**
 * After a slot changes hands, requests of its former claimant may still arrive: it sends none later than ANSWER_VALID_MS after it read the ledger,
 * and we assume that each takes effect within 10 s or never. Until then only a download that is known to be over frees the slot.
 */
export const SETTLE_MS = ANSWER_VALID_MS + 10_000
const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000
/** Longest wait for pods and claims that may be a stranger's. Importers have 30 s to end. */
export const DOUBT_MS = 120_000

/** What this process initially knows about a slot beyond the ledger. All times are by the monotonic clock. */
const NOTHING_NOTED = {
  /** The download is proved to be over, or never to have begun. */
  isOver: false,
  /** To be reported: a create has had no response for seconds, or its webhook could not be called. */
  isFailing: false,
  /** Taken over, and this process has not requested its DataVolume since. */
  isInherited: false,
  /** When no request for it can be in flight any more. */
  settledAt: 0,
  /** Until when a create without a definite response may still arrive, whatever the responses to later ones are. */
  doubtfulUntil: 0,
  /** How many creates have failed, and how many of these got an error response. */
  failures: 0,
  answered: 0,
  /** When the next create is due. */
  retryAt: 0,
}

type SlotNote = Readonly<typeof NOTHING_NOTED>

/** Notes about the requests for the DataVolumes of slots. */
export class SlotNotes {
  readonly #options: Pick<Basics, 'clock' | 'random'>
  /** By {@link slotKeyOf}. */
  readonly #notes = new Map<string, SlotNote>()

  constructor(options: Pick<Basics, 'clock' | 'random'>) {
    this.#options = options
  }

  of(slot: SlotId): SlotNote {
    return this.#notes.get(slotKeyOf(slot)) ?? NOTHING_NOTED
  }

  note(slot: SlotId, changes: Partial<SlotNote>): void {
    this.#notes.set(slotKeyOf(slot), { ...this.of(slot), ...changes })
  }

  /** Records a failed create, which may still arrive if `mayHappen`. Each one delays the next further. Returns how many got an error response. */
  failed(slot: SlotId, failure: { isAnswered: boolean; mayHappen: boolean; retryAfterMs: number }): number {
    const { clock, random } = this.#options
    const before = this.of(slot)
    const waitMs = Math.max(failure.retryAfterMs, backoffMs(before.failures, RETRY_BASE_MS, RETRY_MAX_MS, random))
    const answered = before.answered + (failure.isAnswered ? 1 : 0)
    this.note(slot, { failures: before.failures + 1, answered, retryAt: clock.monotonic() + waitMs })
    if (failure.mayHappen) this.note(slot, { doubtfulUntil: this.settlesAt() })
    return answered
  }

  /** Records that the slot belonged to another process or term, whose requests may still be in flight. */
  inherit(slot: SlotId): void {
    const until = this.settlesAt()
    this.note(slot, { isInherited: true, settledAt: until, doubtfulUntil: until })
  }

  /** Records that this process requests the DataVolume now. */
  noteRequest(slot: SlotId): void {
    this.note(slot, { isInherited: false, settledAt: this.settlesAt() })
  }

  /** Records that the last request for the slot was answered. Reports whether none can arrive any more. */
  settle(slot: SlotId): boolean {
    this.note(slot, { settledAt: this.of(slot).doubtfulUntil })
    return this.isSettled(slot)
  }

  isSettled(slot: SlotId): boolean {
    return this.of(slot).settledAt <= this.#options.clock.monotonic()
  }

  /** Returns until when a request that is sent now may arrive. */
  protected settlesAt(): number {
    return this.#options.clock.monotonic() + SETTLE_MS
  }

  forget(slot: SlotId): void {
    this.#notes.delete(slotKeyOf(slot))
  }

  /** Returns the times, past or future, at which something about a slot becomes possible. */
  times(): number[] {
    return [...this.#notes.values()].flatMap(({ settledAt, retryAt }) => [settledAt, retryAt])
  }
}

/** A claim or an importer pod of a DataVolume. */
interface RemainNote extends ClaimId {
  /** UID of the DataVolume that it is for. */
  readonly dataVolume: string
}

/** By uid. */
type Notes = ReadonlyMap<string, RemainNote>

interface SlotRemains {
  readonly claims: Map<string, RemainNote>
  readonly pods: Map<string, RemainNote>
}

const NONE: Notes = new Map()

/**
 * Records what CDI creates to download for a slot: claims, and the importer pods that fill them. The owner references that identify these lead to
 * the DataVolume only while all objects in between exist. So each is recorded as soon as it is observed, and from then on leads to what CDI creates
 * for it later. A recorded importer counts until it has ended, whatever happens to its claims and labels.
 */
export class RemainNotes {
  readonly #caches: ImporterCaches<PodView>
  readonly #pods: { get(key: string): PodView | undefined }
  /** By slot. */
  readonly #known = new Map<string, SlotRemains>()
  /** Since when a slot waits for pods and claims that may or may not be its own, or for claims that CDI may still fill. */
  readonly #waits = new Map<string, number>()

  constructor({ claims, pods }: Pick<AdmissionOptions, 'claims' | 'pods'>) {
    this.#caches = { claims, pods }
    this.#pods = pods
  }

  /** Records what is in the caches for a slot. @param dataVolume its DataVolume; undefined if that is gone */
  note(slot: SlotId, dataVolume: KubeObject | undefined): void {
    const key = slotKeyOf(slot)
    const known: SlotRemains = this.#known.get(key) ?? { claims: new Map(), pods: new Map() }
    if (dataVolume !== undefined) {
      this.#waits.delete(key)
      const target = this.#caches.claims.get(keyOf(dataVolume.metadata))
      if (target !== undefined && isChildOf(target, dataVolume)) take(known.claims, target, dataVolume.metadata.uid)
    }
    for (const claim of [...known.claims.values()]) {
      const { claims, pods } = remainsOf([claim], this.#caches)
      for (const one of claims) take(known.claims, one, claim.dataVolume)
      for (const one of pods) if (isAlive(one)) take(known.pods, one, claim.dataVolume)
    }
    if (known.claims.size > 0) this.#known.set(key, known)
  }

  claimsOf(slot: SlotId): Notes {
    return this.#known.get(slotKeyOf(slot))?.claims ?? NONE
  }

  podsOf(slot: SlotId): Notes {
    return this.#known.get(slotKeyOf(slot))?.pods ?? NONE
  }

  /**
   * Reports whether an importer of the slot is alive, according to the cache: the watch reports its end.
   * @param over a DataVolume whose importers do not count: that it has finished may be known before their end is
   */
  isAnyAlive(slot: SlotId, over?: KubeObject): boolean {
    const isOther = ({ dataVolume }: RemainNote) => over === undefined || dataVolume !== over.metadata.uid
    return [...this.podsOf(slot).values()].some((one) => isOther(one) && this.#aliveAs(one) !== undefined)
  }

  /**
   * Returns the importers of a slot that nobody ends though the claims that they fill are being deleted, or are gone. For any other claim, CDI would
   * replace the importer.
   */
  unended(slot: SlotId): PodView[] {
    return [...this.podsOf(slot).values()].flatMap((one) => {
      const pod = this.#aliveAs(one)
      if (pod === undefined || isTerminating(pod)) return []
      const { name = '', uid } = claimOwning(pod) ?? {}
      const claim = this.#caches.claims.get(keyOf({ namespace: one.namespace, name }))
      return claim?.metadata.uid === uid && !isTerminating(claim) ? [] : [pod]
    })
  }

  /** Reports how long the slot has waited for what may be its own, or may still be filled. The first call starts the wait. */
  waitedMs(slot: SlotId, now: number): number {
    const since = this.#waits.get(slotKeyOf(slot)) ?? now
    this.#waits.set(slotKeyOf(slot), since)
    return now - since
  }

  /** Forgets all other slots. */
  keep(slots: readonly SlotId[]): void {
    const kept = new Set(slots.map(slotKeyOf))
    for (const notes of [this.#known, this.#waits])
      for (const slot of notes.keys()) if (!kept.has(slot)) notes.delete(slot)
  }

  #aliveAs(one: RemainNote): PodView | undefined {
    const pod = this.#pods.get(keyOf(one))
    return pod?.metadata.uid === one.uid && isAlive(pod) ? pod : undefined
  }
}

function take(notes: Map<string, RemainNote>, { metadata }: KubeObject, dataVolume = ''): void {
  const { namespace, name, uid = '' } = metadata
  if (!notes.has(uid)) notes.set(uid, { namespace, name, uid, dataVolume })
}
