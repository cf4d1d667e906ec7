import { type Output, runtime } from '@pulumi/pulumi'

const FAILURES = ['unhandledRejection', 'uncaughtException'] as const

/** One listener for all waits of a program, of which there may be many. */
const waits = new Set<AbortController>()
const stopWaits = (error: unknown): void => {
  for (const wait of waits) wait.abort(error)
}

/** The life of the running program, for work between two requests to the engine. */
export class ProgramLife {
  readonly #wait = new AbortController()
  readonly #done = runtime.rpcKeepAlive()

  constructor() {
    waits.add(this.#wait)
    if (waits.size > 1) return
    // Where nobody listens, Node itself ends a process that fails, and must go on to do so.
    for (const event of FAILURES) if (process.listenerCount(event) > 0) process.on(event, stopWaits)
  }

  /**
   * Aborted with the error when the program fails elsewhere. Otherwise an update that has failed would wait for what nobody needs any more. It is the
   * same error again, because Pulumi tells the same one once.
   */
  get signal(): AbortSignal {
    return this.#wait.signal
  }

  /**
   * Keeps an inline program of the Automation API, which ends when no request to the engine is open, until the output is there or has failed. Fails the
   * program with it, also if nobody uses the output.
   */
  lastsUntil(output: Output<unknown>): void {
    // Every output has its promise. The types leave it out.
    const { promise } = output as unknown as { promise(): Promise<unknown> }
    void promise().finally(() => {
      waits.delete(this.#wait)
      if (waits.size === 0) for (const event of FAILURES) process.off(event, stopWaits)
      this.#done()
    })
  }
}
