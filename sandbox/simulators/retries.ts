import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { Delays } from './delays.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

export interface RetryRule {
  /** First wait after a rejection; doubles with each rejection. */
  readonly retryMs: number
  readonly retryMaxMs: number
}

/** Returns the parts of an object whose change makes its controller retry at once. Not the status, which the controller writes itself. */
export function watchedPartOf({ metadata }: KubeObject): string {
  const { generation, labels, annotations } = metadata
  return JSON.stringify([generation, labels, annotations])
}

interface Refused {
  /** State of the object when it was rejected. */
  readonly seen: string
  readonly count: number
}

/**
 * A work queue of KubeVirt, by keys: what was refused is tried again after a wait that doubles up to `retryMaxMs`, and at once when
 * the object itself changes. Nobody tells KubeVirt that what was in the way is gone. A success forgets the waits.
 */
export class Retries {
  readonly #rule: RetryRule
  readonly #delays: Delays
  readonly #refused = new Map<string, Refused>()

  constructor(world: World, rule: RetryRule) {
    this.#rule = rule
    this.#delays = new Delays(world)
  }

  /** @param seen the state of the object to whose changes KubeVirt reacts */
  isDue(worker: Worker, key: string, seen: string): boolean {
    const refused = this.#refused.get(key)
    return refused === undefined || refused.seen !== seen || this.#passed(worker, key, refused.count)
  }

  refused(worker: Worker, key: string, seen: string): void {
    const count = (this.#refused.get(key)?.count ?? 0) + 1
    this.#refused.set(key, { seen, count })
    this.#passed(worker, key, count)
  }

  forget(key: string): void {
    this.#refused.delete(key)
    this.#delays.forget(key)
  }

  #passed(worker: Worker, key: string, count: number): boolean {
    const { retryMs, retryMaxMs } = this.#rule
    const waitMs = Math.min(retryMaxMs, retryMs * 2 ** Math.min(count - 1, 20))
    return this.#delays.passed(worker, key, `try ${count}`, waitMs)
  }
}
