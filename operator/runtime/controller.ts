import { backoffMs } from '../base/backoff.ts'
import { sleep } from '../base/clock.ts'
import { redactUrls, traceOf } from '../base/messages.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Basics } from './basics.ts'
import type { ControllerMetrics } from './metrics.ts'
import type { Requeue } from './requeue.ts'
import { Semaphore } from './semaphore.ts'
import type { WorkQueue } from './work-queue.ts'

export interface ControllerOptions extends Omit<Basics, 'client'> {
  readonly name: string
  readonly queue: WorkQueue
  /** Brings one object closer to what is wanted. Called for one key by one worker at a time. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>
  readonly onError?: (key: string, error: unknown) => void
  readonly workers: number
  readonly metrics: ControllerMetrics
}

/** Up to this many consecutive failures, a stale cache explains Conflict and AlreadyExists. */
const RACES = 5
const RETRY_BASE_MS = 100
const RETRY_MAX_MS = 60_000
/** The event that updates a stale cache is in flight. */
const CONFLICT_RETRY_MS = 250
/** Maximum number of concurrent reconciles while each is quick. More would wait for each other in the API server, and delay admissions (ADR 8). */
const AT_ONCE = 3
/** A slower reconcile waits for something that others need not wait for, such as a webhook of one kind. */
const SLOW_MS = 250
/** How long workers run before they yield. */
const TURN_MS = 8
/** Repeating a rejected request quickly does not help. A fix of permissions or quota is noticed within a minute. */
const REJECTED_RETRY_MS = 30_000

/** Workers that take keys from a queue and reconcile them, with retries, so that nothing is left undone. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #failures = new Map<string, number>()
  readonly #semaphore = new Semaphore(AT_ONCE)
  #turnBegan = 0
  #turn: Promise<void> | undefined

  constructor(options: ControllerOptions) {
    this.#options = options
  }

  /** Runs until `signal` aborts. Resolves when the last worker has finished. */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, workers, metrics } = this.#options
    queue.onAdd = () => metrics.added()
    metrics.observeDepth(() => queue.depth)
    signal.addEventListener('abort', () => queue.stop(), { once: true })
    if (signal.aborted) queue.stop()
    await Promise.all(Array.from({ length: workers }, () => this.#work(signal)))
    // What is left of a term waits for nobody.
    metrics.observeDepth(() => 0)
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#semaphore.acquire()
      const key = await this.#options.queue.take()
      await this.#handle(key, signal)
    }
  }

  /** Holds the semaphore for a limited time only. */
  async #handle(key: string | undefined, signal: AbortSignal): Promise<void> {
    const { queue, clock } = this.#options
    let hasLeft = false
    const leave = () => {
      if (!hasLeft) this.#semaphore.release()
      hasLeft = true
    }
    const cancelTimer = clock.setTimer(leave, SLOW_MS)
    try {
      if (key === undefined || signal.aborted) return
      await this.#reconcileOne(key, signal)
      queue.done(key)
      await this.#giveWay()
    } finally {
      cancelTimer()
      leave()
    }
  }

  /** Yields to the event loop: a thousand reconciles that write nothing would otherwise block everything else. */
  async #giveWay(): Promise<void> {
    const { clock } = this.#options
    if (clock.monotonic() - this.#turnBegan < TURN_MS) return
    this.#turn ??= sleep(clock, 0).then(() => {
      this.#turn = undefined
      this.#turnBegan = clock.monotonic()
    })
    await this.#turn
  }

  async #reconcileOne(key: string, signal: AbortSignal): Promise<void> {
    const { queue, reconcile, clock, metrics } = this.#options
    metrics.queued(queue.waitedMs(key) / 1_000)
    const started = clock.monotonic()
    let result: 'success' | 'requeue_after' | 'error' = 'success'
    try {
      const requeue = await reconcile(key, signal)
      this.#failures.delete(key)
      if (requeue !== undefined) {
        result = 'requeue_after'
        queue.addAfter(key, requeue.afterMs)
      }
    } catch (error) {
      if (signal.aborted) return
      result = 'error'
      this.#retry(key, error)
    } finally {
      metrics.reconciled(result, (clock.monotonic() - started) / 1_000)
    }
  }

  #retry(key: string, error: unknown): void {
    const { queue, log, name, metrics, onError } = this.#options
    onError?.(key, error)
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    metrics.retried()
    const retryInMs = this.#retryDelay(error, failures)
    if (isApiError(error, 'Conflict')) queue.noteConflict(key)
    // Another writer was faster. The caches will show that in a moment.
    const isRace = isApiError(error, 'Conflict') || (isApiError(error, 'AlreadyExists') && failures < RACES)
    const level = isRace ? 'debug' : isApiError(error) ? 'warn' : 'error'
    const text = isApiError(error) ? redactUrls(error.message) : traceOf(error)
    log[level]({ controller: name, key, error: text, retryInMs: Math.round(retryInMs) }, 'reconcile failed')
    queue.addAfter(key, retryInMs)
  }

  #retryDelay(error: unknown, failures: number): number {
    const { random } = this.#options
    if (isApiError(error, 'Conflict') && failures < RACES) return CONFLICT_RETRY_MS * (0.5 + random())
    const base = isApiError(error, 'Rejected') ? REJECTED_RETRY_MS : RETRY_BASE_MS
    const delay = backoffMs(failures, base, RETRY_MAX_MS, random)
    return isApiError(error) ? Math.max(delay, error.retryAfterMs ?? 0) : delay
  }
}
