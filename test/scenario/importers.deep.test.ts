import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { POD, RESOURCE_QUOTA, STORAGE_CLASS, STORAGE_PROFILE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

const QUICK = { retryBackoffDuration: '600ms', retryLimit: '2', concurrency: '1' }

function importersOf(world: World, name: string): KubeObject[] {
  const uid = world.getImage(name)?.metadata.uid
  return [...world.mirror.pods.values()].filter(({ metadata }) => metadata.labels?.[LABELS.imageUid] === uid)
}

/** Deletes the importer pods of an image, as draining their node does. */
async function drain(world: World, name: string): Promise<void> {
  const importers = importersOf(world, name)
  expect(importers).not.toEqual([])
  for (const { metadata } of importers) await world.client.delete(POD, metadata)
}

const create = (world: World, type: ResourceType, metadata: KubeObject['metadata'], rest: object) =>
  world.client.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest } as KubeObject)

describe('a node that is drained', () => {
  it('costs an image the download that ran there, once', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const release = await heldDownload(world, 'drained')
    await drain(world, 'drained')
    await world.untilImage('drained', 'its attempt is recorded', ({ status }) => status?.attempts?.length === 1)
    release()
    const { status } = await world.untilSynced('drained')
    expect(status?.attempts).toMatchObject([
      { number: 1, outcome: 'Failed', reason: 'Evicted' },
      { number: 2, outcome: 'Succeeded', downloads: 1 },
    ])
    // CDI replaces the pod at once, and the next one may run before its DataVolume is gone. On a busy machine it may do so before the attempt has
    // ended, and counts then.
    const [evicted] = status?.attempts ?? []
    expect([1, 2]).toContain(evicted?.downloads)
    expect(world.downloads('drained')).toBeLessThanOrEqual(3)
    await world.finish()
  })
})

describe('an image for which there is no room', () => {
  it('takes no slot, or gives it back, while its StorageProfile is empty, or a ResourceQuota leaves no room, and starts when that ends', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const name = `bare-${world.namespace}`
    await create(world, STORAGE_CLASS, { name }, { provisioner: 'sandbox.example.com' })
    const profile = await create(world, STORAGE_PROFILE, { name }, { spec: {} })
    const fill = async (claimPropertySets: object[]) => {
      const found = await world.client.get(STORAGE_PROFILE, profile.metadata)
      await world.client.replaceStatus(STORAGE_PROFILE, { ...found, status: { claimPropertySets } } as KubeObject)
    }
    await fill([])
    await world.createImage('profiled', { storageClass: name })
    const waiting = await world.untilReason('profiled', 'ClaimInvalid')
    expect(waiting.status?.message).toContain(`StorageProfile ${name}`)
    await world.syncImage('other')
    expect(world.holds('profiled')).toBe(false)
    await fill([{ accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' }])
    expect((await world.untilSynced('profiled')).status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect((await world.operator?.operator.metrics.render()) ?? '').toContain(
      'ot_sync_blocked_seconds_count{reason="ClaimInvalid"} 1',
    )

    const quota = { namespace: world.namespace, name: 'small' }
    await create(world, RESOURCE_QUOTA, quota, { spec: { hard: { persistentvolumeclaims: '1' } } })
    await expect.poll(async () => await world.client.get(RESOURCE_QUOTA, quota)).toHaveProperty('status.hard')
    await world.createImage('large')
    const queued = await world.untilReason('large', 'QuotaExceeded')
    expect(queued.status).toMatchObject({ phase: 'Queued', message: expect.stringContaining('two claims') })
    expect(world.holds('large')).toBe(false)
    await world.client.delete(RESOURCE_QUOTA, quota)
    const large = await world.untilSynced('large')
    expect(large.status?.attempts?.at(-1)).toMatchObject({ number: 1, outcome: 'Succeeded' })
    expect(world.downloads('large')).toBe(1)

    // CDI meets a quota that nobody has seen before.
    const allow = world.simulators.cdi.script({ namespace: world.namespace }, { type: 'quota', of: 'prime' })
    await world.createImage('silent')
    const told = await world.untilImage('silent', 'its attempt', ({ status }) => status?.attempts?.length === 1)
    const [attempt] = told.status?.attempts ?? []
    expect(attempt).toMatchObject({ outcome: 'Cancelled', reason: 'QuotaExceeded', downloads: 0 })
    expect(attempt?.message).toContain('exceeded quota')
    const isLeft = () => world.childrenOf('silent').some(({ metadata }) => metadata.uid === attempt?.dataVolumeUID)
    await world.until('what could not start is gone', () => !isLeft())
    allow()
    await world.untilSynced('silent')
    expect(world.downloads('silent')).toBe(1)
    await world.client.delete(STORAGE_PROFILE, { name })
    await world.client.delete(STORAGE_CLASS, { name })
    await world.finish()
  })
})
