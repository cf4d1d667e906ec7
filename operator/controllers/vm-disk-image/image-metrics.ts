import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400]

/** What people who run fleets of images want to see and be alerted on. */
export class ImageMetrics {
  readonly #active: Gauge
  readonly #limit: Gauge
  readonly #queued: Gauge
  readonly #phases: Gauge
  readonly #policyValid: Gauge
  readonly #wait: Histogram
  readonly #started: Counter
  readonly #attempts: Counter
  readonly #duration: Histogram
  readonly #phaseCounts = new Map<string, number>()
  readonly #clock: { now(): number }

  constructor(registry: Registry, clock: { now(): number }) {
    const registers = [registry]
    this.#clock = clock
    this.#active = new Gauge({ name: 'ot_sync_active', help: 'Slots in use: images that are downloading', registers })
    this.#limit = new Gauge({
      name: 'ot_sync_concurrency_limit',
      help: 'Slots that there are (policy key concurrency)',
      registers,
    })
    this.#queued = new Gauge({ name: 'ot_sync_queue_length', help: 'Images that wait for a slot', registers })
    this.#phases = new Gauge({ name: 'ot_vmdi_phase', help: 'VMDiskImages by phase', labelNames: ['phase'], registers })
    this.#policyValid = new Gauge({
      name: 'ot_config_valid',
      help: '0 while a key of the policy has a value that is not used',
      registers,
    })
    this.#wait = new Histogram({
      name: 'ot_sync_wait_seconds',
      help: 'Time from ticket to slot',
      buckets: WAITS,
      registers,
    })
    this.#started = new Counter({ name: 'ot_sync_started_total', help: 'Downloads started', registers })
    this.#attempts = new Counter({
      name: 'ot_sync_attempts_total',
      help: 'Attempts ended',
      labelNames: ['result', 'reason'],
      registers,
    })
    this.#duration = new Histogram({
      name: 'ot_sync_duration_seconds',
      help: 'Duration of successful downloads',
      buckets: WAITS,
      registers,
    })
    this.#policyValid.set(1)
  }

  observeSlots(active: number, limit: number, queued: number): void {
    this.#active.set(active)
    this.#limit.set(limit)
    this.#queued.set(queued)
  }

  /** @param queuedAt RFC 3339 */
  admitted(queuedAt: string | undefined): void {
    const since = Date.parse(queuedAt ?? '')
    if (!Number.isNaN(since)) this.#wait.observe(Math.max(0, (this.#clock.now() - since) / 1_000))
  }

  started(): void {
    this.#started.inc()
  }

  ended(attempt: {
    readonly outcome: string
    readonly reason: string
    readonly durationSeconds?: number | undefined
  }): void {
    this.#attempts.inc({ result: attempt.outcome, reason: attempt.reason })
    if (attempt.outcome === 'Succeeded' && attempt.durationSeconds !== undefined)
      this.#duration.observe(attempt.durationSeconds)
  }

  /** An image moved between phases; undefined is outside (before it existed, after it is gone). */
  moved(from: string | undefined, to: string | undefined): void {
    if (from === to) return
    if (from !== undefined) this.#count(from, -1)
    if (to !== undefined) this.#count(to, 1)
  }

  policyValid(isValid: boolean): void {
    this.#policyValid.set(isValid ? 1 : 0)
  }

  #count(phase: string, by: number): void {
    const count = (this.#phaseCounts.get(phase) ?? 0) + by
    this.#phaseCounts.set(phase, count)
    this.#phases.set({ phase }, count)
  }
}
