import { systemClock } from '../../operator/base/clock.ts'

/** Pending waits for a state. Each one checks again when something has changed. */
export class Waiting {
  readonly #probes = new Set<() => void>()

  wake(): void {
    for (const probe of [...this.#probes]) probe()
  }

  /** Resolves with the result of `probe` once it is neither undefined nor false. Rejects with the error of `probe`, or `late()` after the timeout. */
  async until<T>(probe: () => T | undefined | false, timeoutMs: number, late: () => Error): Promise<T> {
    const done = Promise.withResolvers<T>()
    const tryAgain = () => {
      try {
        const found = probe()
        if (found !== undefined && found !== false) done.resolve(found)
      } catch (error) {
        done.reject(error)
      }
    }
    const cancel = systemClock.setTimer(() => done.reject(late()), timeoutMs)
    this.#probes.add(tryAgain)
    tryAgain()
    try {
      return await done.promise
    } finally {
      cancel()
      this.#probes.delete(tryAgain)
    }
  }
}
