import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { checkLedger, checkOrder } from '../harness/ledger-check.ts'
import { World } from '../harness/world.ts'
import { type Flow, LOCAL_VOLUMES } from './flows.ts'
import { countWrites, type Outcome, outcomeOf, type WriteCounts } from './outcome.ts'
import { type Crash, Play } from './play.ts'
import { PASSWORD } from './played-machine.ts'
import { generatedIn, leaksOf } from './secrecy.ts'
import { kindOf, tally } from './writes.ts'

/**
 * A real kubelet restarts a failed importer for the first time after 10 s. The next operator starts sooner, but on a machine that is busy with other
 * tests a process may take that long to start.
 */
const IMPORTER_RESTART_MS = 90_000
/** Of a machine: long enough to be observed and reported. */
const SHUTDOWN_MS = 500
const START_BACKOFF_MS = 2_000

/** CDI and the operator both end the importers of a deleted DataVolume: the first of them has an effect. */
const END_OF_IMPORTER = 'delete pods'

/** A Job is started at the version that was observed, to which its controller may just be adding that it is suspended. */
const START_OF_JOB = 'patch jobs: 409'

/** The step of a long run: every n-th crash, or `all`. */
const PLANS = process.env['CRASH_PLANS']

interface Played {
  readonly outcome: Outcome
  readonly writes: WriteCounts
}

/**
 * Kills the operator at its own writes: before the API server receives the write, or after it is executed but before the operator knows. The next
 * operator starts at once. The final state must be the same as without the crash.
 * @param usualStep every how many-th crash of all flows is tried; an odd number, so that those before and those after a write alternate
 */
export function crashSuite(flows: readonly Flow[], usualStep: number): void {
  const step = PLANS === 'all' ? 1 : Number(PLANS ?? usualStep)
  const cluster = useOwnCluster()
  let world: World
  let plays = 0

  beforeAll(async () => {
    const pace = { restartBaseMs: IMPORTER_RESTART_MS, shutdownMs: SHUTDOWN_MS, startBackoffMs: START_BACKOFF_MS }
    // What confines the operator reads the policy in the namespace that the operator was installed in.
    const policy = { localVolumeRoot: LOCAL_VOLUMES }
    world = await World.start(cluster(), { idle: true, pace, policy })
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
  })

  async function perform(flow: Flow, crash?: Crash): Promise<Played> {
    plays += 1
    await using play = await Play.start(world, String(plays), inject('operatorBundle'), flow)
    await flow.prepare?.(play)
    const since = play.writes.length
    if (crash !== undefined) play.crashAt(crash)
    await flow.act(play)
    await play.untilQuiet()
    await play.untilCdiIsDone()
    expect(play.hasCrashed, play.describe()).toBe(crash !== undefined)
    await world.history.catchUp()
    checkLedger(play.history, play.namespace)
    checkOrder(play.history, play.namespace)
    for (const secret of [PASSWORD, ...generatedIn(play)]) expect(leaksOf(secret, play)).toEqual([])
    return { outcome: outcomeOf(play), writes: countWrites(play.writes, since) }
  }

  /** The run of each flow without a crash. The test of its writes and every crash of the flow compare with this one run. */
  const undisturbed = new Map<Flow, Promise<Played>>()
  function referenceOf(flow: Flow): Promise<Played> {
    const reference = undisturbed.get(flow) ?? perform(flow)
    undisturbed.set(flow, reference)
    return reference
  }

  const tried = Map.groupBy(everyNth(flows.flatMap(crashesIn), step), ({ flow }) => flow)
  // Plays see only their own namespaces, so those of all flows run beside each other: each of them waits for most of its time.
  describe.concurrent.each(flows.map((flow) => [flow.name, flow] as const))('%s', (_name, flow) => {
    it('takes the writes that it should when nothing happens', async () => {
      const { writes } = await referenceOf(flow)
      const { done, repeated, log } = writes
      expect([unexpected(writes, flow), repeated], log).toEqual([[], []])
      expect(compared(done, flow), log).toEqual(compared(tally(flow.writes.map(kindOf)), flow))
    })

    it.each(tried.get(flow) ?? [])('$crash.when write $crash.nth of: $crash.write', async ({ crash }) => {
      const [reference, { outcome, writes }] = await Promise.all([referenceOf(flow), perform(flow, crash)])
      expect(outcome).toEqual(reference.outcome)
      expectWrites(writes, reference.writes, crash, flow)
    })
  })
}

/**
 * Expects as many writes as without the crash, except for:
 * - the one whose response was lost. The next operator sees what it wrote and has no reason to write it again, unless its
 *   cache is stale: then the API server refuses the repetition (409), or a repeated DELETE does nothing.
 * - the ledger, which a new leader first takes over where slots are held.
 *
 * No status repeats the one before it, except the one whose response was lost.
 */
function expectWrites(writes: WriteCounts, reference: WriteCounts, crash: Crash, flow: Flow): void {
  const lost = kindOf(crash.write)
  const done = { ...writes.done }
  const more = (write: string) => (done[write] ?? 0) > (reference.done[write] ?? 0)
  const permit = (write: string) => {
    if (more(write)) done[write] = (done[write] ?? 0) - 1
  }
  permit('update configmaps')
  if (crash.when === 'after') permit(lost)
  expect(compared(done, flow), writes.log).toEqual(compared(reference.done, flow))
  expect(
    unexpected(writes, flow).filter((write) => write !== `${lost}: 409`),
    writes.log,
  ).toEqual([])
  expect(
    writes.repeated.filter((write) => crash.when === 'before' || !write.startsWith(`${lost} `)),
    writes.log,
  ).toEqual([])
}

/**
 * - An object is deleted at the version that was observed, while CDI, KubeVirt and others write to it: for a failed importer, CDI first
 *   reports the failure, then the restart. A deletion may be refused once for each of these.
 * - Progress is reported when figures change, and somebody may edit or delete the object while that write is in flight.
 */
function unexpected({ refused, done }: WriteCounts, { reporting = [] }: Flow): readonly string[] {
  const isUsual = (deletion: string) =>
    refused.filter((write) => write === `${deletion}: 409`).length <= 2 * (done[deletion] ?? 0)
  const deletions = Object.keys(done).filter((write) => write.startsWith('delete ') && isUsual(write))
  const statuses = reporting.filter((write) => write.endsWith('/status'))
  const usual = [
    ...deletions.map((write) => `${write}: 409`),
    START_OF_JOB,
    ...[...statuses, END_OF_IMPORTER].flatMap((write) => [`${write}: 404`, `${write}: 409`]),
  ]
  return refused.filter((write) => !usual.includes(write))
}

/** Ignores Events, which may be lost with a process, or repeated by the next one, which cannot know that they were sent. */
function compared(done: Readonly<Record<string, number>>, { reporting }: Flow): Record<string, number> {
  const isCompared = (write: string) =>
    write !== END_OF_IMPORTER && !reporting?.includes(write) && !write.endsWith(' events')
  return Object.fromEntries(Object.entries(done).filter(([write]) => isCompared(write)))
}

function everyNth<T>(list: readonly T[], step: number): T[] {
  return list.filter((_, at) => at % step === Math.floor(step / 2))
}

/** A crash before and after every write of a flow. */
function crashesIn(flow: Flow): { flow: Flow; crash: Crash }[] {
  return flow.writes.flatMap((write, at) => {
    const nth = flow.writes.slice(0, at + 1).filter((one) => one === write).length
    return (['before', 'after'] as const).map((when) => ({ flow, crash: { write, nth, when } }))
  })
}
