import { MINUTE, SECOND } from '../../operator/runtime/times.fixtures.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { isOperator } from './chronicle.ts'
import { Driver } from './driver.ts'
import type { Ends } from './kind.ts'
import { kindsOf } from './kinds.ts'
import type { Strikes } from './network.ts'
import type { Violation } from './oracle/oracle.ts'
import { leaveRefused } from './people.ts'
import type { Schedule } from './schedule.ts'
import { Settlement } from './settlement.ts'
import { World } from './world.ts'
import type { Writes } from './writes.ts'

/** People look again, and clear away what is in the way. */
const LOOK_MS = 20 * SECOND
/** What an earlier artifact needs to go, and a bit more. */
const RETIRED_AFTER_MS = 13 * MINUTE
const IDLE_MS = 3 * MINUTE
const GONE_WITHIN_MS = 20 * MINUTE

export interface RunResult {
  readonly violations: readonly Violation[]
  readonly ends: Ends
  /** What the operator wrote for each image, by `namespace/name`. */
  readonly writes: ReadonlyMap<string, Writes>
  /** How often faults of the network struck what concerns an image, by `namespace/name`. */
  readonly struck: ReadonlyMap<string, Strikes>
  readonly counts: World['counts']
  /** How often each action was carried out, and each fault of the network struck. */
  readonly events: ReadonlyMap<string, number>
  /** Virtual. */
  readonly elapsedMs: number
}

export interface RunOptions {
  /** Whether to go on until old artifacts are gone and everything is silent. */
  readonly isIdleChecked?: boolean
  /** Whether everybody asks for a retry once all trouble is over, so that specs alone decide what images come to. */
  readonly isRetried?: boolean
  readonly onCommit?: (commit: Commit) => void
}

/** Runs one schedule, under the eyes of all oracles, until everything has come to rest, and then until people have deleted what they delete. */
export async function runSchedule(schedule: Schedule, options: RunOptions = {}): Promise<RunResult> {
  return await new Run(schedule, options).tell()
}

/** For people: each broken promise by its number in the design. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations
    .map(({ invariant, message, atMs }) => `[${invariant}] at ${Math.round(atMs)} ms: ${message}`)
    .join('\n')
}

class Run {
  readonly #world: World
  readonly #driver: Driver
  readonly #settlement: Settlement
  readonly #options: RunOptions
  #idleSinceMs = Number.POSITIVE_INFINITY

  constructor(schedule: Schedule, options: RunOptions) {
    this.#options = options
    this.#world = new World(schedule, kindsOf)
    this.#driver = new Driver(this.#world)
    this.#settlement = new Settlement(this.#world)
    this.#world.onCommit((commit) => this.#checkIdleness(commit))
    if (options.onCommit !== undefined) this.#world.onCommit(options.onCommit)
  }

  async tell(): Promise<RunResult> {
    const { isIdleChecked = true } = this.#options
    await this.#act()
    await this.#settle()
    if (isIdleChecked) await this.#checkIdle()
    await this.#checkBadPolicy()
    this.#checkSettled('it did not last')
    // What earlier artifacts needed is gone by now, if that was waited for.
    const ends = this.#settlement.ends()
    await this.#checkEnd()
    await this.#checkTelling()
    return this.#result(ends)
  }

  get #isBroken(): boolean {
    return this.#world.violations.length > 0
  }

  async #until(deadlineMs: number, isDone: () => boolean = () => false): Promise<void> {
    if (!this.#isBroken) await this.#world.time.run({ untilMs: deadlineMs, isDone: () => this.#isBroken || isDone() })
  }

  async #pass(ms: number): Promise<void> {
    await this.#until(this.#world.time.elapsedMs + ms)
  }

  async #act(): Promise<void> {
    const world = this.#world
    world.furnish()
    world.startSimulators()
    for (const replica of world.replicas) replica.start()
    await this.#until(5 * SECOND, () => world.simulators !== undefined)
    await this.#until(this.#driver.plan() + SECOND)
    this.#driver.calm()
    world.policy.makeSound()
    await this.#pass(MINUTE)
    if (this.#options.isRetried !== false) for (const kind of world.kinds) kind.people.retryAll?.()
  }

  async #settle(): Promise<void> {
    const { time, kinds } = this.#world
    const deadlineMs = time.elapsedMs + Math.max(...kinds.map(({ restsWithinMs }) => restsWithinMs))
    do {
      for (const kind of kinds) kind.people.clearAway?.()
      await this.#pass(LOOK_MS)
    } while (!this.#settlement.isReached && time.elapsedMs < deadlineMs && !this.#isBroken)
    this.#checkSettled('not everything came to rest')
  }

  #checkSettled(what: string): void {
    if (!this.#isBroken && !this.#settlement.isReached)
      this.#world.report(7, `${what}:\n${this.#settlement.describe()}`)
  }

  /** Invariant 7: once nothing is left to do, nothing is written, whoever looks again. */
  async #checkIdle(): Promise<void> {
    const { time, kinds } = this.#world
    const busyUntilMs = Math.max(time.elapsedMs, ...kinds.map((kind) => kind.busyUntilMs ?? 0))
    await this.#until(busyUntilMs + RETIRED_AFTER_MS)
    // Whoever looks now finds that what was cloned from earlier artifacts has lost its source.
    this.#touchAll('retired')
    await this.#pass(LOOK_MS)
    this.#checkSettled('it did not last')
    this.#idleSinceMs = time.elapsedMs
    this.#touchAll('idle')
    await this.#pass(IDLE_MS)
    this.#idleSinceMs = Number.POSITIVE_INFINITY
    this.#checkSettled('it did not last when people wrote labels')
  }

  /** So that everything is looked at once more. */
  #touchAll(value: string): void {
    for (const kind of this.#world.kinds)
      for (const [type, { metadata }] of kind.objects())
        leaveRefused(() => {
          this.#world.cluster.admin.mergePatch(type, metadata, { metadata: { labels: { touched: value } } })
        })
  }

  #checkIdleness({ actor, type, resource, object }: Commit): void {
    const isIdle = this.#world.time.elapsedMs >= this.#idleSinceMs
    if (!isIdle || !isOperator(actor) || resource.kind === 'Lease') return
    this.#world.report(7, `idle, but ${type} of ${resource.kind} ${object.metadata.namespace}/${object.metadata.name}`)
  }

  /** Invariant 8: a bad value changes nothing but what is said about it. */
  async #checkBadPolicy(): Promise<void> {
    if (this.#isBroken) return
    const world = this.#world
    const { chronicle, policy, replicas } = world
    const good = policy.data
    const limit = Number(good['concurrency'])
    if (chronicle.ledger?.limit !== limit)
      return world.report(8, `the policy says ${limit}, the ledger ${JSON.stringify(chronicle.ledger)}`)
    let isTold = false
    world.onCommit(({ resource, object }) => {
      isTold ||= resource.kind === 'Event' && (object as { reason?: string }).reason === 'InvalidPolicy'
    })
    policy.set({ ...good, concurrency: '4.0' })
    await this.#pass(10 * SECOND)
    if (chronicle.ledger?.limit !== limit) world.report(8, `a bad value made the limit ${chronicle.ledger?.limit}`)
    if (!isTold) world.report(8, 'no Event tells of the bad value')
    for (const replica of replicas) {
      const text = (await replica.operator?.metrics.render()) ?? ''
      if (!/^ot_config_valid 0$/m.test(text)) world.report(8, 'ot_config_valid is not 0')
    }
  }

  /** Nothing leaks. Of images alone people have clones, which stay. */
  async #checkEnd(): Promise<void> {
    const { time, kinds } = this.#world
    const isLeft = () => !this.#isBroken && this.#world.leftovers().length > 0
    if (kinds.length === 1 || this.#isBroken) return
    for (const kind of kinds) {
      kind.people.deleteAll()
      await this.#pass(MINUTE)
    }
    for (const deadlineMs = time.elapsedMs + GONE_WITHIN_MS; isLeft() && time.elapsedMs < deadlineMs; )
      await this.#pass(LOOK_MS)
    if (isLeft()) this.#world.report(7, `left behind: ${this.#world.leftovers().join(', ')}`)
  }

  /** Invariant 9, for what only people who look will see. */
  async #checkTelling(): Promise<void> {
    const world = this.#world
    for (const { operator, failure } of world.replicas) {
      world.secrets.checkText('the metrics', (await operator?.metrics.render()) ?? '')
      if (failure !== undefined) world.report(0, `the operator ended: ${String(failure)}`)
    }
  }

  #result(ends: Ends): RunResult {
    const { violations, counts, network, writes, replicas, time } = this.#world
    const events = new Map([...this.#driver.done, ...network.struck])
    for (const replica of replicas) replica.crash()
    this.#world.killSimulators()
    const struck = network.struckImages
    return { violations, ends, writes: writes.counts(), struck, counts, events, elapsedMs: time.elapsedMs }
  }
}
