import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { waitSettled } from '../harness/wait-settled.ts'
import { World } from '../harness/world.ts'

const SUCCEEDED = { code: 0, output: expect.stringMatching(/^Succeeded: /) }
const NOT_FOUND = { code: 1, output: expect.stringMatching(/^Failed: .*404/) }

describe.skipIf(!HAS_KUBECTL)('a pipeline that waits with examples/wait-settled.sh', () => {
  const cluster = useCluster()

  it('goes on when an image is ready, stops at once when it has failed, and is never told what was true before', async () => {
    await using world = await World.start(cluster())
    const refuse = world.imageServer.set({ path: `/${world.namespace}/gone.qcow2`, fault: { status: 404 } })
    await world.createImage('image')
    expect(await waitSettled(world, 'vmdi/image')).toMatchObject(SUCCEEDED)
    await world.patchImage('image', { spec: { url: world.urlOf('gone') } })
    expect(await waitSettled(world, 'vmdi/image')).toMatchObject(NOT_FOUND)
    refuse()
    await world.patchImage('image', { spec: { url: world.urlOf('image') } })
    await world.untilSynced('image')

    await world.operator?.stop()
    const before = world.downloads('image')
    expect(await waitSettled(world, 'vmdi/image', { request: 'sync', timeout: '2s' })).toEqual({
      code: 2,
      output: 'Not settled within 2s; the operator has not answered the request\n',
    })
    expect(world.downloads('image')).toBe(before)
    world.startOperator()
    expect(await waitSettled(world, 'vmdi/image', { request: 'sync' })).toMatchObject({ code: 0 })
    expect(world.downloads('image')).toBeGreaterThan(before)

    await world.createImage('held', { suspend: true })
    await world.untilPhase('held', 'Queued')
    expect(await waitSettled(world, 'vmdi/held', { timeout: '1s' })).toMatchObject({
      code: 2,
      output: expect.stringMatching(/^Not settled within 1s; Queued: /),
    })
    expect((await waitSettled(world, 'vmdi/none', { timeout: '1s' })).code).toBe(2)
    await world.finish()
  })

  it('goes on when all images of a DataSync are ready, and stops at once when one of them has failed', async () => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '0' } })
    const dataSyncs = new DataSyncs(world)
    world.imageServer.set({ path: `/${world.namespace}/typo.qcow2`, fault: { status: 404 } })
    await dataSyncs.create('release', ['attacker', 'victim'])
    expect(await waitSettled(world, 'dsync/release')).toMatchObject(SUCCEEDED)
    await dataSyncs.patch('release', { spec: { vms: [dataSyncs.vm('attacker', 'typo'), dataSyncs.vm('victim')] } })
    expect(await waitSettled(world, 'dsync/release')).toMatchObject(NOT_FOUND)
    await dataSyncs.delete('release')
    await world.finish()
  })
})
