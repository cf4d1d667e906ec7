import type { Transfer } from '../../sandbox/simulators/transfer.ts'

/** Holds downloads until they are released, so that a test controls how long one takes. */
export class Gate {
  readonly #held: { readonly prefix: string; readonly opened: PromiseWithResolvers<void> }[] = []

  /** Holds downloads of every URL with this prefix. Returns a function that releases them and lets later ones pass. */
  hold(prefix: string): () => void {
    const entry = { prefix, opened: Promise.withResolvers<void>() }
    this.#held.push(entry)
    return () => {
      const at = this.#held.indexOf(entry)
      if (at >= 0) this.#held.splice(at, 1)
      entry.opened.resolve()
    }
  }

  releaseAll(): void {
    for (const { opened } of this.#held.splice(0)) opened.resolve()
  }

  through(transfer: Transfer): Transfer {
    return {
      start: async (job) => {
        const entry = this.#held.find(({ prefix }) => job.url.startsWith(prefix))
        if (entry !== undefined) await Promise.race([entry.opened.promise, aborted(job.signal)])
        return await transfer.start(job)
      },
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
