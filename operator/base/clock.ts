/** A time source that a test can control. All durations are milliseconds. */
export interface Clock {
  /** Wall clock, in milliseconds since the epoch. For values that users read or that a status stores. */
  now(): number
  /** Never goes backwards, and continues while the process is frozen. For deadlines. */
  monotonic(): number
  /** Calls `callback` once after `delayMs`. Returns a function that cancels it. */
  setTimer(callback: () => void, delayMs: number): () => void
}

/** setTimeout stores 32 bits: a longer delay would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(Math.max(0, delayMs), LONGEST_TIMER_MS))
    return () => clearTimeout(timer)
  },
}

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = clock.setTimer(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, delayMs)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
