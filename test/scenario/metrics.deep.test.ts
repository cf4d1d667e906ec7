import { beforeAll, describe, expect, it, vi } from 'vitest'
import { parseExposition, type Sample, sumOf } from '../bench/exposition.ts'
import { useCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { HANGS_AFTER_MS } from '../harness/mirror.ts'
import type { OperatorInProcess } from '../harness/operator-in-process.ts'
import { SyncObserver } from '../harness/sync-observer.ts'
import { World } from '../harness/world.ts'

const GOOD = Array.from({ length: 9 }, (_, at) => `good-${at}`)
const BROKEN = ['broken-a', 'broken-b']

async function scrape(operators: readonly OperatorInProcess[]): Promise<Sample[]> {
  const texts = await Promise.all(operators.map(({ operator }) => operator.metrics.render()))
  return texts.flatMap(parseExposition)
}

/** The sums of the gauges of one or more replicas. */
async function gauges(...operators: readonly OperatorInProcess[]): Promise<object> {
  const samples = await scrape(operators)
  const of = (name: string) => sumOf(samples, name)
  const phase = (name: string) => sumOf(samples, 'ot_vmdi_phase', { phase: name })
  return {
    active: of('ot_sync_active'),
    limit: of('ot_sync_concurrency_limit'),
    queued: of('ot_sync_queue_length'),
    phases: {
      Queued: phase('Queued'),
      Syncing: phase('Syncing'),
      Succeeded: phase('Succeeded'),
      Failed: phase('Failed'),
    },
  }
}

/** The same for virtual machines. */
async function machineGauges(...operators: readonly OperatorInProcess[]): Promise<object> {
  const samples = await scrape(operators)
  const phase = (name: string) => sumOf(samples, 'ot_vm_phase', { phase: name })
  const waiting = samples.filter(({ name }) => name === 'ot_vm_waiting')
  return {
    phases: { Provisioning: phase('Provisioning'), Failed: phase('Failed'), Ready: phase('Ready') },
    waiting: Object.fromEntries(waiting.map(({ labels, value }) => [labels['reason'], value])),
    fullCopies: sumOf(samples, 'ot_vm_full_copies'),
    kicks: sumOf(samples, 'ot_vm_kicks_total'),
  }
}

/** The values of {@link gauges}, as observed from outside. */
function seen(world: World): object {
  const images = [...world.mirror.images.values()].filter(({ metadata }) => metadata.namespace === world.namespace)
  const inPhase = (phase: string) => images.filter(({ status }) => status?.phase === phase)
  const holders = world.ledger?.holders ?? []
  const count = (phase: string) => inPhase(phase).length
  return {
    active: holders.length,
    limit: world.ledger?.limit,
    queued: inPhase('Queued').filter(({ metadata }) => !holders.some(({ uid }) => uid === metadata.uid)).length,
    phases: {
      Queued: count('Queued'),
      Syncing: count('Syncing'),
      Succeeded: count('Succeeded'),
      Failed: count('Failed'),
    },
  }
}

async function counters(operators: readonly OperatorInProcess[]): Promise<object> {
  const samples = await scrape(operators)
  const attempts: Record<string, number> = {}
  for (const { name, labels, value } of samples) {
    const key = `${labels['result']} ${labels['reason']}`
    // Each reason has a series from the start.
    if (name === 'ot_sync_attempts_total' && value > 0) attempts[key] = (attempts[key] ?? 0) + value
  }
  return {
    started: sumOf(samples, 'ot_sync_started_total'),
    waits: sumOf(samples, 'ot_sync_wait_seconds_count'),
    durations: sumOf(samples, 'ot_sync_duration_seconds_count'),
    attempts,
  }
}

const counted = ({ started, claims, succeeded, attempts }: SyncObserver) => ({
  started,
  waits: claims,
  durations: succeeded,
  attempts,
})

/** Both move: what is seen outside comes by several watches. */
async function untilSame(said: () => Promise<object>, wanted: () => object): Promise<void> {
  await vi.waitFor(async () => expect(await said()).toEqual(wanted()), { timeout: HANGS_AFTER_MS, interval: 50 })
}

describe('what the metrics say', () => {
  const cluster = useCluster()
  let world: World
  let observer: SyncObserver
  let first: OperatorInProcess
  const doors = new Map<string, () => void>()
  const gaugesAgree = () =>
    untilSame(
      () => gauges(first),
      () => seen(world),
    )
  const countersAgree = () =>
    untilSame(
      () => counters([first]),
      () => counted(observer),
    )

  beforeAll(async () => {
    const policy = { concurrency: '3', retryLimit: '1', retryBackoffDuration: '1s' }
    world = await World.start(cluster(), { policy, idle: true, mostDownloads: 5 })
    observer = new SyncObserver(world)
    first = world.startOperator()
    return async () => await world[Symbol.asyncDispose]()
  })

  async function hold(name: string): Promise<void> {
    doors.set(name, world.gate.hold(world.urlOf(name)))
  }

  async function letThrough(name: string): Promise<void> {
    const image = await world.until(`image ${name}`, () => world.getImage(name))
    observer.release(image)
    doors.get(name)?.()
  }

  /** Waits until nothing moves: this many images download, this many wait, and all others are done. */
  async function atRest(active: number, queued: number): Promise<void> {
    await world.until(`${active} downloads and ${queued} who wait`, () => {
      const { phases, ...slots } = seen(world) as { phases: Record<string, number>; active: number; queued: number }
      return slots.active === active && slots.queued === queued && phases['Syncing'] === active
    })
  }

  it('is what an outside observer counts: of a queue, a deletion and a new limit', async () => {
    for (const name of BROKEN)
      world.imageServer.set({ path: `/${world.namespace}/${name}.qcow2`, fault: { status: 500 } })
    world.imageServer.set({ path: `/${world.namespace}/missing.qcow2`, fault: { status: 404 } })
    for (const name of GOOD) await hold(name)
    observer.act()
    for (const name of [...GOOD.slice(0, 5), ...BROKEN, 'missing', ...GOOD.slice(5)]) await world.createImage(name)
    await atRest(3, 9)
    await gaugesAgree()

    await world.deleteImage('good-8')
    await world.untilGone('good-8')
    await atRest(3, 8)
    await gaugesAgree()

    observer.act()
    await world.setPolicy({ concurrency: '5', retryLimit: '1', retryBackoffDuration: '1s' })
    await atRest(5, 6)
    await gaugesAgree()
    await countersAgree()
  })

  it('is what an outside observer counts: of successes, and of failures with retries', async () => {
    for (const name of GOOD.slice(0, 8)) {
      await letThrough(name)
      await world.untilSynced(name)
    }
    for (const name of [...BROKEN, 'missing']) await world.untilPhase(name, 'Failed')
    await atRest(0, 0)
    await gaugesAgree()
    await countersAgree()
    // Both are what was requested.
    expect(observer).toMatchObject({ started: 13, claims: 13, succeeded: 8 })
    expect(Object.values(observer.attempts).toSorted()).toEqual([1, 4, 8])
  })

  it('is what there is of a virtual machine that waits, runs, and is removed', async () => {
    const machines = new Machines(world)
    const none = { phases: { Provisioning: 0, Failed: 0, Ready: 0 }, waiting: {}, fullCopies: 0, kicks: 0 }
    await machines.create('vm', {
      users: [{ name: 'demo', passwordSecretRef: { name: 'login', key: 'secretKey' } }],
      vmDiskImageRef: { name: 'good-1' },
      vmDiskImageTemplate: world.image('good-1').spec as never,
    })
    await machines.untilReason('vm', 'MissingPasswordSecret')
    const waits = { ...none, phases: { ...none.phases, Provisioning: 1 }, waiting: { MissingPasswordSecret: 1 } }
    await expect.poll(() => machineGauges(first)).toEqual(waits)

    await world.createSecret('login')
    await machines.untilReady('vm')
    await expect.poll(() => machineGauges(first)).toEqual({ ...none, phases: { ...none.phases, Ready: 1 } })

    await machines.delete('vm')
    await expect.poll(() => machineGauges(first)).toEqual(none)
  })

  it('is what an outside observer counts: of a refresh that one leader begins and the next one ends', async () => {
    await hold('good-0')
    observer.act()
    await world.annotate('good-0', { 'pelotech.ot/sync-requested-at': 'now' })
    await world.untilDownloading('good-0', 2)
    await atRest(1, 0)
    const second = world.startOperator()
    await untilSame(
      () => gauges(first, second),
      () => seen(world),
    )
    await first.stop()
    const isLeading = (samples: readonly Sample[]) => sumOf(samples, 'leader_election_master_status') === 1
    await expect.poll(async () => isLeading(await scrape([second]))).toBe(true)
    await untilSame(
      () => gauges(first, second),
      () => seen(world),
    )
    await letThrough('good-0')
    await world.untilSynced('good-0')
    await atRest(0, 0)
    await untilSame(
      () => gauges(first, second),
      () => seen(world),
    )
    await untilSame(
      () => counters([first, second]),
      () => counted(observer),
    )

    const samples = await scrape([first, second])
    const { waits, durations } = observer
    const [waited, took] = [sumOf(samples, 'ot_sync_wait_seconds_sum'), sumOf(samples, 'ot_sync_duration_seconds_sum')]
    expect(waited).toBeGreaterThanOrEqual(waits.least)
    expect(waited).toBeLessThanOrEqual(waits.most)
    expect(took).toBeGreaterThanOrEqual(durations.least)
    expect(took).toBeLessThanOrEqual(durations.most)
    await world.finish()
  })
})
