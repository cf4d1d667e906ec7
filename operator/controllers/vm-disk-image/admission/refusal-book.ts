import { backoffMs } from '../../../base/backoff.ts'
import type { Clock } from '../../../base/clock.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Refusal } from '../world.ts'

/** The wait after a refusal. */
const REFUSED_BASE_MS = 10_000
const REFUSED_MAX_MS = 10 * 60_000

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
  add({ uid, revision, target }: Start, why: Pick<Refusal, 'reason' | 'message'>, isFinal: boolean): void {
    const { budgetKey } = target
    const before = this.#entries.get(uid)
    const isSame = before?.refusal.revision === revision && before.refusal.budgetKey === budgetKey
    const count = isSame ? before.count + 1 : 1
    const waitMs = backoffMs(count - 1, REFUSED_BASE_MS, REFUSED_MAX_MS, () => 1)
    const until = isFinal ? undefined : this.#clock.now() + waitMs
    this.#entries.set(uid, { refusal: { revision, budgetKey, ...why, until }, count })
  }

  forget(uid: string): void {
    this.#entries.delete(uid)
  }
}
