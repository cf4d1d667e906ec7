import { isApiError } from '../kube/api-error.ts'
import { backoffMs } from './backoff.ts'
import type { Basics } from './basics.ts'
import { sleep } from './clock.ts'
import type { ControllerMetrics } from './metrics.ts'
import { redactUrls, traceOf } from './redact.ts'
import { Semaphore } from './semaphore.ts'
import type { Wake } from './wake.ts'
import type { WorkQueue } from './work-queue.ts'

export interface ControllerOptions extends Omit<Basics, 'client'> {
  readonly name: string
  readonly queue: WorkQueue
  /** Brings one object closer to what is wanted. Called for one key by one worker at a time. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Wake | undefined>
  /** Told about each reconcile that threw, before it is tried again. */
  readonly onError?: (key: string, error: unknown) => void
  readonly workers: number
  readonly metrics: ControllerMetrics
}

/** So often in a row an object that exists already is only a cache that is behind. */
const RACES = 5
const RETRY_BASE_MS = 100
const RETRY_MAX_MS = 60_000
/** A conflict means that the cache is behind; the event that brings it up to date is on its way. */
const CONFLICT_RETRY_MS = 250
/**
 * So many reconciles are carried out at once as long as each is quick. More would not get more done: their requests wait for
 * each other in the API server, and those that decide how long a slot is empty wait behind them.
 */
const AT_ONCE = 3
/** A reconcile that takes longer waits for something that others need not wait for, such as a webhook of one kind. */
const SLOW_MS = 250
/** So long workers go on before others have their turn. */
const TURN_MS = 8
/** The same refused request, over and over, helps nobody; a fix of permissions or quota is seen within a minute. */
const REJECTED_RETRY_MS = 30_000

/** Workers that take keys from a queue, reconcile them, and see to it that nothing stays undone. */
export class Controller {
  readonly #options: ControllerOptions
  readonly #failures = new Map<string, number>()
  readonly #semaphore = new Semaphore(AT_ONCE)
  #turnBegan = 0
  #turn: Promise<void> | undefined

  constructor(options: ControllerOptions) {
    this.#options = options
  }

  /** Works until `signal` aborts; resolves when the last worker has put down its tools. */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, workers, metrics } = this.#options
    queue.onAdd = () => metrics.added()
    metrics.observeDepth(() => queue.depth)
    signal.addEventListener('abort', () => queue.stop(), { once: true })
    if (signal.aborted) queue.stop()
    await Promise.all(Array.from({ length: workers }, () => this.#work(signal)))
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#semaphore.acquire()
      const key = await this.#options.queue.take()
      await this.#handle(key, signal)
    }
  }

  /** Keeps its place only for a while. */
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

  /** A thousand reconciles that have nothing to write would otherwise keep everything else from running. */
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
      const wake = await reconcile(key, signal)
      this.#failures.delete(key)
      if (wake !== undefined) {
        result = 'requeue_after'
        queue.addAfter(key, wake.afterMs)
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
    const { queue, log, name, onError } = this.#options
    onError?.(key, error)
    const retryInMs = this.#retryDelay(key, error)
    const level = this.#isRace(key, error) ? 'debug' : isApiError(error) ? 'warn' : 'error'
    const text = isApiError(error) ? redactUrls(error.message) : traceOf(error)
    log[level]({ controller: name, key, error: text, retryInMs: Math.round(retryInMs) }, 'reconcile failed')
    queue.addAfter(key, retryInMs)
  }

  /** Somebody else was faster: the caches will know in a moment. */
  #isRace(key: string, error: unknown): boolean {
    if (isApiError(error, 'Conflict')) return true
    return isApiError(error, 'AlreadyExists') && (this.#failures.get(key) ?? 0) <= RACES
  }

  #retryDelay(key: string, error: unknown): number {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.#options.metrics.retried()
    if (isApiError(error, 'Conflict') && failures < 5) return CONFLICT_RETRY_MS * (0.5 + this.#options.random())
    const base = isApiError(error, 'Rejected') ? REJECTED_RETRY_MS : RETRY_BASE_MS
    const delay = backoffMs(failures, base, RETRY_MAX_MS, this.#options.random)
    return isApiError(error) ? Math.max(delay, error.retryAfterMs ?? 0) : delay
  }
}
