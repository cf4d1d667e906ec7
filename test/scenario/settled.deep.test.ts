import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { waitSettled } from '../harness/wait-settled.ts'
import { World } from '../harness/world.ts'

describe.skipIf(!HAS_KUBECTL)('a pipeline that waits with examples/wait-settled.sh', () => {
  const cluster = useCluster()

  it('goes on when the image is ready, and stops at once when it has failed', async () => {
    await using world = await World.start(cluster())
    world.imageServer.set({ path: `/${world.namespace}/hopeless.qcow2`, fault: { status: 404 } })
    await world.createImage('hopeless')
    await world.createImage('fine')
    expect(await waitSettled(world, 'vmdi/fine')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Succeeded: /),
    })
    const failed = await waitSettled(world, 'vmdi/hopeless')
    expect(failed).toMatchObject({ code: 1, output: expect.stringMatching(/^Failed: .*404/) })
    await world.finish()
  })

  it('is not told that an image has settled by what was true of the spec before', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('other')
    const refuse = world.imageServer.set({ path: `/${world.namespace}/gone.qcow2`, fault: { status: 404 } })
    await world.patchImage('other', { spec: { url: world.urlOf('gone') } })
    expect(await waitSettled(world, 'vmdi/other')).toMatchObject({ code: 1 })
    refuse()
    await world.finish()
  })

  it('goes on when all images of a DataSync are ready, and stops at once when one of them has failed', async () => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '0' } })
    const dataSyncs = new DataSyncs(world)
    world.imageServer.set({ path: `/${world.namespace}/typo.qcow2`, fault: { status: 404 } })
    await dataSyncs.create('release', ['attacker', 'victim'])
    expect(await waitSettled(world, 'dsync/release')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Succeeded: /),
    })
    await dataSyncs.patch('release', { spec: { vms: [dataSyncs.vm('attacker', 'typo'), dataSyncs.vm('victim')] } })
    expect(await waitSettled(world, 'dsync/release')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^Failed: .*404/),
    })
    await dataSyncs.delete('release')
    await world.finish()
  })

  it('is not told by what was true before its request that an image has been downloaded again', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('daily')
    await world.operator?.stop()
    expect(await waitSettled(world, 'vmdi/daily', { request: 'sync', timeout: '2s' })).toEqual({
      code: 2,
      output: 'Not settled within 2s; the operator has not answered the request\n',
    })
    expect(world.downloadsOf(world.urlOf('daily'))).toBe(1)
    world.startOperator()
    expect(await waitSettled(world, 'vmdi/daily', { request: 'sync' })).toMatchObject({ code: 0 })
    expect(world.downloadsOf(world.urlOf('daily'))).toBeGreaterThan(1)
    await world.finish()
  })

  it('learns from the exit code that time is over, or that there is no such image', async () => {
    await using world = await World.start(cluster())
    await world.createImage('held', { suspend: true })
    await world.untilPhase('held', 'Queued')
    expect(await waitSettled(world, 'vmdi/held', { timeout: '1s' })).toMatchObject({
      code: 2,
      output: expect.stringMatching(/^Not settled within 1s; Queued: /),
    })
    expect((await waitSettled(world, 'vmdi/none', { timeout: '1s' })).code).toBe(2)
    await world.finish()
  })
})
