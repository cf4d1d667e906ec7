import { setFlagsFromString } from 'node:v8'

/** By then a new leader has handed on the slots that it found free: they do not wait for the collector. */
const FIRST_MS = 2_000
/** By then a leader has looked at all objects once, and what that left behind would stay for as long as nothing happens. */
const AGAIN_MS = 30_000

/**
 * To be called when the caches are complete: soon after, what loading them left over is given back, and from now on the heap is kept small
 * at the price of processor time. While 50,000 objects are loaded, that price would double the time.
 */
export function tidyHeap(): void {
  setTimeout(() => {
    setFlagsFromString('--optimize-for-size')
    collect()
  }, FIRST_MS).unref()
  setTimeout(collect, AGAIN_MS).unref()
}

function collect(): void {
  void globalThis.gc?.({ type: 'major', execution: 'async' })
}
