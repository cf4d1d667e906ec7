/** So many changes are remembered at least: more than anybody lags behind. */
const KEPT = 10_000

/** When each revision came about, for those who see the store as it was a while ago. Times are virtual milliseconds. */
export class Timeline {
  #marks: { readonly revision: number; readonly at: number }[] = []

  /** In the order of revisions. */
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
