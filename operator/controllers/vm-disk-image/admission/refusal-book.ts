import { backoffMs } from '../../../runtime/backoff.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Refusal, Refused } from '../world.ts'

const FIRST_MS = 10_000
const LONGEST_MS = 10 * 60_000

/** Records which images had their DataVolume refused, and when to retry. Each refusal makes the wait longer. */
export class RefusalBook {
  readonly #clock: Clock
  readonly #entries = new Map<string, { readonly refusal: Refusal; readonly count: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(uid: string): Refusal | undefined {
    return this.#entries.get(uid)?.refusal
  }

  /** @param isFinal whether it holds until the spec changes or somebody requests a retry */
  add(uid: string, refused: Refused, isFinal: boolean): void {
    const before = this.#entries.get(uid)
    const isSame = before?.refusal.revision === refused.revision && before.refusal.budgetKey === refused.budgetKey
    const count = isSame ? before.count + 1 : 1
    const until = isFinal ? undefined : this.#clock.now() + backoffMs(count - 1, FIRST_MS, LONGEST_MS, () => 1)
    this.#entries.set(uid, { refusal: { ...refused, until }, count })
  }

  forget(uid: string): void {
    this.#entries.delete(uid)
  }
}
