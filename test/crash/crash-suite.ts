import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { checkLedger, checkOrder } from '../harness/ledger-check.ts'
import { World } from '../harness/world.ts'
import type { Flow } from './flows.ts'
import { countWrites, type Outcome, outcomeOf, type WriteCounts } from './outcome.ts'
import { type Crash, Play } from './play.ts'
import { PASSWORD } from './played-machine.ts'
import { leaksOf } from './secrecy.ts'
import { kindOf, tally } from './writes.ts'

/**
 * A real kubelet restarts a failed importer for the first time after 10 s. The next operator is there sooner, but on a
 * machine that is busy with other tests a process may take that long to start.
 */
const IMPORTER_RESTART_MS = 90_000
/** Of a machine: long enough to be seen and told of. */
const SHUTDOWN_MS = 500
const START_BACKOFF_MS = 2_000

interface Played {
  readonly outcome: Outcome
  readonly writes: WriteCounts
}

/**
 * The operator is killed at writes of its own: before the API server sees one, or after it is carried out but before the
 * operator knows. The next one starts at once. In the end everything must be as if nothing had happened.
 */
export function crashSuite(flows: readonly Flow[], crashesOf: (flow: Flow) => readonly Crash[]): void {
  const cluster = useOwnCluster()
  let world: World
  let plays = 0

  beforeAll(async () => {
    const pace = { restartBaseMs: IMPORTER_RESTART_MS, shutdownMs: SHUTDOWN_MS, startBackoffMs: START_BACKOFF_MS }
    world = await World.start(cluster(), { idle: true, pace })
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
    expect(leaksOf(PASSWORD, play)).toEqual([])
    return { outcome: outcomeOf(play), writes: countWrites(play.writes, since) }
  }

  describe.each(flows.map((flow) => [flow.name, flow] as const))('%s', (_name, flow) => {
    let reference: Played
    beforeAll(async () => {
      reference = await perform(flow)
    })

    it('takes the writes that it should when nothing happens', () => {
      const { done, repeated, log } = reference.writes
      expect([unexpected(reference.writes, flow), repeated], log).toEqual([[], []])
      expect(compared(done, flow), log).toEqual(compared(tally(flow.writes.map(kindOf)), flow))
    })

    it.concurrent.each(crashesOf(flow))('$when write $nth of: $write', async (crash) => {
      const { outcome, writes } = await perform(flow, crash)
      expect(outcome).toEqual(reference.outcome)
      expectWrites(writes, reference.writes, crash, flow)
    })
  })
}

/**
 * As many writes as without the crash, but for:
 * - the one whose answer was lost. What it wrote is seen by the next operator, which has no reason to write it again,
 *   unless its cache is a moment behind: then the API server refuses the repetition (409), or a repeated DELETE does
 *   nothing.
 * - the ledger, which a new leader first makes its own where slots are held.
 *
 * No status says again what the one before it had said, again but for the one whose answer was lost.
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
 * - What is deleted is deleted as it was seen, while CDI, KubeVirt and others write to it: of a failed importer, CDI says first that it failed, then that it
 *   starts again. A deletion is refused for each of these at most.
 * - What tells how far things are comes when figures change, and somebody may edit or delete the object while it is on its way.
 */
function unexpected({ refused, done }: WriteCounts, { telling = [] }: Flow): readonly string[] {
  const isUsual = (deletion: string) =>
    refused.filter((write) => write === `${deletion}: 409`).length <= 2 * (done[deletion] ?? 0)
  const deletions = Object.keys(done).filter((write) => write.startsWith('delete ') && isUsual(write))
  const statuses = telling.filter((write) => write.endsWith('/status'))
  const usual = [
    ...deletions.map((write) => `${write}: 409`),
    ...statuses.flatMap((write) => [`${write}: 404`, `${write}: 409`]),
  ]
  return refused.filter((write) => !usual.includes(write))
}

/** Events may be lost with a process, and the next one says again what only the first one knew to have said. */
function compared(done: Readonly<Record<string, number>>, { telling }: Flow): Record<string, number> {
  const isCompared = (write: string) => !telling?.includes(write) && !write.endsWith(' events')
  return Object.fromEntries(Object.entries(done).filter(([write]) => isCompared(write)))
}

/** At every write of a flow, before it and after it. */
export function crashesIn({ writes }: Flow): Crash[] {
  return writes.flatMap((write, at) => {
    const nth = writes.slice(0, at + 1).filter((one) => one === write).length
    return (['before', 'after'] as const).map((when) => ({ write, nth, when }))
  })
}

/** Which crashes of a long run: `all`, or with a number n every n-th one. Unset: as the flows say. */
const PLANS = process.env['CRASH_PLANS']

export function askedCrashesIn(flow: Flow): Crash[] {
  const step = PLANS === 'all' ? 1 : Number(PLANS ?? flow.sample ?? 1)
  return crashesIn(flow).filter((_, at) => at % step === 0)
}
