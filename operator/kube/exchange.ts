import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

/** When so much of a body waits for its reader, the server has to wait too. */
const WAITING_MAX = 64 * 1024

/** What the server answers; the body comes as it arrives, and has to be read. */
export interface Answer {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: AsyncIterable<Buffer>
}

/**
 * One request and its answer. The dispatcher's own `request` makes a stream of Node for each body, though nearly all bodies come in one piece.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<Answer>()
  readonly #signal: AbortSignal | undefined
  readonly #onAbort = () => this.#abort(this.#signal?.reason)
  #controller: Dispatcher.DispatchController | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #end: 'well' | { readonly error: Error } | undefined
  #wake: (() => void) | undefined

  private constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
  }

  /**
   * Resolves when the answer begins. It rejects, and its body throws, as soon as `signal` aborts, though the dispatcher may be about to connect: a server that
   * hangs can delay that by seconds. What has aborted by then is not sent.
   */
  static begin(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const exchange = new Exchange(signal)
    if (signal?.aborted) exchange.#onAbort()
    else {
      signal?.addEventListener('abort', exchange.#onAbort)
      dispatcher.dispatch(request, exchange)
    }
    return exchange.#answer.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (typeof this.#end === 'object') controller.abort(this.#end.error)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // Below that it only announces the answer.
    if (statusCode >= 200) this.#answer.resolve({ statusCode, headers, body: this.#body() })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#waitingBytes > WAITING_MAX) controller.pause()
    this.#wake?.()
  }

  onResponseEnd(): void {
    this.#finish('well')
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ error })
    this.#answer.reject(error)
  }

  #abort(reason: Error): void {
    this.#finish({ error: reason })
    this.#answer.reject(reason)
    this.#controller?.abort(reason)
  }

  #finish(end: 'well' | { readonly error: Error }): void {
    this.#end ??= end
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#wake?.()
  }

  async *#body(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        if (typeof this.#end === 'object') throw this.#end.error
        const chunk = this.#waiting.shift()
        if (chunk !== undefined) {
          this.#waitingBytes -= chunk.length
          yield chunk
        } else if (this.#end === 'well') {
          return
        } else {
          this.#controller?.resume()
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        }
      }
    } finally {
      if (this.#end === undefined) this.#abort(new Error('nobody reads on'))
    }
  }
}
