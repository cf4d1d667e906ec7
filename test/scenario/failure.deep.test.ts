import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { served, starts } from '../harness/history.ts'
import { type Image, reasonOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const QUICK = { retryBackoffDuration: '600ms', retryLimit: '2', concurrency: '1' }

describe('an image that fails', () => {
  const cluster = useCluster()

  it.each([
    { reason: 'Stalled', key: 'stallTimeout' },
    { reason: 'AttemptTimeout', key: 'attemptTimeout' },
  ])('is stopped and retried: $reason', async ({ reason, key }) => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const stalled = { path: `/${world.namespace}/silent.qcow2`, fault: { stallAfterBytes: 32 * 1024 }, times: 1 }
    world.imageServer.set(stalled)
    await world.createImage('silent')
    await world.untilDownloading('silent')
    await world.setPolicy({ ...QUICK, [key]: '2s' })
    await world.untilImage('silent', 'its attempt is recorded', ({ status }) => status?.attempts?.length === 1)
    // On a busy machine a download that goes well may take as long.
    await world.changePolicy({ ...QUICK, [key]: '5m' })
    const { status } = await world.untilSynced('silent')
    expect(status?.attempts).toMatchObject([{ outcome: 'Failed', reason }, { outcome: 'Succeeded' }])
    expect(served(world, 'silent')).toMatchObject({ requests: 2, maxOpen: 1 })
    await world.finish()
  })

  it('starts again with another secret', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const recover = world.imageServer.set({ path: `/${world.namespace}/private.qcow2`, fault: { status: 403 } })
    await world.createSecret('wrong')
    await world.createSecret('right')
    await world.createImage('private', { secretRef: 'wrong' })
    await world.untilPhase('private', 'Failed')
    recover()
    await world.patchImage('private', { spec: { secretRef: 'right' } })
    await world.untilSynced('private')
    expect(world.downloads('private')).toBe(2)
    await world.finish()
  })

  it('waits behind the others for its retry', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.imageServer.set({ path: `/${world.namespace}/flaky.qcow2`, fault: { status: 503 }, times: 1 })
    const [releaseFlaky, releaseSecond] = ['flaky', 'second'].map((name) => world.gate.hold(world.urlOf(name)))
    await world.createImage('flaky')
    await world.untilDownloading('flaky')
    for (const name of ['second', 'third']) {
      await world.createImage(name)
      await world.untilReason(name, 'Queued')
    }
    releaseFlaky?.()
    await world.untilDownloading('second')
    await world.untilImage('flaky', 'queued again', (image) => reasonOf(image) === 'Queued' && hasFailed(image))
    releaseSecond?.()
    for (const name of ['flaky', 'second', 'third']) await world.untilSynced(name)
    await world.history.catchUp()
    expect(starts(world)).toEqual(['flaky', 'second', 'third', 'flaky'])
    await world.finish()
  })

  it('counts an attempt that somebody else ended', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const release = await heldDownload(world, 'disturbed')
    const [dataVolume] = world.childrenOf('disturbed')
    await world.client.delete(
      { group: 'cdi.kubevirt.io', version: 'v1beta1', kind: 'DataVolume', plural: 'datavolumes', namespaced: true },
      { namespace: world.namespace, name: dataVolume?.metadata.name ?? '' },
      { propagationPolicy: 'Background' },
    )
    await world.untilImage('disturbed', 'its attempt is recorded', ({ status }) => status?.attempts?.length === 1)
    release()
    const image = await world.untilSynced('disturbed')
    expect(image.status?.attempts).toMatchObject([
      { outcome: 'Failed', reason: 'DataVolumeDeleted' },
      { outcome: 'Succeeded' },
    ])
    expect(reasonOf(image)).toBe('Synced')
    await world.finish()
  })
})

function hasFailed({ status }: Image): boolean {
  return status?.attempts?.at(-1)?.outcome === 'Failed'
}
