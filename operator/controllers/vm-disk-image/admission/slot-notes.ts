import { isAlive, type PodView } from '../../../cluster/views.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { backoffMs } from '../../../runtime/backoff.ts'
import type { Basics } from '../../../runtime/basics.ts'
import { type SlotId, slotKeyOf } from './decide/slots.ts'
import { ANSWER_VALID_MS } from './slot-ledger.ts'

/**
 * After a slot changes hands, requests of its former claimant may still arrive: it sends none later than ANSWER_VALID_MS after it read the ledger,
 * and we assume that each takes effect within 10 s or never. Until then only a download that is known to be over frees the slot.
 */
export const SETTLE_MS = ANSWER_VALID_MS + 10_000
const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000
/** Longest wait for a pod whose claims are gone, since it may be a stranger's. Importers have 30 s to end. */
const DOUBT_MS = 120_000

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

/** A pod that downloads, or did. */
interface ImporterNote {
  readonly key: string
  /** UID of the DataVolume that it fills. */
  readonly dataVolume: string | undefined
}

const NONE: ReadonlyMap<string, ImporterNote> = new Map()

/**
 * Records which pods download for a slot. This is certain only while the claims that they fill exist, so a pod is recorded as soon as it is
 * observed. A recorded pod counts until it has ended, whatever happens to its claims and labels.
 */
export class ImporterNotes {
  readonly #pods: { get(key: string): PodView | undefined }
  /** By slot and uid of the pod. */
  readonly #known = new Map<string, Map<string, ImporterNote>>()
  /** Since when pods that may or may not be importers are waited for, by slot. */
  readonly #doubtfulSince = new Map<string, number>()

  constructor(pods: { get(key: string): PodView | undefined }) {
    this.#pods = pods
  }

  /** Records the importers of a slot's DataVolume. */
  note(slot: SlotId, dataVolume: KubeObject, pods: readonly KubeObject[]): void {
    const key = slotKeyOf(slot)
    this.#doubtfulSince.delete(key)
    if (pods.length === 0) return
    const known = this.#known.get(key) ?? new Map<string, ImporterNote>()
    this.#known.set(key, known)
    const { uid } = dataVolume.metadata
    for (const { metadata } of pods) known.set(metadata.uid ?? '', { key: keyOf(metadata), dataVolume: uid })
  }

  /** By uid of the pod. */
  of(slot: SlotId): ReadonlyMap<string, ImporterNote> {
    return this.#known.get(slotKeyOf(slot)) ?? NONE
  }

  /**
   * Reports whether an importer of the slot is alive, according to the cache: the watch reports its end.
   * @param over a DataVolume whose importers do not count: that it has finished may be known before their end is
   */
  isAnyAlive(slot: SlotId, over?: KubeObject): boolean {
    return [...this.of(slot)].some(([uid, { key, dataVolume }]) => {
      const pod = this.#pods.get(key)
      return pod?.metadata.uid === uid && isAlive(pod) && (over === undefined || dataVolume !== over.metadata.uid)
    })
  }

  /** Reports whether the wait for a pod that may be an importer of the slot is over. The first call starts the wait. */
  isDoubtOver(slot: SlotId, now: number): boolean {
    const since = this.#doubtfulSince.get(slotKeyOf(slot)) ?? now
    this.#doubtfulSince.set(slotKeyOf(slot), since)
    return now - since >= DOUBT_MS
  }

  /** Forgets all other slots. */
  keep(slots: readonly SlotId[]): void {
    const kept = new Set(slots.map(slotKeyOf))
    for (const notes of [this.#known, this.#doubtfulSince])
      for (const slot of notes.keys()) if (!kept.has(slot)) notes.delete(slot)
  }
}
