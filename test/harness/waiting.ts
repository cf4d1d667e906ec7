import { systemClock } from '../../operator/base/clock.ts'

/** Pending waits for a state. Each one checks again when something has changed. */
export class Waiting {
  readonly #looks = new Set<() => void>()

  wake(): void {
    for (const look of [...this.#looks]) look()
  }

  /** Resolves with the result of `look` once it is neither undefined nor false. Rejects with the error of `look`, or `late()` after the timeout. */
  async until<T>(look: () => T | undefined | false, timeoutMs: number, late: () => Error): Promise<T> {
    const done = Promise.withResolvers<T>()
    const tryAgain = () => {
      try {
        const found = look()
        if (found !== undefined && found !== false) done.resolve(found)
      } catch (error) {
        done.reject(error)
      }
    }
    const cancel = systemClock.setTimer(() => done.reject(late()), timeoutMs)
    this.#looks.add(tryAgain)
    tryAgain()
    try {
      return await done.promise
    } finally {
      cancel()
      this.#looks.delete(tryAgain)
    }
  }
}
