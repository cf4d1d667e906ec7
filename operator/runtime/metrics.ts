import { collectDefaultMetrics } from 'prom-client'
import type { RequestReport } from '../kube/kube-client.ts'
import { Meters } from './meters.ts'
import type { MetricLabel } from './metric-labels.ts'
import type { Reflectors } from './reflectors.ts'
import { StateGauges } from './state-gauges.ts'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** What one controller reports about itself. */
export type ControllerMetrics = ReturnType<RuntimeMetrics['forController']>

/** The metrics of the runtime, with the names that controller-runtime and client-go use, so that dashboards made for those work. */
export class RuntimeMetrics extends Meters {
  readonly #depth = this.gauge('workqueue_depth', 'Keys that wait for a worker', 'name')
  readonly #adds = this.counter('workqueue_adds_total', 'Keys added to the work queue', 'name')
  readonly #retries = this.counter('workqueue_retries_total', 'Keys added again after an error', 'name')
  readonly #waits = this.#timer('workqueue_queue_duration_seconds', 'Time a key waited for a worker', 'name')
  readonly #works = this.#timer('workqueue_work_duration_seconds', 'Time a worker took for a key', 'name')
  readonly #results = this.counter('controller_runtime_reconcile_total', 'Reconciles by result', 'controller', 'result')
  readonly #errors = this.counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed', 'controller')
  readonly #times = this.#timer('controller_runtime_reconcile_time_seconds', 'Duration of reconciles', 'controller')
  readonly #requests = this.counter(
    'rest_client_requests_total',
    'Requests to the API server',
    'code',
    'method',
    'resource',
  )
  readonly #requestTimes = this.#timer('rest_client_request_duration_seconds', 'Duration of requests', 'verb')
  readonly #leading = this.gauge('leader_election_master_status', '1 while this replica leads', 'name')
  readonly #relists = this.counter('ot_informer_relists_total', 'Complete lists of a kind', 'kind')
  readonly #cached = this.gauge('ot_informer_objects', 'Objects of a kind in the cache', 'kind')
  readonly #large = this.gauge('ot_informer_large_bytes', 'Memory for the large specs of a kind, roughly', 'kind')
  readonly #largeMax = this.gauge('ot_informer_large_max_bytes', 'Most memory for large specs of all kinds')
  readonly #partial = this.gauge('ot_informer_partial_objects', 'Objects of which the cache keeps only a part', 'kind')
  readonly #silent = this.gauge(
    'ot_informer_silent_seconds',
    'How long the API server has told nothing of a kind; it does so once a minute at least',
    'kind',
  )
  readonly states = new StateGauges(this)
  readonly #depths = new Map<string, () => number>()
  #caches: Pick<Reflectors, 'kept' | 'budget'> | undefined

  /** Adds Node's metrics of this process. Must be called once per process, since its collectors never stop. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry })
  }

  #timer(name: string, help: string, label: MetricLabel) {
    return this.histogram(name, help, SECONDS, label)
  }

  forController(name: string) {
    return {
      added: () => this.#adds.inc({ name }),
      queued: (seconds: number) => this.#waits.observe({ name }, seconds),
      retried: () => this.#retries.inc({ name }),
      reconciled: (result: 'success' | 'requeue_after' | 'error', seconds: number) => {
        this.#results.inc({ controller: name, result })
        if (result === 'error') this.#errors.inc({ controller: name })
        this.#times.observe({ controller: name }, seconds)
        this.#works.observe({ name }, seconds)
      },
      observeDepth: (depth: () => number) => void this.#depths.set(name, depth),
    }
  }

  requested(report: RequestReport): void {
    this.#requests.inc({ code: report.code, method: report.verb, resource: report.resource })
    this.#requestTimes.observe({ verb: report.verb }, report.seconds)
  }

  leading(name: string, leads: boolean): void {
    this.#leading.set({ name }, leads ? 1 : 0)
  }

  observeCaches(caches: Pick<Reflectors, 'kept' | 'budget'>): void {
    this.#caches = caches
  }

  relisted(kind: string): void {
    this.#relists.inc({ kind })
  }

  async render(): Promise<string> {
    for (const [name, depth] of this.#depths) this.#depth.set({ name }, depth())
    if (this.#caches !== undefined) this.#readCaches(this.#caches)
    this.states.read()
    return await this.registry.metrics()
  }

  #readCaches({ kept, budget }: Pick<Reflectors, 'kept' | 'budget'>): void {
    const large = budget.bytesByKind()
    this.#large.reset()
    this.#largeMax.set(budget.max)
    for (const { name: kind, type, store, silentMs } of kept) {
      this.#cached.set({ kind }, store.size)
      this.#silent.set({ kind }, silentMs() / 1_000)
      const bytes = large.get(`${type.group}/${type.kind}`)
      if (bytes !== undefined) this.#large.set({ kind }, bytes)
      this.#partial.set({ kind }, numberOf(store.values(), isPartial))
    }
  }
}

function numberOf<T>(items: Iterable<T>, is: (item: T) => boolean): number {
  let count = 0
  for (const item of items) if (is(item)) count += 1
  return count
}

function isPartial(object: object): boolean {
  const { isCut, isAside } = object as { readonly isCut?: true; readonly isAside?: true }
  return isCut === true || isAside === true
}
