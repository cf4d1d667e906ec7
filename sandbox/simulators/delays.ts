import type { Worker } from './worker.ts'
import type { World } from './world.ts'

/**
 * Delays of a level-triggered controller: requeues a key when a delay is over. Kept only in memory: a restarted
 * simulator starts them again.
 */
export class Delays {
  readonly #world: World
  readonly #due = new Map<string, { readonly label: string; readonly at: number }>()

  constructor(world: World) {
    this.#world = world
  }

  /** Reports whether `delayMs` has passed since the first call with `label`. If not, requeues the key for then. */
  passed(worker: Worker, key: string, label: string, delayMs: number): boolean {
    if (delayMs <= 0) return true
    const now = this.#world.clock.monotonic()
    let wait = this.#due.get(key)
    if (wait?.label !== label) {
      wait = { label, at: now + delayMs }
      this.#due.set(key, wait)
    }
    if (now >= wait.at) return true
    worker.queue.addAfter(key, wait.at - now)
    return false
  }

  forget(key: string): void {
    this.#due.delete(key)
  }
}
