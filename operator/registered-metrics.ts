import { systemClock } from './base/clock.ts'
import type { KubeClient } from './kube/kube-client.ts'
import { OperatorReplica } from './operator.ts'
import type { Logger } from './runtime/log.ts'
import { METRIC_LABELS, type MetricLabel } from './runtime/metric-labels.ts'

export { METRIC_LABELS } from './runtime/metric-labels.ts'

/** A metric, as the operator registers it. */
export interface RegisteredMetric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly MetricLabel[]
}

/** What is never called: an operator does nothing before it runs. */
const IDLE: Pick<KubeClient & Logger, never> = {}
const LEASE = { durationMs: 1, renewDeadlineMs: 1, retryPeriodMs: 1 }

/** Returns all metrics of the operator by name, without those of the process. */
export function registeredMetrics(): readonly RegisteredMetric[] {
  const { metrics } = new OperatorReplica({
    client: IDLE as KubeClient,
    leaseClient: IDLE as KubeClient,
    log: IDLE as Logger,
    clock: systemClock,
    serverNow: () => undefined,
    random: () => 0,
    namespace: '',
    identity: '',
    lease: LEASE,
  })
  // prom-client has no type for what its metrics know of themselves.
  const registered = metrics.registry.getMetricsAsArray() as unknown as readonly {
    readonly name: string
    readonly help: string
    readonly labelNames: readonly string[]
    readonly constructor: { readonly name: string }
  }[]
  return registered
    .map(({ name, help, labelNames, constructor: { name: made } }) => ({
      name,
      help,
      type: made.toLowerCase() as RegisteredMetric['type'],
      labels: labelNames.filter((label): label is MetricLabel => Object.hasOwn(METRIC_LABELS, label)),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
