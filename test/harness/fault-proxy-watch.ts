import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { readLines } from '../../operator/kube/watch-lines.ts'
import type { ProxiedRequest } from './fault-proxy-request.ts'

/**
 * What happens to a watch at its next event. `end`: it ends in good order, and the event is not told; `cut`: its connection
 * breaks; `truncate`: it breaks in the middle of the event; `freeze`: nothing comes any more, and nobody says so.
 */
export type Interruption = 'end' | 'cut' | 'truncate' | 'freeze'

/** A watch that is under way through the proxy. */
export class ProxiedWatch {
  readonly request: ProxiedRequest
  /** Milliseconds by which each event is late. */
  delayMs = 0
  readonly #source: IncomingMessage
  readonly #sees: (object: KubeObject) => boolean
  readonly #response: ServerResponse
  #interruption: Interruption | undefined
  #frozenAt: number | undefined
  #leftAt: number | undefined

  /** @param sees whether the watcher is to learn of an object; default: of all */
  constructor(
    request: ProxiedRequest,
    source: IncomingMessage,
    response: ServerResponse,
    sees: (object: KubeObject) => boolean = () => true,
  ) {
    this.request = request
    this.#source = source
    this.#sees = sees
    this.#response = response
  }

  /** By the wall clock, as the other requests; undefined: it is not frozen. */
  get frozenAt(): number | undefined {
    return this.#frozenAt
  }

  /** When the watcher gave it up, or saw its end. */
  get leftAt(): number | undefined {
    return this.#leftAt
  }

  /** From the next event on. */
  interrupt(how: Interruption): void {
    this.#interruption = how
  }

  /** Resolves when it has ended on either side. */
  async relay(): Promise<void> {
    const response = this.#response
    const left = new Promise<void>((resolve) => response.once('close', resolve)).then(() => {
      this.#leftAt = Date.now()
    })
    // A frozen one is not ended by what happens behind the proxy.
    const told = this.#tell().then(() => (this.#frozenAt === undefined ? undefined : left))
    await Promise.race([left, told]).finally(() => this.#source.destroy())
  }

  async #tell(): Promise<void> {
    const response = this.#response
    response.flushHeaders()
    try {
      for await (const line of readLines(this.#source)) {
        if (!this.#isMeant(line)) continue
        if (this.delayMs > 0) await sleep(this.delayMs)
        if (this.#interruption !== undefined) return this.#break(this.#interruption, line)
        response.write(`${line}\n`)
      }
      response.end()
    } catch {
      response.destroy()
    }
  }

  /** Bookmarks and errors are meant for every watcher. */
  #isMeant(line: string): boolean {
    const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: KubeObject }
    return type === 'BOOKMARK' || type === 'ERROR' || this.#sees(object)
  }

  #break(how: Interruption, line: string): void {
    const response = this.#response
    switch (how) {
      case 'end':
        response.end()
        return
      case 'cut':
        response.destroy()
        return
      case 'truncate':
        // Destroyed only when it has left, or nothing of it would arrive.
        response.write(line.slice(0, line.length / 2), () => response.destroy())
        return
      case 'freeze':
        this.#frozenAt = Date.now()
    }
  }
}
