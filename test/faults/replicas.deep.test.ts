import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import {
  finish,
  forgedLease,
  freezeAt,
  isSynced,
  LIMIT,
  NAMES,
  Pair,
  Replica,
  startWorld,
  untilLeader,
  untilLeft,
} from './replica.ts'

describe('two replicas', () => {
  const cluster = useOwnCluster()

  it('hand over when the leader is told to end, and when it is killed, and no download notices', async () => {
    await using pair = await Pair.start(cluster())
    const { world, one, two, release } = pair
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('image-1')
    expect(await one.process.terminate()).toBe(0)
    await untilLeader(world, 'two')
    await using _three = await Replica.start(world, 'three')
    // It gives its Lease to nobody: the other one waits until that is over.
    await two.process.kill()
    await untilLeader(world, 'three')
    release()
    await finish(world)
  })

  it('stay within the limit when the leader freezes between its claim and the answer, and its slot goes to another', async () => {
    await using pair = await Pair.start(cluster())
    const { world, one, release } = pair
    const later = Promise.withResolvers<void>()
    await freezeAt(world, one, 'update configmaps', { type: 'withhold', until: () => later.promise })
    await untilLeader(world, 'two')
    await world.patchImage('image-0', { spec: { suspend: true } })
    for (const name of NAMES.slice(1)) await world.createImage(name)
    await world.until('the slot went on', () => !world.holds('image-0') && world.ledger?.holders.length === LIMIT)
    later.resolve()
    one.process.thaw()
    await untilLeft(world, one)
    release()
    await world.patchImage('image-0', { spec: { suspend: false } })
    await finish(world)
    expect(one.proxy.countOf('create', 'datavolumes')).toBe(0)
  })

  it('stay within the limit when the leader freezes with the request for a DataVolume on its way', async () => {
    await using pair = await Pair.start(cluster())
    const { world, one, release } = pair
    const later = Promise.withResolvers<void>()
    await freezeAt(world, one, 'create datavolumes', {
      type: 'hold',
      until: () => later.promise.then(() => 'forward' as const),
    })
    for (const name of NAMES.slice(1)) await world.createImage(name)
    await untilLeader(world, 'two')
    // The request was in flight for a few seconds. The slots are safe from requests that take up to ten.
    later.resolve()
    one.process.thaw()
    await untilLeft(world, one)
    release()
    await finish(world)
  })

  it('stay within the limit while both believe that they lead', async () => {
    await using world = await startWorld(cluster())
    await using forged = await Replica.start(world, 'forged', forgedLease())
    await using honest = await Replica.start(world, 'honest')
    await untilLeader(world, 'honest')
    await world.until('the other leads as well', () => forged.process.lines.some((line) => line.includes('"leading"')))
    // With the same observations they decide the same, so one of them receives its watch events late.
    for (const watch of forged.proxy.watches) watch.delayMs = 300
    for (const name of NAMES) await world.createImage(name)
    await world.until('most are synced', () => NAMES.filter((name) => isSynced(world, name)).length >= 6)
    expect(Math.min(honest.claims, forged.claims)).toBeGreaterThan(0)
    await forged.process.kill()
    await finish(world)
  })
})
