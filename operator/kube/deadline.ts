import type { RequestOptions } from './kube-client.ts'

const DEFAULT_TIMEOUT_MS = 30_000

/**
 * Returns the abort signal of one request. It aborts when the request times out or its caller aborts. Disposing it removes the timer and the
 * listener: `AbortSignal.timeout` would keep each signal until its timeout, thousands at a time.
 */
export function deadlineOf({ timeoutMs = DEFAULT_TIMEOUT_MS, signal: caller }: RequestOptions = {}) {
  const abort = new AbortController()
  const onCaller = () => abort.abort(caller?.reason)
  const onTimeout = () => abort.abort(new DOMException('it took too long', 'TimeoutError'))
  const timer = setTimeout(onTimeout, timeoutMs).unref()
  if (caller?.aborted) onCaller()
  else caller?.addEventListener('abort', onCaller, { once: true })
  const dispose = () => {
    clearTimeout(timer)
    caller?.removeEventListener('abort', onCaller)
  }
  return { signal: abort.signal, [Symbol.dispose]: dispose }
}
