import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { heapFlag } from '@open-terrain/constructs/infra'
import { MEMORY_LIMIT } from '@open-terrain/constructs/platform'
import { systemClock } from '../../operator/base/clock.ts'
import { ALLOCATOR, NODE_FLAGS } from '../../operator/node-flags.ts'
import type { CacheDigest } from '../../operator/runtime/cache-digest.ts'
import { Watchdog } from '../../sandbox/control-plane/watchdog.ts'
import { parseExposition, type Sample, sumOf } from './exposition.ts'
import { cpuSecondsOf, type Memory, memoryOf } from './process-stats.ts'

const ROOT = join(import.meta.dirname, '../..')
const POLL_MS = 50
const KEPT_LINES = 200
const MESSAGE = /"msg":"([^"]*)"/

let bundle = join(ROOT, 'dist/operator.mjs')

/** Builds `dist/operator.mjs` from the current sources. */
export function buildBundle(): void {
  execFileSync(process.execPath, ['operator/build.ts'], { cwd: ROOT, stdio: 'pipe' })
}

/** From here on, operators run this one: that of an earlier version, for example. */
export function useBundle(file: string): void {
  bundle = resolve(file)
}

export interface BundledOperatorOptions {
  readonly kubeconfig: string
  readonly namespace: string
  /** What to run. Default: `dist/operator.mjs`, or what {@link useBundle} has set. */
  readonly entry?: string
  /** Name of its pod: the first part of its identity. */
  readonly name?: string
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>
}

/** Requests to the API server by `<verb> <resource>`. */
export type Requests = ReadonlyMap<string, number>

/** The operator as installed by default: the bundle in its own process, which ends with this one, with the heap that its memory limit gives it. */
export class BundledOperator implements AsyncDisposable {
  readonly name: string
  readonly startedAt = performance.now()
  /** The last lines of its log. */
  readonly lines: string[] = []
  readonly #loggedAt = new Map<string, number>()
  readonly #child: ChildProcess
  readonly #port: number
  readonly #exited: Promise<unknown>
  readonly #watchdog = new Watchdog()

  private constructor(options: BundledOperatorOptions, port: number) {
    this.name = options.name ?? 'operator'
    this.#port = port
    this.#child = spawn(process.execPath, [...NODE_FLAGS, options.entry ?? bundle], {
      env: {
        ...ALLOCATOR,
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        NODE_ENV: 'production',
        NODE_OPTIONS: heapFlag(MEMORY_LIMIT),
        KUBECONFIG: options.kubeconfig,
        OPERATOR_NAMESPACE: options.namespace,
        POD_NAME: this.name,
        METRICS_ADDRESS: `127.0.0.1:${port}`,
        SERVE_CACHES: 'true',
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    if (this.#child.pid !== undefined) this.#watchdog.watch(this.#child.pid)
    for (const input of [this.#child.stdout, this.#child.stderr]) {
      if (input !== null) createInterface({ input }).on('line', (line) => this.#take(line))
    }
    this.#exited = once(this.#child, 'close')
  }

  static async start(options: BundledOperatorOptions): Promise<BundledOperator> {
    return new BundledOperator(options, await freePort())
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the operator did not start')
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Time of the first log line with this message, on the monotonic clock. Throws if there is none. */
  loggedAt(message: string): number {
    const at = this.#loggedAt.get(message)
    if (at === undefined) throw new Error(`the operator has not logged "${message}"`)
    return at
  }

  /** Throws if the operator does not respond. */
  async metrics(): Promise<Sample[]> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/metrics`, { signal: AbortSignal.timeout(10_000) })
    return parseExposition(await answer.text())
  }

  /** Digests of its caches, by `<apiVersion>/<plural>`. Throws if the operator does not respond. */
  async caches(): Promise<Readonly<Record<string, CacheDigest>>> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/caches`, { signal: AbortSignal.timeout(10_000) })
    return (await answer.json()) as Record<string, CacheDigest>
  }

  /** Completed and abandoned requests since its start. A watch that begins with what exists counts as `list`. */
  async requests(): Promise<Requests> {
    const requests = new Map<string, number>()
    for (const { name, labels, value } of await this.metrics()) {
      if (name !== 'rest_client_requests_total') continue
      const key = `${labels['method']} ${labels['resource']}`
      requests.set(key, (requests.get(key) ?? 0) + value)
    }
    return requests
  }

  async leads(): Promise<boolean> {
    return sumOf(await this.metrics(), 'leader_election_master_status') === 1
  }

  /** Throws if it ends first, takes longer than `timeoutMs`, or `signal` aborts. */
  async untilLeading(timeoutMs = 60_000, signal?: AbortSignal): Promise<void> {
    await this.#until('leads', () => this.leads(), timeoutMs, signal)
  }

  /** Resolves when its caches have synced: it reads the Lease once before that, and again after it. */
  async untilCampaigning(timeoutMs = 60_000): Promise<void> {
    const hasAskedForLease = async () => ((await this.requests()).get('get leases') ?? 0) > 1
    await this.#until('asks for the lead', hasAskedForLease, timeoutMs)
  }

  memory(): Promise<Memory> {
    return memoryOf(this.pid)
  }

  cpuSeconds(): Promise<number> {
    return cpuSecondsOf(this.pid)
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
    await this.#watchdog.close()
  }

  /** SIGTERM; resolves with the exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    await this.#exited
    await this.#watchdog.close()
    return this.#child.exitCode
  }

  /** Does not wait for the exit, so that the caller can measure from the moment when the signal is sent. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isRunning) await this.terminate()
    else await this.#watchdog.close()
  }

  #take(line: string): void {
    this.lines.push(line)
    this.lines.splice(0, this.lines.length - KEPT_LINES)
    const message = MESSAGE.exec(line)?.[1]
    if (message !== undefined && !this.#loggedAt.has(message)) this.#loggedAt.set(message, systemClock.monotonic())
  }

  async #until(what: string, holds: () => Promise<boolean>, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + timeoutMs
    while (!(await holds().catch(() => false))) {
      const isLate = performance.now() > deadline
      if (!this.isRunning || isLate) {
        const why = isLate ? `did not do so in ${timeoutMs / 1_000} s` : 'ended'
        throw new Error(`waited until the operator ${what}, but it ${why}:\n${this.lines.slice(-20).join('\n')}`)
      }
      await sleep(POLL_MS, undefined, { signal })
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (typeof address === 'object' && address !== null ? resolve(address.port) : reject()))
    })
  })
}
