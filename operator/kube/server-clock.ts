import type { Clock } from '../base/clock.ts'

/** How long a jump forward of the API server's clock does not count. */
const STEADY_MS = 3_600_000

/**
 * The time of the API server, as far as its answers show it. What is destroyed because time has passed is judged by this clock: the clock of the node that
 * the operator runs on may be wrong, and the next leader has another one.
 *
 * It is never ahead of the API server's clock. A jump forward counts only an hour later, and the answers of several API servers count as those of the slowest:
 * no jump shortens a notice that has been given.
 */
export class ServerClock {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** How far the API server's clock is ahead of our monotonic one, at least: in the present hour, and in the one before. */
  #offsets: readonly [number, number] | undefined
  #sinceMs = 0

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Notes the header `Date` of an answer that has just arrived. Its resolution is a second. Anything that is no date is ignored. */
  readonly note = (date: string | undefined): void => {
    const ms = Date.parse(date ?? '')
    if (Number.isNaN(ms)) return
    const nowMs = this.#clock.monotonic()
    const offset = ms - nowMs
    const [present, before] = this.#offsets ?? [offset, offset]
    const isOver = nowMs - this.#sinceMs >= STEADY_MS
    if (isOver) this.#sinceMs = nowMs
    this.#offsets = isOver ? [offset, present] : [Math.min(present, offset), before]
  }

  /** Milliseconds since the epoch; undefined until an answer has arrived. */
  readonly now = (): number | undefined => {
    if (this.#offsets === undefined) return undefined
    return this.#clock.monotonic() + Math.min(...this.#offsets)
  }
}
