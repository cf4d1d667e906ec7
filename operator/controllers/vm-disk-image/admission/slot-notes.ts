import { backoffMs } from '../../../runtime/backoff.ts'

const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000

/** What this process knows at first about a slot, besides the ledger. All times are by the monotonic clock. */
const NOTHING_NOTED = {
  /** Proved to be over, or never to have begun. */
  isOver: false,
  /** To be reported: a create has had no answer for seconds, or found no webhook. */
  isInVain: false,
  /** This process never asked for its DataVolume itself. */
  isInherited: false,
  /** When no request about it can be on its way any more. */
  settledAt: 0,
  /** Until when a create that nobody answered for certain may still arrive. */
  doubtfulUntil: 0,
  /** How many creates have come to nothing, and how many answers have said so. */
  failures: 0,
  answered: 0,
  /** When the next create is due. */
  retryAt: 0,
}

type SlotNote = Readonly<typeof NOTHING_NOTED>

/** Notes about slots, each by its {@link slotKeyOf}. */
export class SlotNotes {
  readonly #notes = new Map<string, SlotNote>()

  of(slot: string): SlotNote {
    return this.#notes.get(slot) ?? NOTHING_NOTED
  }

  note(slot: string, news: Partial<SlotNote>): void {
    this.#notes.set(slot, { ...this.of(slot), ...news })
  }

  /** The create failed: the next one is due later each time. Returns how many answers have said so. */
  failed(
    slot: string,
    now: number,
    failure: { isAnswered: boolean; retryAfterMs: number },
    random: () => number,
  ): number {
    const { failures, answered } = this.of(slot)
    const waitMs = Math.max(failure.retryAfterMs, backoffMs(failures, RETRY_BASE_MS, RETRY_MAX_MS, random))
    const news = { failures: failures + 1, answered: answered + (failure.isAnswered ? 1 : 0), retryAt: now + waitMs }
    this.note(slot, news)
    return news.answered
  }

  /** A create may arrive until then, whatever later ones were told. */
  doubt(slot: string, until: number): void {
    this.note(slot, { doubtfulUntil: until })
  }

  /** Somebody else has made it: until then requests of theirs may arrive, whatever the answers to ours say. */
  inherit(slot: string, until: number): void {
    this.note(slot, { isInherited: true, settledAt: until })
    this.doubt(slot, until)
  }

  /** This process asks for its DataVolume now: until then the request may arrive. */
  asked(slot: string, until: number): void {
    this.note(slot, { isInherited: false, settledAt: until })
  }

  /** The last request about the slot is answered. Returns whether none can arrive any more. */
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

  /** When something about a slot becomes possible, or did. */
  times(): number[] {
    return [...this.#notes.values()].flatMap(({ settledAt, retryAt }) => [settledAt, retryAt])
  }
}
