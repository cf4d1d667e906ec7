import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePorts } from '../../sandbox/control-plane/free-ports.ts'
import { Watchdog } from '../../sandbox/control-plane/watchdog.ts'
import type { Prometheus } from './prometheus.ts'
import type { RuleGroups } from './rendered.ts'

/** A pending or firing alert. */
export interface ActiveAlert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly state: 'pending' | 'firing'
}

export interface PrometheusServerOptions {
  readonly rules: RuleGroups
  /** `host:port` of each pod that is scraped, by its name. */
  readonly targets: Readonly<Record<string, string>>
  /** The same label for all of them. */
  readonly namespace: string
  /** Folder of blocks that it serves beside what it scrapes. Default: one of its own, which is empty. */
  readonly data?: string
}

/** One series that a query returns. */
export interface QueriedSeries {
  readonly labels: Readonly<Record<string, string>>
  /** Seconds since the epoch, and the value at that time. */
  readonly points: readonly (readonly [number, number])[]
}

/** Times that a query is evaluated at, in milliseconds. */
export interface QueryRange {
  readonly fromMs: number
  readonly toMs: number
  readonly stepMs: number
}

/** A Prometheus server on loopback, which scrapes and evaluates once a second. */
export class PrometheusServer implements AsyncDisposable {
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #watchdog: Watchdog
  readonly #url: string

  private constructor(path: string, folder: string, port: number, data = `${folder}/data`) {
    this.#watchdog = new Watchdog(folder)
    this.#url = `http://127.0.0.1:${port}`
    // Blocks of a simulated past are as old as its calendar.
    const kept = '--storage.tsdb.retention.time=100y'
    const args = [`--config.file=${folder}/prometheus.yaml`, `--storage.tsdb.path=${data}`, kept]
    this.#child = spawn(path, [...args, `--web.listen-address=127.0.0.1:${port}`], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    if (this.#child.pid !== undefined) this.#watchdog.watch(this.#child.pid)
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => this.lines.push(...text.split('\n')))
  }

  /** Returns before the server responds to requests. */
  static async start({ prometheus }: Prometheus, options: PrometheusServerOptions): Promise<PrometheusServer> {
    const { rules, targets, namespace, data } = options
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-prometheus-'))
    const static_configs = Object.entries(targets).map(([pod, target]) => ({
      targets: [target],
      labels: { namespace, pod },
    }))
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'open-terrain-operator', static_configs }],
    }
    await writeFile(join(folder, 'rules.yaml'), stringify(rules))
    await writeFile(join(folder, 'prometheus.yaml'), stringify(config))
    const [port = 0] = await freePorts(1)
    return new PrometheusServer(prometheus, folder, port, data)
  }

  /** Where it answers queries. */
  get url(): string {
    return this.#url
  }

  /** Resolves when it responds to queries. Throws, with its last output, if it ends before. */
  async untilReady(): Promise<void> {
    for (;;) {
      try {
        await this.#get('/api/v1/status/buildinfo')
        return
      } catch (error) {
        if (this.#child.exitCode !== null) throw error
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }

  /** The values of a PromQL query at each of these times, without those that are no number. */
  async range(query: string, { fromMs, toMs, stepMs }: QueryRange): Promise<readonly QueriedSeries[]> {
    const times = { start: `${fromMs / 1_000}`, end: `${toMs / 1_000}`, step: `${stepMs / 1_000}` }
    const parameters = new URLSearchParams({ query, ...times })
    const { result } = (await this.#get(`/api/v1/query_range?${parameters}`)) as {
      result: readonly { metric: Record<string, string>; values: readonly [number, string][] }[]
    }
    return result.map(({ metric, values }) => ({
      labels: metric,
      points: values.map(([at, value]) => [at, Number(value)] as const).filter(([, value]) => !Number.isNaN(value)),
    }))
  }

  /** Returns the firing alerts. Throws if the server does not respond (yet), with its last output if it has ended. */
  async firing(): Promise<ActiveAlert[]> {
    const { alerts } = (await this.#get('/api/v1/alerts')) as { alerts: readonly ActiveAlert[] }
    return alerts.filter(({ state }) => state === 'firing')
  }

  /** Number of series that a PromQL query returns. */
  async count(query: string): Promise<number> {
    const { result } = (await this.#get(`/api/v1/query?query=${encodeURIComponent(query)}`)) as { result: unknown[] }
    return result.length
  }

  async #get(path: string): Promise<unknown> {
    if (this.#child.exitCode !== null) throw new Error(`Prometheus has ended:\n${this.lines.slice(-20).join('\n')}`)
    const response = await fetch(`${this.#url}${path}`)
    const text = await response.text()
    if (!response.ok) throw new Error(`Prometheus answers ${response.status} to ${path}: ${text}`)
    return (JSON.parse(text) as { data: unknown }).data
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watchdog.close()
  }
}
