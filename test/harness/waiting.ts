import { systemClock } from '../../operator/runtime/clock.ts'

/** Those who wait for a state: each looks again whenever something has changed. */
export class Waiting {
  readonly #looks = new Set<() => void>()

  wake(): void {
    for (const look of [...this.#looks]) look()
  }

  /** Resolves with what `look` returns as soon as that is neither undefined nor false. Rejects with what it throws, or after so long with `late()`. */
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
