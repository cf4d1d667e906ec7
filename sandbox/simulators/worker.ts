import { backoffMs } from '../../operator/base/backoff.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { WorkQueue } from '../../operator/runtime/work-queue.ts'
import type { World } from './world.ts'

/** Number of keys handled at once, if a simulator does not set it. */
const PARALLEL = 8
const RETRY = { baseMs: 50, maxMs: 5_000 }
/** A write conflicted with a newer object, or a child is not gone yet. The cache catches up in a moment. */
const RACE = { baseMs: 10, maxMs: 500 }

/** Runs `reconcile` for several keys at once, but never twice at a time for the same key. Requeues a key after an error. */
export class Worker {
  readonly queue: WorkQueue
  readonly #world: World
  readonly #name: string
  readonly #reconcile: (key: string) => Promise<void>
  readonly #failures = new Map<string, number>()
  readonly #loops: Promise<void>[] = []

  constructor(world: World, name: string, reconcile: (key: string) => Promise<void>) {
    this.queue = new WorkQueue(world.clock)
    this.#world = world
    this.#name = name
    this.#reconcile = reconcile
  }

  start(parallel = PARALLEL): void {
    for (let loop = 0; loop < parallel; loop += 1) this.#loops.push(this.#run())
  }

  async stop(): Promise<void> {
    this.queue.stop()
    await Promise.allSettled(this.#loops)
  }

  async #run(): Promise<void> {
    for (let key = await this.queue.take(); key !== undefined; key = await this.queue.take()) {
      try {
        await this.#reconcile(key)
        this.#failures.delete(key)
      } catch (error) {
        if (!this.#world.signal.aborted) this.#retry(key, error)
      } finally {
        this.queue.done(key)
      }
    }
  }

  #retry(key: string, error: unknown): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    const isRace = isApiError(error, 'Conflict', 'NotFound', 'AlreadyExists')
    const { log, random } = this.#world
    if (!isRace) log.warn({ simulator: this.#name, key, error: String(error) }, 'a simulator failed, and tries again')
    const { baseMs, maxMs } = isRace ? RACE : RETRY
    this.queue.addAfter(key, backoffMs(failures, baseMs, maxMs, random))
  }
}
