import { randomUUID } from 'node:crypto'
import { systemClock } from '../../operator/base/clock.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { RequestReport } from '../../operator/kube/kube-client.ts'
import { ServerClock } from '../../operator/kube/server-clock.ts'
import { OperatorReplica } from '../../operator/operator.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import { withLateWatches } from './late-watches.ts'

/**
 * Nobody waits for its end, as each operator releases it. A process that has much to do beside the operator must not lose it. Each renewal costs
 * 6 ms of processor time, and tests of two cores run in five worlds at a time.
 */
const LEASE = { durationMs: 20_000, renewDeadlineMs: 15_000, retryPeriodMs: 1_000 }

/** The whole operator in this process, as `main.ts` assembles it. */
export class OperatorInProcess {
  /** Every request but those for the Lease. */
  readonly requests: RequestReport[] = []
  readonly operator: OperatorReplica
  readonly #stopping = new AbortController()
  readonly #connections: readonly Connection[]
  readonly #running: Promise<void>

  constructor(options: { readonly kubeconfig: string; readonly namespace: string; readonly log: Logger }) {
    const { kubeconfig, namespace, log } = options
    const connect = (connections: number | null) => Connection.fromEnvironment(connections, kubeconfig)
    const [connection, watchConnection, leaseConnection] = [connect(24), connect(null), connect(2)] as const
    this.#connections = [connection, watchConnection, leaseConnection]
    const onRequest = (report: RequestReport) => {
      this.requests.push(report)
    }
    const { now: serverNow, note: onDate } = new ServerClock(systemClock)
    this.operator = new OperatorReplica({
      client: withLateWatches(
        new HttpKubeClient({ connection, watchConnection, userAgent: 'operator', onRequest, onDate }),
        'operator',
      ),
      leaseClient: new HttpKubeClient({ connection: leaseConnection, userAgent: 'operator/lease' }),
      serverNow,
      clock: systemClock,
      random: Math.random,
      log,
      namespace,
      identity: `scenario_${randomUUID().slice(0, 8)}`,
      lease: LEASE,
    })
    this.#running = this.operator.run(this.#stopping.signal)
    // An unhandled rejection would hide the failure of a test. stop() throws the error.
    this.#running.catch(() => undefined)
  }

  get writes(): RequestReport[] {
    return this.requests.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb))
  }

  /** Resolves when it has released the Lease and all its work has ended. Can be called again. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }
}
