import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { isOperator } from './chronicle.ts'
import { Driver } from './driver.ts'
import type { Strikes } from './network.ts'
import * as objects from './objects.ts'
import type { Violation } from './oracle/oracle.ts'
import type { Outcome } from './outcome.ts'
import type { Schedule } from './schedule.ts'
import { Settlement } from './settlement.ts'
import { World } from './world.ts'
import type { Writes } from './writes.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** Long enough for the longest queue of failing downloads, one after the other. */
const SETTLED_WITHIN_MS = 6 * 60 * MINUTE
/** What an earlier artifact needs to go, and a bit more. */
const RETIRED_AFTER_MS = 13 * MINUTE
const IDLE_MS = 3 * MINUTE

export interface RunResult {
  readonly violations: readonly Violation[]
  readonly outcome: Outcome
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

/** Runs one schedule, under the eyes of all oracles, until everything has come to rest. */
export async function runSchedule(schedule: Schedule, options: RunOptions = {}): Promise<RunResult> {
  const { isIdleChecked = true, isRetried = true, onCommit } = options
  const world = new World(schedule)
  const { time, violations } = world
  const driver = new Driver(world)
  const settlement = new Settlement(world)
  const until = async (deadlineMs: number, isDone: () => boolean = () => false) =>
    time.run({ untilMs: deadlineMs, isDone: () => violations.length > 0 || isDone() })

  if (onCommit !== undefined) world.onCommit(onCommit)
  world.furnish()
  world.startSimulators()
  for (const replica of world.replicas) replica.start()
  await until(5 * SECOND, () => world.simulators !== undefined)
  const lastStepMs = driver.plan()
  await until(lastStepMs + SECOND)
  driver.calm()
  world.highestRetryLimit = Math.max(world.highestRetryLimit, 1)
  driver.setPolicy(soundPolicy(world))
  await until(time.elapsedMs + MINUTE)
  if (isRetried) driver.retryAll()
  settlement.review()
  const deadlineMs = time.elapsedMs + SETTLED_WITHIN_MS
  const isSettled = await until(deadlineMs, () => settlement.isReached)
  if (!isSettled) world.report(7, `not everything came to rest:\n${settlement.describe()}`)
  if (isIdleChecked && violations.length === 0) await checkIdle(world, driver.clonedUntilMs, until)
  if (violations.length === 0) await checkBadPolicy(world, driver, until)
  if (violations.length === 0 && !settlement.isReached) world.report(7, `it did not last:\n${settlement.describe()}`)
  await checkTelling(world)
  for (const { failure } of world.replicas)
    if (failure !== undefined) world.report(0, `the operator ended: ${String(failure)}`)
  const events = new Map([...driver.done, ...world.network.struck])
  for (const replica of world.replicas) replica.crash()
  world.killSimulators()
  const { counts } = world
  const writes = world.writes.counts()
  const struck = world.network.struckImages
  return { violations, outcome: settlement.outcome(), writes, struck, counts, events, elapsedMs: time.elapsedMs }
}

/** For people: each broken promise by its number in the design. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations
    .map(({ invariant, message, atMs }) => `[${invariant}] at ${Math.round(atMs)} ms: ${message}`)
    .join('\n')
}

type Until = (deadlineMs: number, isDone?: () => boolean) => Promise<boolean>

/** One that lets everybody come to an end. */
function soundPolicy({ policy: data, schedule }: World): World['policy'] {
  const limit = Number(data['concurrency'])
  return {
    ...data,
    concurrency: String(Number.isInteger(limit) && limit > 0 && limit <= 50 ? limit : 3),
    // An attempt that hangs since before must not have been the last one.
    retryLimit: /^[1-3]$/.test(data['retryLimit'] ?? '') ? (data['retryLimit'] ?? '') : '1',
    retryBackoffDuration: '5s',
    attemptTimeout: objects.policyData(schedule.policy)['attemptTimeout'] ?? '',
    keepSourceVolume: data['keepSourceVolume'] === 'false' ? 'false' : 'true',
  }
}

/** Invariant 7: once nothing is left to do, nothing is written. */
async function checkIdle(world: World, clonedUntilMs: number, until: Until): Promise<void> {
  const { time } = world
  await until(Math.max(time.elapsedMs, clonedUntilMs) + RETIRED_AFTER_MS)
  const idleFrom = time.elapsedMs
  world.onCommit(({ actor, resource, object, type }) => {
    const isIdle = time.elapsedMs > idleFrom && time.elapsedMs <= idleFrom + IDLE_MS
    if (isIdle && isOperator(actor) && resource.kind !== 'Lease')
      world.report(7, `idle, but ${type} of ${resource.kind} ${object.metadata.namespace}/${object.metadata.name}`)
  })
  await until(idleFrom + IDLE_MS)
}

/** Invariant 8: a bad value changes nothing but what is said about it. */
async function checkBadPolicy(world: World, driver: Driver, until: Until): Promise<void> {
  const { time, chronicle } = world
  const good = world.policy
  const limit = Number(good['concurrency'])
  if (chronicle.ledger?.limit !== limit)
    return world.report(8, `the policy says ${limit}, the ledger ${JSON.stringify(chronicle.ledger)}`)
  let isTold = false
  world.onCommit(({ resource, object }) => {
    isTold ||= resource.kind === 'Event' && (object as { reason?: string }).reason === 'InvalidPolicy'
  })
  driver.setPolicy({ ...good, concurrency: '4.0' })
  await until(time.elapsedMs + 10 * SECOND)
  if (chronicle.ledger?.limit !== limit) world.report(8, `a bad value made the limit ${chronicle.ledger?.limit}`)
  if (!isTold) world.report(8, 'no Event tells of the bad value')
  for (const replica of world.replicas) {
    const text = (await replica.operator?.metrics.render()) ?? ''
    if (!/^ot_config_valid 0$/m.test(text)) world.report(8, 'ot_config_valid is not 0')
  }
}

/** Invariant 9, for what only people who look will see. */
async function checkTelling(world: World): Promise<void> {
  for (const replica of world.replicas)
    world.secrets.checkText('the metrics', (await replica.operator?.metrics.render()) ?? '')
}
