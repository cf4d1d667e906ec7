import { DATA_VOLUME } from '../../../operator/kube/resource-types.ts'
import { imageOwner, isOperator } from '../chronicle.ts'
import type { Invariant, Violation } from '../oracle/oracle.ts'
import { RequestOracle } from '../oracle/requests.ts'
import type { RunOptions, RunResult } from '../run.ts'
import { ChildrenOracle } from './children-oracle.ts'
import { MachineForeignOracle } from './foreign-oracle.ts'
import { KickOracle } from './kick-oracle.ts'
import { MachineChronicle } from './machine-chronicle.ts'
import { MachineDriver } from './machine-driver.ts'
import type { MachineOracle } from './machine-oracle.ts'
import { MachinePolicy } from './machine-policy.ts'
import type { MachinePolicyPlan, MachineSchedule } from './machine-schedule.ts'
import { MachineSettlement } from './machine-settlement.ts'
import { MachineWorld, PASSWORD } from './machine-world.ts'
import { UseOracle } from './use-oracle.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** Guests that have failed often are started anew after minutes. */
const SETTLED_WITHIN_MS = 60 * MINUTE
/** People look again, and clear away what is in the way. */
const LOOK_MS = 20 * SECOND
/** What an earlier artifact needs to go, and a bit more. */
const RETIRED_AFTER_MS = 13 * MINUTE
const IDLE_MS = 2 * MINUTE
const GONE_WITHIN_MS = 20 * MINUTE

export interface MachineRunResult extends Pick<RunResult, 'violations' | 'counts' | 'events' | 'elapsedMs'> {
  /** In the end, what people see of each object. */
  readonly outcome: ReadonlyMap<string, string>
}

/** Runs one schedule, under the eyes of all oracles, until everything has come to rest, and then until everything is deleted. */
export async function runMachines(schedule: MachineSchedule, options: RunOptions = {}): Promise<MachineRunResult> {
  const { seed, replicas, policy, cloneMs } = schedule
  const world = await MachineWorld.start(policyData(policy), { cloneMs }, { seed, replicas })
  return await new MachineRun(world, schedule).run(options)
}

class MachineRun {
  readonly #world: MachineWorld
  readonly #driver: MachineDriver
  readonly #settlement: MachineSettlement
  readonly #violations: Violation[] = []
  readonly #counts = { admissions: 0, commits: 0, operatorCommits: 0, transfers: 0 }
  #idleSinceMs: number | undefined

  constructor(world: MachineWorld, schedule: MachineSchedule) {
    this.#world = world
    const policy = new MachinePolicy(world, policyData(schedule.policy))
    this.#driver = new MachineDriver(world, schedule, policy)
    this.#settlement = new MachineSettlement(world, this.#driver.subjects)
    this.#watch(policy)
  }

  async run({ isIdleChecked = true }: RunOptions): Promise<MachineRunResult> {
    const driver = this.#driver
    driver.furnish()
    await this.#until(driver.plan() + SECOND)
    driver.calm()
    await this.#settle()
    const outcome = this.#settlement.outcome()
    if (isIdleChecked) await this.#checkIdle()
    await this.#checkEnd()
    this.#checkLog()
    this.#world.stop()
    const { time } = this.#world.simulated
    const events = new Map([...driver.done, ...this.#world.network.struck])
    return { violations: this.#violations, outcome, counts: this.#counts, events, elapsedMs: time.elapsedMs }
  }

  #watch(policy: MachinePolicy): void {
    const { simulated, disturbances } = this.#world
    const { time, cluster } = simulated
    const chronicle = new MachineChronicle(() => time.elapsedMs)
    const witness = { chronicle, disturbances, report: this.#report }
    const requests = new RequestOracle(this.#report)
    const oracles: readonly MachineOracle[] = [
      new UseOracle(witness),
      new KickOracle({ ...witness, policy }),
      new ChildrenOracle(witness),
      new MachineForeignOracle(witness),
      requests,
    ]
    cluster.onCommit((commit) => {
      this.#counts.commits += 1
      if (isOperator(commit.actor)) this.#counts.operatorCommits += 1
      const isDownload = commit.resource === DATA_VOLUME && commit.type === 'ADDED' && imageOwner(commit.object)
      if (isDownload) this.#counts.admissions += 1
      chronicle.take(commit)
      for (const oracle of oracles) oracle.onCommit(commit)
      this.#checkIdleness(isOperator(commit.actor) && commit.resource.kind !== 'Lease', commit.resource.kind)
    })
    cluster.onRequest((request, code) => requests.onRequest(request, code))
  }

  readonly #report = (invariant: Invariant, message: string): void => {
    this.#violations.push({ invariant, message, atMs: this.#world.simulated.time.elapsedMs })
  }

  async #until(deadlineMs: number): Promise<void> {
    const isDone = () => this.#violations.length > 0
    if (!isDone()) await this.#world.simulated.time.run({ untilMs: deadlineMs, isDone })
  }

  async #settle(): Promise<void> {
    const { time } = this.#world.simulated
    const deadlineMs = time.elapsedMs + SETTLED_WITHIN_MS
    do {
      this.#driver.clearAway()
      await this.#until(time.elapsedMs + LOOK_MS)
    } while (!this.#settlement.isReached && time.elapsedMs < deadlineMs && this.#violations.length === 0)
    this.#checkSettled('not everything came to rest')
  }

  #checkSettled(what: string): void {
    if (this.#violations.length === 0 && !this.#settlement.isReached)
      this.#report(7, `${what}:\n${this.#settlement.describe()}`)
  }

  /** Invariant 7: once nothing is left to do, nothing is written, whoever looks again. */
  async #checkIdle(): Promise<void> {
    const { time } = this.#world.simulated
    await this.#until(time.elapsedMs + RETIRED_AFTER_MS)
    // Whoever looks now finds that what disks were cloned from is gone.
    this.#driver.touchAll()
    await this.#until(time.elapsedMs + LOOK_MS)
    this.#checkSettled('it did not last')
    this.#idleSinceMs = time.elapsedMs
    this.#driver.touchAll()
    await this.#until(time.elapsedMs + IDLE_MS)
    this.#idleSinceMs = undefined
    this.#checkSettled('it did not last when people wrote labels')
  }

  #checkIdleness(isWork: boolean, kind: string): void {
    if (this.#idleSinceMs !== undefined && isWork) this.#report(7, `idle, and ${kind} is written`)
  }

  /** Nothing leaks. */
  async #checkEnd(): Promise<void> {
    const { time } = this.#world.simulated
    const isLeft = () => this.#violations.length === 0 && this.#settlement.leftovers().length > 0
    this.#driver.deleteMachines()
    await this.#until(time.elapsedMs + MINUTE)
    this.#driver.deleteImages()
    for (const deadlineMs = time.elapsedMs + GONE_WITHIN_MS; isLeft() && time.elapsedMs < deadlineMs; )
      await this.#until(time.elapsedMs + LOOK_MS)
    if (isLeft()) this.#report(7, `left behind: ${this.#settlement.leftovers().join(', ')}`)
  }

  #checkLog(): void {
    const { logged, replicas } = this.#world
    for (const line of logged) {
      if (line.startsWith('error')) this.#report(0, `the operator logged ${line}`)
      if (line.includes(PASSWORD)) this.#report(9, `a password is in the log: ${line}`)
    }
    for (const { failure } of replicas)
      if (failure !== undefined) this.#report(0, `the operator ended: ${String(failure)}`)
  }
}

function policyData(plan: MachinePolicyPlan): Record<string, string> {
  return {
    // Whose template names no class is cloned from its claim.
    defaultSnapshotClass: '',
    kickLimit: String(plan.kickLimit),
    vmProvisionTimeout: `${plan.provisionTimeoutSeconds}s`,
    keepSourceVolume: String(plan.keepSourceVolume),
    retryBackoffDuration: '5s',
    retryBackoffMax: '30s',
    ...(plan.ttlSeconds !== undefined && { unreferencedTTL: `${plan.ttlSeconds}s` }),
  }
}
