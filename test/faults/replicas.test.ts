import { describe, expect, it } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { finish, NAMES, Pair, untilLeader, untilLeft } from './replica.ts'

describe('two replicas', () => {
  const cluster = useOwnCluster()

  it('hand over when the leader is killed, and no download notices', async () => {
    await using pair = await Pair.start(cluster())
    const { world, one, release } = pair
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('image-1')
    await one.process.kill()
    await untilLeader(world, 'two')
    release()
    await finish(world)
  })

  it('stay within the limit when a frozen leader wakes up beside its successor, and it leaves', async () => {
    await using pair = await Pair.start(cluster())
    const { world, one, two, release } = pair
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('image-1')
    one.process.freeze()
    await untilLeader(world, 'two')
    release()
    await world.untilSynced('image-3')
    one.process.thaw()
    await untilLeft(world, one)
    const claims = one.claims
    await finish(world)
    expect(one.claims).toBe(claims)
    expect(two.claims).toBeGreaterThan(0)
  })
})
