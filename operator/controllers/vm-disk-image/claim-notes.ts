import { backoffMs } from '../../runtime/backoff.ts'

const RETRY_BASE_MS = 1_000
const RETRY_MAX_MS = 60_000

/** What this process knows about claims besides the ledger. A claim is named by image, revision and attempt. */
export class ClaimNotes {
  /** Proved to be over, or never to have begun. */
  readonly over = new Set<string>()
  /** Being looked at, live. */
  readonly verifying = new Set<string>()
  /** When no request about it can be on its way any more, by the monotonic clock. */
  readonly settledAt = new Map<string, number>()
  readonly #retries = new Map<string, { count: number; at: number }>()

  /** The create failed: the next one is due later each time. Returns how often it has failed. */
  failed(claim: string, now: number, retryAfterMs: number, random: () => number): number {
    const count = (this.#retries.get(claim)?.count ?? 0) + 1
    const at = now + Math.max(retryAfterMs, backoffMs(count - 1, RETRY_BASE_MS, RETRY_MAX_MS, random))
    this.#retries.set(claim, { count, at })
    return count
  }

  isDue(claim: string, now: number): boolean {
    return (this.#retries.get(claim)?.at ?? 0) <= now
  }

  isSettled(claim: string, now: number): boolean {
    return (this.settledAt.get(claim) ?? 0) <= now
  }

  forget(claim: string): void {
    this.over.delete(claim)
    this.settledAt.delete(claim)
    this.#retries.delete(claim)
  }

  /** The next moment at which something about a claim becomes possible. */
  nextTime(now: number): number | undefined {
    const times = [...this.settledAt.values(), ...[...this.#retries.values()].map(({ at }) => at)]
    const coming = times.filter((time) => time > now)
    return coming.length === 0 ? undefined : Math.min(...coming)
  }
}
