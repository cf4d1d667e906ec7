import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'

/** Bytes of a body that may be buffered for its reader. Beyond that, reading from the server is paused. */
const WAITING_MAX = 64 * 1024

/** Response of the server. The body is streamed as it arrives, and the caller must read it. */
export interface Answer {
  readonly statusCode: number
  readonly headers: IncomingHttpHeaders
  readonly body: AsyncIterable<Buffer>
}

/**
 * One request and its response. The dispatcher's own `request` creates a Node stream for each body, although nearly all bodies arrive in one chunk.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #answer = Promise.withResolvers<Answer>()
  readonly #signal: AbortSignal | undefined
  readonly #refuse: () => Error | undefined
  readonly #onAbort = () => this.#abort(this.#signal?.reason)
  #controller: Dispatcher.DispatchController | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #end: 'well' | { readonly error: Error } | undefined
  #requeue: (() => void) | undefined

  private constructor(signal: AbortSignal | undefined, refuse: () => Error | undefined) {
    this.#signal = signal
    this.#refuse = refuse
  }

  /**
   * Resolves when the response starts. Rejects, and makes the body throw, as soon as `signal` aborts, even if the dispatcher is still connecting:
   * a server that hangs can delay that by seconds. A request that is aborted by then is not sent.
   * @param refuse called right before the request is written, which may be long after this call; an error is thrown instead
   */
  static begin(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions,
    signal: AbortSignal | undefined,
    refuse: () => Error | undefined = () => undefined,
  ): Promise<Answer> {
    const exchange = new Exchange(signal, refuse)
    if (signal?.aborted) exchange.#onAbort()
    else {
      signal?.addEventListener('abort', exchange.#onAbort)
      dispatcher.dispatch(request, exchange)
    }
    return exchange.#answer.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    const refusal = typeof this.#end === 'object' ? this.#end.error : this.#refuse()
    if (refusal !== undefined) this.#abort(refusal)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    // A status below 200 is informational; the final response follows.
    if (statusCode >= 200) this.#answer.resolve({ statusCode, headers, body: this.#body() })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#waiting.push(chunk)
    this.#waitingBytes += chunk.length
    if (this.#waitingBytes > WAITING_MAX) controller.pause()
    this.#requeue?.()
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
    this.#requeue?.()
  }

  async *#body(): AsyncGenerator<Buffer> {
    try {
      while (this.#end !== 'well' || this.#waiting.length > 0) {
        if (typeof this.#end === 'object') throw this.#end.error
        const chunk = this.#waiting.shift()
        if (chunk !== undefined) {
          this.#waitingBytes -= chunk.length
          yield chunk
          continue
        }
        const more = Promise.withResolvers<void>()
        this.#requeue = more.resolve
        // Data that waits in the parser arrives during this call.
        this.#controller?.resume()
        await more.promise
      }
    } finally {
      if (this.#end === undefined) this.#abort(new Error('nobody reads on'))
    }
  }
}
