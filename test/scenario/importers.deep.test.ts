import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { POD, RESOURCE_QUOTA, STORAGE_CLASS, STORAGE_PROFILE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import type { Image } from '../harness/kinds.ts'
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

  it('costs nothing where the importer had not run yet', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const recover = world.simulators.cdi.script({ namespace: world.namespace }, { type: 'imagePull' })
    await world.createImage('waiting')
    await world.untilReason('waiting', 'Starting')
    const isReported = ({ status }: Image) => status?.message?.includes('failed to pull image') === true
    await world.untilImage('waiting', 'says what it waits for', isReported)
    const first = importersOf(world, 'waiting').map(({ metadata }) => metadata.uid)
    await drain(world, 'waiting')
    await world.until('the next pod', () =>
      importersOf(world, 'waiting').some(({ metadata }) => !first.includes(metadata.uid)),
    )
    recover()
    const { status } = await world.untilSynced('waiting')
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect(world.downloads('waiting')).toBe(1)
    await world.finish()
  })
})

describe('an outage of CDI', () => {
  it('hides no failure of an importer: it is stopped at its first one, and all goes on when CDI is back', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'error', after: 'end' }, { times: 1 })
    const release = await heldDownload(world, 'failing')
    const comeBack = world.simulators.cdi.stopController()
    release()
    const failed = await world.untilImage(
      'failing',
      'its failure is reported',
      ({ status }) => status?.attempts?.length === 1,
    )
    expect(failed.status?.attempts).toMatchObject([{ outcome: 'Failed', reason: 'ImporterFailed', downloads: 1 }])
    expect(failed.status?.attempts?.[0]?.message).not.toContain('left no message')
    comeBack()
    const { status } = await world.untilSynced('failing')
    expect(status?.attempts).toMatchObject([{ outcome: 'Failed' }, { outcome: 'Succeeded' }])
    expect(world.downloads('failing')).toBe(2)
    await world.finish()
  })
})

describe('an image for which there is no room', () => {
  it('takes no slot while the StorageProfile of its class is empty, and starts when that is filled', async () => {
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
    const { status } = await world.untilSynced('profiled')
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect((await world.operator?.operator.metrics.render()) ?? '').toContain(
      'ot_sync_blocked_seconds_count{reason="ClaimInvalid"} 1',
    )
    await world.client.delete(STORAGE_PROFILE, { name })
    await world.client.delete(STORAGE_CLASS, { name })
    await world.finish()
  })

  it('takes no slot while a ResourceQuota leaves no room for its claims, and starts when it does', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const metadata = { namespace: world.namespace, name: 'small' }
    await create(world, RESOURCE_QUOTA, metadata, { spec: { hard: { persistentvolumeclaims: '1' } } })
    await expect.poll(async () => await world.client.get(RESOURCE_QUOTA, metadata)).toHaveProperty('status.hard')
    await world.createImage('large')
    const waiting = await world.untilReason('large', 'QuotaExceeded')
    expect(waiting.status).toMatchObject({ phase: 'Queued', message: expect.stringContaining('two claims') })
    expect(world.holds('large')).toBe(false)
    await world.client.delete(RESOURCE_QUOTA, metadata)
    const { status } = await world.untilSynced('large')
    expect(status?.attempts?.at(-1)).toMatchObject({ number: 1, outcome: 'Succeeded' })
    expect(world.downloads('large')).toBe(1)
    await world.finish()
  })

  it('says what CDI says of the claim that it cannot create, and gives its slot back', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const allow = world.simulators.cdi.script({ namespace: world.namespace }, { type: 'quota', of: 'prime' })
    await world.createImage('silent')
    const told = await world.untilImage(
      'silent',
      'its attempt is recorded',
      ({ status }) => status?.attempts?.length === 1,
    )
    expect(told.status?.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'QuotaExceeded', downloads: 0 }])
    expect(told.status?.attempts?.[0]?.message).toContain('exceeded quota')
    const { dataVolumeUID } = told.status?.attempts?.[0] ?? {}
    const isLeft = () => world.childrenOf('silent').some(({ metadata }) => metadata.uid === dataVolumeUID)
    await world.until('what could not start is gone', () => !isLeft())
    allow()
    await world.untilSynced('silent')
    expect(world.downloads('silent')).toBe(1)
    await world.finish()
  })
})
