import type { Commit, ObjectStore } from './object-store.ts'

/** Keys that a controller of the cluster has to look at: each once, a moment later, however often it changes until then. */
export class DueKeys {
  readonly #later: (work: () => void) => void
  readonly #look: (key: string) => void
  readonly #due = new Set<string>()

  /** @param later runs what is to be done, a moment later */
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

/** @param keysOf what has to be looked at after a commit */
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
