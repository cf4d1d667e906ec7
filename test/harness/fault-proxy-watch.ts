import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { readLines } from '../../operator/kube/watch-lines.ts'
import type { ProxiedRequest } from './fault-proxy-request.ts'

/**
 * What happens to a watch at its next event. `end`: it ends normally, without that event; `cut`: its connection breaks;
 * `truncate`: the connection breaks in the middle of the event; `freeze`: nothing arrives any more, without an error.
 */
export type Interruption = 'end' | 'cut' | 'truncate' | 'freeze'

/** A watch that passes through the proxy. */
export class ProxiedWatch {
  readonly request: ProxiedRequest
  /** Delay of each event, in milliseconds. */
  delayMs = 0
  readonly #source: IncomingMessage
  readonly #sees: (object: KubeObject) => boolean
  readonly #response: ServerResponse
  #interruption: Interruption | undefined
  #frozenAt: number | undefined
  #leftAt: number | undefined

  /** @param sees whether the watcher receives an object; default: all objects */
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

  /** Wall clock time, as for other requests. Undefined if it is not frozen. */
  get frozenAt(): number | undefined {
    return this.#frozenAt
  }

  /** When the watcher closed it, or saw its end. */
  get leftAt(): number | undefined {
    return this.#leftAt
  }

  /** Takes effect at the next event. */
  interrupt(how: Interruption): void {
    this.#interruption = how
  }

  /** Resolves when either side has ended it. */
  async relay(): Promise<void> {
    const response = this.#response
    const left = new Promise<void>((resolve) => response.once('close', resolve)).then(() => {
      this.#leftAt = Date.now()
    })
    // A frozen watch stays open when the API server ends its side.
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

  /** Every watcher receives bookmarks and errors. */
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
        // Destroys the connection only after the write, or no part of it would arrive.
        response.write(line.slice(0, line.length / 2), () => response.destroy())
        return
      case 'freeze':
        this.#frozenAt = Date.now()
    }
  }
}
