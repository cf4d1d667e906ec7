import type { RequestOptions } from './kube-client.ts'

const DEFAULT_TIMEOUT_MS = 30_000

/**
 * Abort signal of one request. It aborts when the request times out or its caller aborts. Disposing it removes the timer and the listener:
 * `AbortSignal.timeout` would keep each signal until its timeout, thousands at a time.
 */
export class Deadline implements Disposable {
  readonly #abort = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #caller: AbortSignal | undefined
  readonly #onCaller = () => this.#abort.abort(this.#caller?.reason)

  constructor({ timeoutMs = DEFAULT_TIMEOUT_MS, signal }: RequestOptions = {}) {
    this.#caller = signal
    this.#timer = setTimeout(() => this.#abort.abort(new DOMException('it took too long', 'TimeoutError')), timeoutMs)
    this.#timer.unref()
    if (signal?.aborted) this.#onCaller()
    else signal?.addEventListener('abort', this.#onCaller, { once: true })
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#onCaller)
  }
}
