import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'

const KEY = `ssh-ed25519 AAAA${'a'.repeat(4_060)}`

describe('an object that is too large for the operator', () => {
  const cluster = useCluster()

  it('is told once, keeps what it has, holds up nobody, and goes on when it is smaller', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const machines = new Machines(world)
    await world.syncImage('first')
    await world.annotate('first', { [ANNOTATIONS.requestsReached]: 'x'.repeat(70_000) })
    const image = await world.untilReason('first', 'TooLarge')
    expect(image.status).toMatchObject({ phase: 'Failed', artifact: { kind: 'VolumeSnapshot' } })
    const users = Array.from({ length: 16 }, (_user, at) => {
      return { name: `user-${at}`, ssh_authorized_keys: Array.from({ length: 16 }, () => KEY) }
    })
    await machines.create('large', { users, vmDiskImageRef: { name: 'first' } })
    await machines.untilReason('large', 'TooLarge')
    await machines.until('large', 'a finalizer', ({ metadata }) => metadata.finalizers !== undefined)

    await world.untilImage('first', 'counts the machine', ({ status }) => status?.references?.count === 1)
    const versions = () => [world.getImage('first'), machines.get('large')].map((one) => one?.metadata.resourceVersion)
    await world.syncImage('second')
    const before = versions()
    await world.syncImage('third')
    expect(versions()).toEqual(before)

    await machines.patch('large', { users: [] })
    await machines.untilReady('large')
    await world.annotate('first', { [ANNOTATIONS.requestsReached]: '' })
    await world.untilSynced('first')
    await machines.delete('large')
    await world.finish()
  })
})
