/** At least this many changes are kept: more than any server lags behind. */
const KEPT = 10_000

/** Records when each revision was created, for readers of an earlier state of the store. Times are virtual milliseconds. */
export class Timeline {
  #marks: { readonly revision: number; readonly at: number }[] = []

  /** Must be called in revision order. */
  note(revision: number, at: number): void {
    this.#marks.push({ revision, at })
    if (this.#marks.length > 2 * KEPT) this.#marks = this.#marks.slice(-KEPT)
  }

  /** The newest revision at that time. */
  revisionAt(time: number): number {
    return this.#marks.findLast(({ at }) => at <= time)?.revision ?? 0
  }

  timeOf(revision: number): number {
    return this.#marks.findLast((mark) => mark.revision <= revision)?.at ?? 0
  }
}
