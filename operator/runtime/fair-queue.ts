/** A set of waiting keys, first come, first served within a group. Groups take turns, so one with thousands of keys does not delay the others. */
export class FairQueue {
  readonly #groupOf: (key: string) => string
  /** Ordered by turn, the next group first. No group is empty. */
  readonly #groups = new Map<string, Set<string>>()
  #size = 0

  constructor(groupOf: (key: string) => string) {
    this.#groupOf = groupOf
  }

  get size(): number {
    return this.#size
  }

  has(key: string): boolean {
    return this.#groups.get(this.#groupOf(key))?.has(key) ?? false
  }

  add(key: string): void {
    const group = this.#groupOf(key)
    const keys = this.#groups.get(group) ?? new Set()
    if (keys.has(key)) return
    this.#groups.set(group, keys.add(key))
    this.#size += 1
  }

  delete(key: string): void {
    const group = this.#groupOf(key)
    const keys = this.#groups.get(group)
    if (keys?.delete(key) !== true) return
    this.#size -= 1
    if (keys.size === 0) this.#groups.delete(group)
  }

  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      for (const key of keys) {
        this.delete(key)
        // Moves the group behind all others that have keys.
        if (this.#groups.delete(group)) this.#groups.set(group, keys)
        return key
      }
    }
    return undefined
  }
}
