import type { Worker } from './worker.ts'
import type { World } from './world.ts'

/**
 * Waits of a level-triggered controller: asks for another look at a key when a wait is over. Kept in memory only; a
 * restarted simulator waits again.
 */
export class Delays {
  readonly #world: World
  readonly #due = new Map<string, { readonly label: string; readonly at: number }>()

  constructor(world: World) {
    this.#world = world
  }

  /** Whether `delayMs` passed since this was first asked for `label`; if not, `worker` gets the key again then. */
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
