import { OperatorReplica } from '../../operator/operator.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import { type MemoryCluster, SimulatedProcess, type VirtualTime } from '../../sandbox/memory-cluster/index.ts'
import { OPERATOR_NAMESPACE } from './chronicle.ts'
import type { Network } from './network.ts'
import { randomFrom, seedFor } from './random.ts'

/** As in production. */
const LEASE = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }

/** A replica's wall clock is at most this far ahead or behind. */
export const CLOCK_OFFSET_MS = 5_000

export interface ReplicaOptions {
  readonly time: VirtualTime
  readonly cluster: MemoryCluster
  readonly network: Pick<Network, 'fateOf' | 'passageOf' | 'viewOf'>
  readonly seed: number
  readonly number: number
  readonly log: Logger
}

/** One replica of the operator: a process that can be killed, frozen, stopped and started again, under a new name each time. */
export class Replica {
  readonly #options: ReplicaOptions
  #starts = 0
  #isWanted = false
  #running:
    | { process: SimulatedProcess; operator: OperatorReplica; stopping: AbortController; isOver: boolean }
    | undefined
  /** The error that ended a run unexpectedly. */
  failure: unknown

  constructor(options: ReplicaOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#running !== undefined && !this.#running.isOver
  }

  get operator(): OperatorReplica | undefined {
    return this.#running?.operator
  }

  describe(): string {
    const { process, stopping, isOver } = this.#running ?? {}
    return `${process?.name} ${process?.state}${stopping?.signal.aborted ? ', stopping' : ''}${isOver ? ', over' : ''}`
  }

  /** A replica that is still stopping starts when it has stopped. */
  start(): void {
    this.#isWanted = true
    if (this.isRunning) return
    const { time, cluster, network, seed, number, log } = this.#options
    this.#starts += 1
    const name = `operator-${number}.${this.#starts}`
    // It runs on another node each time.
    const clockOffsetMs = Math.round((2 * randomFrom(seedFor(seed, `clock of ${name}`))() - 1) * CLOCK_OFFSET_MS)
    const process = new SimulatedProcess(time, name, clockOffsetMs)
    const random = randomFrom(seedFor(seed, name))
    const connection = {
      process,
      fateOf: network.fateOf.bind(network),
      passageOf: network.passageOf.bind(network),
      viewOf: network.viewOf.bind(network),
    }
    const operator = new OperatorReplica({
      client: cluster.connect(connection),
      leaseClient: cluster.connect(connection),
      clock: process.clock,
      serverNow: () => time.epochMs + time.elapsedMs,
      random,
      log,
      namespace: OPERATOR_NAMESPACE,
      identity: name,
      lease: LEASE,
    })
    const running = { process, operator, stopping: new AbortController(), isOver: false }
    this.#running = running
    operator.run(running.stopping.signal).then(
      () => {
        running.isOver = true
        process.kill()
        if (!running.stopping.signal.aborted) this.failure ??= new Error(`${name} ended, and nobody had stopped it`)
        if (this.#isWanted) this.start()
      },
      (error: unknown) => {
        running.isOver = true
        this.failure ??= error
      },
    )
  }

  /** SIGKILL: nothing that it waits for ever arrives. What it has sent is still carried out. */
  crash(): void {
    if (this.#running === undefined || this.#running.isOver) return
    this.#running.isOver = true
    this.#running.process.kill()
  }

  /** SIGTERM. */
  stop(): void {
    this.#isWanted = false
    this.#running?.stopping.abort()
  }

  freeze(): void {
    this.#running?.process.freeze()
  }

  thaw(): void {
    this.#running?.process.thaw()
  }
}
