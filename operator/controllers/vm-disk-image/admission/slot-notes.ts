import { backoffMs } from '../../../runtime/backoff.ts'

const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000

/** What this process knows about slots besides the ledger, each by its {@link slotKeyOf}. */
export class SlotNotes {
  /** Proved to be over, or never to have begun. */
  readonly over = new Set<string>()
  /** Being looked at, live. */
  readonly verifying = new Set<string>()
  /** To be reported: a create has had no answer for seconds, or found no webhook. */
  readonly inVain = new Set<string>()
  /** When no request about it can be on its way any more, by the monotonic clock. */
  readonly settledAt = new Map<string, number>()
  readonly #inherited = new Set<string>()
  readonly #retries = new Map<string, { answered: number; count: number; at: number }>()
  /** Until when a create that nobody answered for certain may still arrive. */
  readonly #doubtfulUntil = new Map<string, number>()

  /** The create failed: the next one is due later each time. Returns how many answers have said so. */
  failed(
    slot: string,
    now: number,
    failure: { isAnswered: boolean; retryAfterMs: number },
    random: () => number,
  ): number {
    const before = this.#retries.get(slot)
    const count = (before?.count ?? 0) + 1
    const answered = (before?.answered ?? 0) + (failure.isAnswered ? 1 : 0)
    const at = now + Math.max(failure.retryAfterMs, backoffMs(count - 1, RETRY_BASE_MS, RETRY_MAX_MS, random))
    this.#retries.set(slot, { count, answered, at })
    return answered
  }

  /** How many creates for the slot have come to nothing. */
  failures(slot: string): number {
    return this.#retries.get(slot)?.count ?? 0
  }

  /** A create may arrive until then, whatever later ones were told. */
  doubt(slot: string, until: number): void {
    this.#doubtfulUntil.set(slot, until)
  }

  /** Somebody else has made it: until then requests of theirs may arrive, whatever the answers to ours say. */
  inherit(slot: string, until: number): void {
    this.#inherited.add(slot)
    this.settledAt.set(slot, until)
    this.doubt(slot, until)
  }

  /** Whether this process never asked for its DataVolume itself. */
  isInherited(slot: string): boolean {
    return this.#inherited.has(slot)
  }

  /** This process asks for its DataVolume now: until then the request may arrive. */
  asked(slot: string, until: number): void {
    this.#inherited.delete(slot)
    this.settledAt.set(slot, until)
  }

  /** The last request about the slot is answered. Returns whether none can arrive any more. */
  settle(slot: string, now: number): boolean {
    const until = this.#doubtfulUntil.get(slot) ?? now
    if (until > now) this.settledAt.set(slot, until)
    else this.settledAt.delete(slot)
    return until <= now
  }

  isDue(slot: string, now: number): boolean {
    return (this.#retries.get(slot)?.at ?? 0) <= now
  }

  isSettled(slot: string, now: number): boolean {
    return (this.settledAt.get(slot) ?? 0) <= now
  }

  forget(slot: string): void {
    this.over.delete(slot)
    this.inVain.delete(slot)
    this.settledAt.delete(slot)
    this.#inherited.delete(slot)
    this.#retries.delete(slot)
    this.#doubtfulUntil.delete(slot)
  }

  /** When something about a slot becomes possible, or did. */
  times(): number[] {
    return [...this.settledAt.values(), ...[...this.#retries.values()].map(({ at }) => at)]
  }
}
