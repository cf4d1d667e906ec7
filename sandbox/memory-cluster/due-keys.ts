import type { Commit, ObjectStore } from './object-store.ts'

/** Keys that a controller must reconcile. Each key is handled once, after a delay, however often it is added until then. */
export class DueKeys {
  readonly #later: (work: () => void) => void
  readonly #look: (key: string) => void
  readonly #due = new Set<string>()

  /** @param later runs work after a short delay */
  constructor(later: (work: () => void) => void, look: (key: string) => void) {
    this.#later = later
    this.#look = look
  }

  add(key: string): void {
    if (this.#due.has(key)) return
    this.#due.add(key)
    this.#later(() => {
      this.#due.delete(key)
      this.#look(key)
    })
  }
}

export interface DueKeysParts {
  readonly store: ObjectStore
  readonly later: (work: () => void) => void
}

/** @param keysOf returns the keys to reconcile after a commit */
export function dueAfterCommits(
  { store, later }: DueKeysParts,
  keysOf: (commit: Commit) => readonly string[],
  look: (key: string) => void,
): DueKeys {
  const due = new DueKeys(later, look)
  store.onCommit((commit) => {
    for (const key of keysOf(commit)) due.add(key)
  })
  return due
}
