import { backoffMs } from '../../../runtime/backoff.ts'

const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000

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
  /** Until when a create without a definite response may still arrive. */
  doubtfulUntil: 0,
  /** How many creates have failed, and how many of these got an error response. */
  failures: 0,
  answered: 0,
  /** When the next create is due. */
  retryAt: 0,
}

type SlotNote = Readonly<typeof NOTHING_NOTED>

/** Notes about slots, by {@link slotKeyOf}. */
export class SlotNotes {
  readonly #notes = new Map<string, SlotNote>()

  of(slot: string): SlotNote {
    return this.#notes.get(slot) ?? NOTHING_NOTED
  }

  note(slot: string, changes: Partial<SlotNote>): void {
    this.#notes.set(slot, { ...this.of(slot), ...changes })
  }

  /** Records a failed create. Each failure delays the next create further. Returns how many got an error response. */
  failed(
    slot: string,
    now: number,
    failure: { isAnswered: boolean; retryAfterMs: number },
    random: () => number,
  ): number {
    const { failures, answered } = this.of(slot)
    const waitMs = Math.max(failure.retryAfterMs, backoffMs(failures, RETRY_BASE_MS, RETRY_MAX_MS, random))
    const changes = { failures: failures + 1, answered: answered + (failure.isAnswered ? 1 : 0), retryAt: now + waitMs }
    this.note(slot, changes)
    return changes.answered
  }

  /** Records that a create may arrive until then, whatever the responses to later ones are. */
  doubt(slot: string, until: number): void {
    this.note(slot, { doubtfulUntil: until })
  }

  /** Records that somebody else took the slot: their requests may arrive until then, whatever the responses to ours are. */
  inherit(slot: string, until: number): void {
    this.note(slot, { isInherited: true, settledAt: until })
    this.doubt(slot, until)
  }

  /** Records that this process requests the DataVolume now. The request may arrive until then. */
  noteRequest(slot: string, until: number): void {
    this.note(slot, { isInherited: false, settledAt: until })
  }

  /** Records that the last request for the slot was answered. Reports whether none can arrive any more. */
  settle(slot: string, now: number): boolean {
    const { doubtfulUntil } = this.of(slot)
    this.note(slot, { settledAt: doubtfulUntil })
    return doubtfulUntil <= now
  }

  isSettled(slot: string, now: number): boolean {
    return this.of(slot).settledAt <= now
  }

  forget(slot: string): void {
    this.#notes.delete(slot)
  }

  /** Returns the times, past or future, at which something about a slot becomes possible. */
  times(): number[] {
    return [...this.#notes.values()].flatMap(({ settledAt, retryAt }) => [settledAt, retryAt])
  }
}
