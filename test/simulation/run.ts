import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import type { KubeEvent } from '../harness/kinds.ts'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
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

/** How often people remove what is in the way. */
const LOOK_MS = 20 * SECOND
/** A little longer than an earlier artifact is kept. */
const RETIRED_AFTER_MS = 13 * MINUTE
const IDLE_MS = 3 * MINUTE
const GONE_WITHIN_MS = 20 * MINUTE
/** A value of `concurrency` that is not valid, and that no schedule sets. */
const BAD_LIMIT = '4.50'

export interface RunResult {
  readonly violations: readonly Violation[]
  readonly ends: Ends
  /** What the operator wrote for each image, by `namespace/name`. */
  readonly writes: ReadonlyMap<string, Writes>
  /** How often faults of the network hit an image or its children, by `namespace/name`. */
  readonly struck: ReadonlyMap<string, Strikes>
  readonly counts: World['counts']
  /** How often each action was carried out, and each fault of the network struck. */
  readonly events: ReadonlyMap<string, number>
  /** Virtual. */
  readonly elapsedMs: number
}

export interface RunOptions {
  /** Whether to continue until old artifacts are gone and nothing is written any more. */
  readonly isIdleChecked?: boolean
  /** Whether everybody asks for a retry once all trouble is over, so that specs alone decide how images end. */
  readonly isRetried?: boolean
  readonly onCommit?: (commit: Commit) => void
}

/** Runs one schedule, checked by all oracles, until everything is in its end state, and then until people have deleted what they delete. */
export async function runSchedule(schedule: Schedule, options: RunOptions = {}): Promise<RunResult> {
  return await new Run(schedule, options).tell()
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
    // What belongs to earlier artifacts is gone by now, if the run waited for that.
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

  /** Invariant 7: once nothing is left to do, nothing is written, even when objects are reconciled again. */
  async #checkIdle(): Promise<void> {
    const { time, kinds } = this.#world
    const busyUntilMs = Math.max(time.elapsedMs, ...kinds.map((kind) => kind.busyUntilMs ?? 0))
    await this.#until(busyUntilMs + RETIRED_AFTER_MS)
    // A reconcile now observes that what was cloned from earlier artifacts has lost its source.
    this.#touchAll('retired')
    await this.#pass(LOOK_MS)
    this.#checkSettled('it did not last')
    this.#idleSinceMs = time.elapsedMs
    this.#touchAll('idle')
    await this.#pass(IDLE_MS)
    this.#idleSinceMs = Number.POSITIVE_INFINITY
    this.#checkSettled('it did not last when people wrote labels')
  }

  /** Makes the operator reconcile everything once more. */
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

  /** Invariant 8: a bad value changes nothing, it is only reported, until it is corrected. */
  async #checkBadPolicy(): Promise<void> {
    if (this.#isBroken) return
    const world = this.#world
    const { chronicle, policy, schedule } = world
    const good = policy.data
    const limit = Number(good['concurrency'])
    if (chronicle.ledger?.limit !== limit)
      return world.report(8, `the policy says ${limit}, the ledger ${JSON.stringify(chronicle.ledger)}`)
    let isReported = false
    world.onCommit(({ resource, object }) => {
      const { reason, message = '', note = message } = object as KubeEvent
      isReported ||=
        resource.kind === 'Event' && reason === 'InvalidPolicy' && note.startsWith(`concurrency: "${BAD_LIMIT}"`)
    })
    // Among the values that schedules set are bad ones, which stay.
    const isAllGood = schedule.steps.every(({ action }) => action.do !== 'setPolicy')
    if (isAllGood) await this.#checkConfigValid(1)
    policy.set({ ...good, concurrency: BAD_LIMIT })
    await this.#pass(10 * SECOND)
    if (chronicle.ledger?.limit !== limit) world.report(8, `a bad value made the limit ${chronicle.ledger?.limit}`)
    if (!isReported) world.report(8, 'no Event tells of the bad value')
    await this.#checkConfigValid(0)
    policy.set(good)
    await this.#pass(10 * SECOND)
    if (isAllGood) await this.#checkConfigValid(1)
  }

  async #checkConfigValid(expected: 0 | 1): Promise<void> {
    for (const { operator } of this.#world.replicas) {
      const text = (await operator?.metrics.render()) ?? ''
      if (!text.split('\n').includes(`ot_config_valid ${expected}`))
        this.#world.report(8, `ot_config_valid is not ${expected}`)
    }
  }

  /** Nothing leaks. Not checked for schedules of images alone: there, people have clones, which stay. */
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

  /** Invariant 9, for what is visible only on request: metrics. Also reports a run of the operator that failed. */
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
