import { backoffMs } from '../../../runtime/backoff.ts'

const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000

/** What this process knows about claims besides the ledger. A claim is named by image, revision and attempt. */
export class ClaimNotes {
  /** Proved to be over, or never to have begun. */
  readonly over = new Set<string>()
  /** Being looked at, live. */
  readonly verifying = new Set<string>()
  /** Of which people are told: a create has had no answer for seconds, or found no webhook. */
  readonly inVain = new Set<string>()
  /** When no request about it can be on its way any more, by the monotonic clock. */
  readonly settledAt = new Map<string, number>()
  readonly #inherited = new Set<string>()
  readonly #retries = new Map<string, { answered: number; count: number; at: number }>()
  /** Until when a create that nobody answered for certain may still arrive. */
  readonly #doubtfulUntil = new Map<string, number>()

  /** The create failed: the next one is due later each time. Returns how many answers have said so. */
  failed(
    claim: string,
    now: number,
    failure: { isAnswered: boolean; retryAfterMs: number },
    random: () => number,
  ): number {
    const before = this.#retries.get(claim)
    const count = (before?.count ?? 0) + 1
    const answered = (before?.answered ?? 0) + (failure.isAnswered ? 1 : 0)
    const at = now + Math.max(failure.retryAfterMs, backoffMs(count - 1, RETRY_BASE_MS, RETRY_MAX_MS, random))
    this.#retries.set(claim, { count, answered, at })
    return answered
  }

  /** How many creates of the claim have come to nothing. */
  failures(claim: string): number {
    return this.#retries.get(claim)?.count ?? 0
  }

  /** A create may arrive until then, whatever later ones were told. */
  doubt(claim: string, until: number): void {
    this.#doubtfulUntil.set(claim, until)
  }

  /** Somebody else has made it: until then requests of theirs may arrive, whatever ours are told. */
  inherit(claim: string, until: number): void {
    this.#inherited.add(claim)
    this.settledAt.set(claim, until)
    this.doubt(claim, until)
  }

  /** Whether this process never asked for its DataVolume itself. */
  isInherited(claim: string): boolean {
    return this.#inherited.has(claim)
  }

  /** This process asks for its DataVolume now: until then the request may arrive. */
  asked(claim: string, until: number): void {
    this.#inherited.delete(claim)
    this.settledAt.set(claim, until)
  }

  /** The last request about the claim is answered. Returns whether none can arrive any more. */
  settle(claim: string, now: number): boolean {
    const until = this.#doubtfulUntil.get(claim) ?? now
    if (until > now) this.settledAt.set(claim, until)
    else this.settledAt.delete(claim)
    return until <= now
  }

  isDue(claim: string, now: number): boolean {
    return (this.#retries.get(claim)?.at ?? 0) <= now
  }

  isSettled(claim: string, now: number): boolean {
    return (this.settledAt.get(claim) ?? 0) <= now
  }

  forget(claim: string): void {
    this.over.delete(claim)
    this.inVain.delete(claim)
    this.settledAt.delete(claim)
    this.#inherited.delete(claim)
    this.#retries.delete(claim)
    this.#doubtfulUntil.delete(claim)
  }

  /** The next moment at which something about a claim becomes possible. */
  nextTime(now: number): number | undefined {
    const times = [...this.settledAt.values(), ...[...this.#retries.values()].map(({ at }) => at)]
    const coming = times.filter((time) => time > now)
    return coming.length === 0 ? undefined : Math.min(...coming)
  }
}
