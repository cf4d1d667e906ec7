import { setFlagsFromString } from 'node:v8'
import { forgetFamilies } from './runtime/interned.ts'

/** By then a new leader has reassigned the slots that it found free, so they do not wait for the garbage collector. */
const FIRST_MS = 2_000
/** By then a leader has reconciled all objects once. The garbage of that would otherwise stay as long as nothing happens. */
const AGAIN_MS = 30_000
const FORGET_EVERY_MS = 10 * 60_000

/**
 * Must be called when the caches are complete. Soon afterwards it frees what loading them left over, and from then on the heap is kept small
 * at the cost of CPU time. While 50,000 objects are loaded, that cost would double the time.
 */
export function tidyHeap(): void {
  setTimeout(() => {
    setFlagsFromString('--optimize-for-size')
    forgetFamilies()
    collect()
  }, FIRST_MS).unref()
  setTimeout(collect, AGAIN_MS).unref()
  setInterval(forgetFamilies, FORGET_EVERY_MS).unref()
}

function collect(): void {
  void globalThis.gc?.({ type: 'major', execution: 'async' })
}
