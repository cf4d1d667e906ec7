/**
 * Keys that wait, each once. Those of one group come in the order in which they were added, and groups take turns: one that has thousands of keys does not keep
 * the others waiting.
 */
export class Turns {
  readonly #groupOf: (key: string) => string
  /** The next to have its turn is first. None is empty. */
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
    if (this.has(key)) return
    const group = this.#groupOf(key)
    const keys = this.#groups.get(group)
    if (keys === undefined) this.#groups.set(group, new Set([key]))
    else keys.add(key)
    this.#size += 1
  }

  delete(key: string): void {
    const group = this.#groupOf(key)
    const keys = this.#groups.get(group)
    if (keys?.delete(key) !== true) return
    this.#size -= 1
    if (keys.size === 0) this.#groups.delete(group)
  }

  /** Takes the next one out. */
  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      for (const key of keys) {
        this.delete(key)
        // Behind all others that have something to do.
        if (this.#groups.delete(group)) this.#groups.set(group, keys)
        return key
      }
    }
    return undefined
  }
}
