import { ALERTS, type AlertName, type AlertOverride } from '@open-terrain/constructs/platform'
import { expect, inject } from 'vitest'
import { freePorts } from '../../sandbox/control-plane/free-ports.ts'
import type { Prometheus } from '../monitoring/prometheus.ts'
import { type ActiveAlert, PrometheusServer } from '../monitoring/prometheus-server.ts'
import { renderedRules } from '../monitoring/rendered.ts'
import { OperatorProcess } from './operator-process.ts'
import type { World } from './world.ts'

/** For what takes a few scrapes. */
export const SCRAPED_POLL = { timeout: 120_000, interval: 200 }
export const ALERT_NAMES = Object.keys(ALERTS) as AlertName[]

const LONG = [
  ...(['ObjectFailed', 'ObjectBlocked', 'DeletionStuck', 'ObjectWarned', 'OnHold'] as const),
  ...(['MachineWaiting', 'WorkspaceWaiting', 'UnusedImageBytes'] as const),
]
/** How long each has to hold is what promtool's tests are about. */
const AT_ONCE = {
  ...Object.fromEntries(ALERT_NAMES.map((name): [AlertName, AlertOverride] => [name, { for: '0s' }])),
  // Alerts that need minutes, hours, or a TiB, by default.
  ...Object.fromEntries(LONG.map((name) => [name, { for: '0s', above: 0 }])),
  // A step of an image takes a moment.
  ImageWaiting: { for: '0s', above: 60 },
}

/** An operator in a process of its own, and a Prometheus that scrapes it and has our alerts, which fire at once. */
export class ScrapedOperator implements AsyncDisposable {
  readonly operator: OperatorProcess
  readonly server: PrometheusServer

  private constructor(operator: OperatorProcess, server: PrometheusServer) {
    this.operator = operator
    this.server = server
  }

  /** Resolves when Prometheus has scraped a leader twice: from then on it sees an increase. */
  static async start(prometheus: Prometheus, world: World): Promise<ScrapedOperator> {
    const [port = 0] = await freePorts(1)
    const address = `127.0.0.1:${port}`
    const operator = new OperatorProcess(world, 'scraped', {
      entry: inject('operatorBundle'),
      env: { METRICS_ADDRESS: address },
    })
    const server = await PrometheusServer.start(prometheus, {
      rules: renderedRules({ alerts: AT_ONCE }),
      targets: { scraped: address },
      namespace: world.operatorNamespace,
    })
    const scraped = new ScrapedOperator(operator, server)
    const leaders = 'count_over_time(leader_election_master_status[1m]) > 1 and leader_election_master_status == 1'
    await expect.poll(() => server.count(leaders), SCRAPED_POLL).toBe(1)
    return scraped
  }

  async firing(): Promise<ActiveAlert[]> {
    return await this.server.firing()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
    await this.operator[Symbol.asyncDispose]()
  }
}
