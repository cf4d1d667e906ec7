import { isSame } from '../../../base/equality.ts'
import { compareResourceVersions } from '../../../kube/kube-object.ts'
import type { Start } from '../decide/image-plan.ts'

/** All images that wait for a slot, in ticket order. Insertion uses a binary search; nearly all go to the end. */
export class AdmissionQueue {
  readonly #inOrder: Start[] = []
  readonly #byUid = new Map<string, Start>()
  #admissible = 0

  get size(): number {
    return this.#inOrder.length
  }

  get(uid: string): Start | undefined {
    return this.#byUid.get(uid)
  }

  values(): readonly Start[] {
    return this.#inOrder
  }

  /** Adds or updates an image. Reports whether anything changed. */
  put(start: Start): boolean {
    if (isSame(this.#byUid.get(start.uid), start)) return false
    this.remove(start.uid)
    this.#byUid.set(start.uid, start)
    this.#inOrder.splice(this.#indexOf(start), 0, start)
    this.#admissible += Number(start.admissible)
    return true
  }

  /** Reports whether the image was in the queue. */
  remove(uid: string): boolean {
    const before = this.#byUid.get(uid)
    if (before === undefined) return false
    this.#byUid.delete(uid)
    this.#inOrder.splice(this.#indexOf(before), 1)
    this.#admissible -= Number(before.admissible)
    return true
  }

  /** Returns the place of an image in the queue, from 1, or the place that it would get with this ticket. */
  position(uid: string, ticket: string): number {
    return this.#indexOf(this.#byUid.get(uid) ?? { uid, ticket }) + 1
  }

  /**
   * Returns the next images to admit, at most `count`. Stops at an image whose ticket or finalizer is still being written, or it would be
   * overtaken; it is the `blocker` if it holds up others. Skips it if these writes fail or take too long (`isStuck`): it is `passed`.
   */
  heads(
    count: number,
    isStuck: (uid: string) => boolean,
  ): { readonly heads: readonly Start[]; readonly passed: readonly Start[]; readonly blocker?: Start } {
    const heads: Start[] = []
    const skipped: Start[] = []
    let passed = 0
    for (const start of this.#inOrder) {
      if (heads.length >= count) break
      if (start.admissible) {
        heads.push(start)
        passed = skipped.length
      } else if (isStuck(start.uid)) skipped.push(start)
      else {
        const blocker = this.#admissible > heads.length && { blocker: start }
        return { heads, passed: skipped.slice(0, passed), ...blocker }
      }
    }
    return { heads, passed: skipped.slice(0, passed) }
  }

  #indexOf(wanted: Pick<Start, 'ticket' | 'uid'>): number {
    let low = 0
    let high = this.#inOrder.length
    while (low < high) {
      const middle = (low + high) >> 1
      const one = this.#inOrder[middle]
      if (one !== undefined && compareTickets(one, wanted) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Tickets are resourceVersions, so no two images have the same one; the uid only makes the order total. */
export function compareTickets(a: Pick<Start, 'ticket' | 'uid'>, b: Pick<Start, 'ticket' | 'uid'>): number {
  return compareResourceVersions(a.ticket, b.ticket) || (a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0)
}
