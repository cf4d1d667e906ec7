import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'
import type { History } from './history.ts'
import type { Prometheus } from './prometheus.ts'
import { PrometheusServer, type QueriedSeries } from './prometheus-server.ts'
import type { Rule, RuleGroups } from './rendered.ts'

const run = promisify(execFile)
const EVALUATION = '30s'
const MINUTE_SECONDS = 60
const NONE: RuleGroups = { groups: [] }

/** A Prometheus that has a history as if it had scraped it, with what our rules make of it. */
export class PastPrometheus implements AsyncDisposable {
  readonly history: History
  readonly #server: PrometheusServer
  readonly #folder: string

  private constructor(history: History, server: PrometheusServer, folder: string) {
    this.history = history
    this.#server = server
    this.#folder = folder
  }

  /** Resolves when it answers queries. */
  static async start(prometheus: Prometheus, history: History, rules: RuleGroups): Promise<PastPrometheus> {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-past-'))
    const data = join(folder, 'data')
    const promtool = async (...args: string[]) => {
      await run(prometheus.promtool, ['tsdb', 'create-blocks-from', ...args], { cwd: folder, maxBuffer: 2 ** 26 })
    }
    const serve = async () => {
      const server = await PrometheusServer.start(prometheus, { rules: NONE, targets: {}, namespace: '', data })
      await server.untilReady()
      return server
    }
    await writeFile(join(folder, 'history.om'), `${history.lines.join('\n')}\n# EOF\n`)
    await promtool('openmetrics', 'history.om', data)
    // The alerts read what is recorded.
    for (const [name, group] of Object.entries({ recordings: recordingsOf(rules), alerts: alertsOf(rules) })) {
      await using server = await serve()
      await writeFile(join(folder, `${name}.yaml`), stringify(group))
      const [start, end] = [history.begunMs, history.endedMs].map((ms) => new Date(ms).toISOString())
      const between = [`--start=${start}`, `--end=${end}`, `--eval-interval=${EVALUATION}`]
      await promtool('rules', ...between, `--url=${server.url}`, `--output-dir=${data}`, `${name}.yaml`)
    }
    return new PastPrometheus(history, await serve(), folder)
  }

  /** The values of a query over the whole history. */
  async range(query: string, stepMs: number): Promise<readonly QueriedSeries[]> {
    const { begunMs, endedMs } = this.history
    return await this.#server.range(query, { fromMs: begunMs, toMs: endedMs, stepMs })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function rulesIn({ groups }: RuleGroups): readonly Rule[] {
  return groups.flatMap(({ rules }) => rules)
}

function recordingsOf(rules: RuleGroups): object {
  return { groups: [{ name: 'recordings', rules: rulesIn(rules).filter(({ record }) => record !== undefined) }] }
}

/** The series that Prometheus itself makes of alerts: promtool makes none for a past. An alert fires when it has held for its time. */
function alertsOf(rules: RuleGroups): object {
  const alerts = rulesIn(rules).filter(({ alert }) => alert !== undefined)
  return {
    groups: [
      {
        name: 'alerts',
        rules: alerts.map(({ alert = '', expr, for: held = '0s', labels }) => ({
          record: 'ALERTS',
          expr: heldFor(expr, held),
          labels: { alertname: alert, alertstate: 'firing', ...labels },
        })),
      },
    ],
  }
}

function heldFor(expr: string, held: string): string {
  const minutes = secondsOf(held) / MINUTE_SECONDS
  const fires = minutes === 0 ? expr : `count_over_time((${expr})[${held}:1m]) >= ${minutes}`
  // Series of ALERTS have the value 1, and the namespace as their only label besides those of the alert.
  return `max by (namespace) (${fires}) * 0 + 1`
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE_SECONDS, h: 60 * MINUTE_SECONDS }

function secondsOf(duration: string): number {
  const [, count = '0', unit = 's'] = /^(\d+)([smh])$/.exec(duration) ?? []
  return Number(count) * (UNITS[unit] ?? 1)
}
