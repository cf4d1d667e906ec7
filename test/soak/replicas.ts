import { setTimeout as sleep } from 'node:timers/promises'
import type { BundledOperator } from '../bench/bundled-operator.ts'
import { sumOf } from '../bench/exposition.ts'
import { socketsOf } from '../bench/process-stats.ts'
import type { Stage } from '../bench/stage.ts'

/** Shorter than in production, so that an hour has many hand-overs. */
const LEASE = { LEASE_DURATION: '5s', LEASE_RENEW_DEADLINE: '3s', LEASE_RETRY_PERIOD: '1s' }
const FREEZE_MS = 8_000

/** One sample of a process. */
export interface Sample {
  /** Minutes since its start. */
  readonly minutes: number
  readonly residentMb: number
  readonly heapMb: number
  readonly sockets: number
  /** 99th percentile since its start, milliseconds. */
  readonly lagMs: number
  readonly leads: boolean
}

/** A process from its start to its end. */
export interface Lifetime {
  readonly name: string
  readonly samples: Sample[]
  /** What ended it. Undefined if it ran to the end. */
  end: string | undefined
}

interface Replica {
  operator: BundledOperator
  lifetime: Lifetime
}

/** Operator processes, one of which leads. A stopped one is replaced by a new process. */
export class Replicas {
  readonly lifetimes: Lifetime[] = []
  readonly #stage: Stage
  readonly #replicas: Replica[] = []
  #started = 0
  #frozen: BundledOperator | undefined

  private constructor(stage: Stage) {
    this.#stage = stage
  }

  static async start(stage: Stage, count = 2): Promise<Replicas> {
    const replicas = new Replicas(stage)
    for (let at = 0; at < count; at += 1) replicas.#replicas.push(await replicas.#startOne())
    await replicas.untilLed()
    return replicas
  }

  get operators(): BundledOperator[] {
    return this.#replicas.map(({ operator }) => operator)
  }

  /** Processes that ended by themselves. */
  get lost(): string[] {
    return this.#replicas.filter(({ operator }) => !operator.isRunning).map(({ operator }) => operator.name)
  }

  /** Throws if none of them leads within `timeoutMs`. */
  async untilLed(timeoutMs = 60_000): Promise<void> {
    const isLed = new AbortController()
    const waits = this.operators.map((operator) => operator.untilLeading(timeoutMs, isLed.signal))
    await Promise.any(waits).finally(() => isLed.abort())
  }

  /** Ends the leader, starts another process in its place, and waits for a leader. Returns false if there was no leader. */
  async endLeader(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    const leader = await this.#leader()
    if (leader === undefined) return false
    if (signal === 'SIGTERM') await leader.operator.terminate()
    else await leader.operator.kill()
    leader.lifetime.end = signal
    this.#replicas.splice(this.#replicas.indexOf(leader), 1, await this.#startOne())
    await this.untilLed()
    return true
  }

  /** Freezes the leader, by default until it has lost the Lease, and resumes it. Returns false if there was no leader. */
  async freezeLeader(forMs = FREEZE_MS): Promise<boolean> {
    const leader = await this.#leader()
    if (leader === undefined) return false
    this.#frozen = leader.operator
    leader.operator.signal('SIGSTOP')
    await sleep(forMs)
    leader.operator.signal('SIGCONT')
    this.#frozen = undefined
    await this.untilLed()
    return true
  }

  /** Samples all processes that are not frozen. */
  async sample(): Promise<void> {
    for (const { operator, lifetime } of this.#replicas) {
      if (operator === this.#frozen || !operator.isRunning) continue
      const sample = await look(operator).catch(() => undefined)
      if (sample !== undefined) lifetime.samples.push(sample)
    }
  }

  async #leader(): Promise<Replica | undefined> {
    for (const replica of this.#replicas) {
      if (await replica.operator.leads().catch(() => false)) return replica
    }
    return undefined
  }

  async #startOne(): Promise<Replica> {
    const operator = await this.#stage.startOperator(`replica-${this.#started++}`, LEASE)
    const lifetime: Lifetime = { name: operator.name, samples: [], end: undefined }
    this.lifetimes.push(lifetime)
    await operator.untilCampaigning()
    return { operator, lifetime }
  }
}

async function look(operator: BundledOperator): Promise<Sample> {
  const [memory, sockets, metrics] = await Promise.all([operator.memory(), socketsOf(operator.pid), operator.metrics()])
  return {
    minutes: (performance.now() - operator.startedAt) / 60_000,
    residentMb: memory.resident / 1e6,
    heapMb: sumOf(metrics, 'nodejs_heap_size_used_bytes') / 1e6,
    sockets,
    lagMs: sumOf(metrics, 'nodejs_eventloop_lag_p99_seconds') * 1_000,
    leads: sumOf(metrics, 'leader_election_master_status') === 1,
  }
}
