import type { VMDiskImageSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { conditionOf, snapshotOf } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

describe('the image of a machine, refreshed', () => {
  it('while the machine waits for it, is cloned as it is published in the end', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    const release = world.gate.hold(world.urlOf('golden'))
    await machines.create('vm')
    await world.untilDownloading('golden')
    await machines.untilReason('vm', 'ImageSyncing')
    await world.patchImage('golden', { spec: { url: world.urlOf('better') } })
    const { status } = await machines.untilReady('vm')
    release()
    const { artifact } = (await world.untilSynced('golden')).status ?? {}
    expect(world.downloadsOf(world.urlOf('better'))).toBe(1)
    expect(snapshotOf(machines.disk('vm'))).toBe(artifact?.name)
    expect(status?.clone?.sourceRevision).toBe(artifact?.revision)
    expect(conditionOf(machines.get('vm'), 'ImageMismatch')?.message).toContain('url')
    await machines.delete('vm')
    await world.finish()
  })
})

describe('an image that a template made with a wrong URL', () => {
  const WRONG = 'https://images.example.com/none/disk.qcow2'

  async function startWithout404() {
    const world = await World.start(cluster(), ONE_AT_A_TIME)
    world.imageServer.set({ path: '/none/disk.qcow2', fault: { status: 404 } })
    const template = world.image('golden').spec as VMDiskImageSpecInput
    return { world, machines: new Machines(world), template, wrong: { ...template, url: WRONG } }
  }

  it('is corrected with the template, and the machine runs without any other help', async () => {
    const { world, machines, template, wrong } = await startWithout404()
    await using _world = world
    await machines.create('vm', { vmDiskImageTemplate: wrong })
    const { status } = await machines.untilReason('vm', 'ImageFailed')
    expect(status?.message).toContain('correct spec.vmDiskImageTemplate, and the image is corrected with it')
    const { uid } = world.getImage('golden')?.metadata ?? {}
    await machines.patch('vm', { vmDiskImageTemplate: template })
    const ready = await machines.untilReady('vm')
    expect(world.getImage('golden')).toMatchObject({ metadata: { uid }, spec: { url: template.url } })
    expect(world.downloadsOf(template.url ?? '')).toBe(1)
    expect(conditionOf(ready, 'ImageMismatch')).toBeUndefined()
    await machines.delete('vm')
    await world.finish()
  })

  it('stays as it is while another machine wants something else, is told so, and is corrected when both want the same', async () => {
    const { world, machines, template, wrong } = await startWithout404()
    await using _world = world
    for (const name of ['vm', 'other']) await machines.create(name, { vmDiskImageTemplate: wrong })
    for (const name of ['vm', 'other']) await machines.untilReason(name, 'ImageFailed')
    const { uid, generation } = world.getImage('golden')?.metadata ?? {}
    await machines.patch('vm', { vmDiskImageTemplate: template })
    const { namespace } = world
    const who = `VirtualMachine ${namespace}/other wants url "${WRONG}"`
    const { status } = await machines.until('vm', 'told', (one) => one.status?.message?.includes(who) === true)
    expect(status?.message).toContain(`kubectl -n ${namespace} edit vmdi golden`)
    // The whole life of another machine: enough time for what must not happen.
    await machines.create('third', {
      vmDiskImageRef: { name: 'third' },
      vmDiskImageTemplate: world.image('third').spec as never,
    })
    await machines.untilReady('third')
    expect(world.getImage('golden')?.metadata).toMatchObject({ uid, generation })
    await machines.patch('other', { vmDiskImageTemplate: template })
    for (const name of ['vm', 'other']) await machines.untilReady(name)
    expect(world.getImage('golden')?.metadata).toMatchObject({ uid, generation: (generation ?? 0) + 1 })
    expect(world.downloadsOf(template.url ?? '')).toBe(1)
    await machines.delete('vm', 'other', 'third')
    await world.finish()
  })
})

describe('FailIfNotExist', () => {
  it('makes no image, has failed meanwhile, and goes on with the image that comes, in its own namespace', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm', { vmDiskImageMode: 'FailIfNotExist' })
    const failed = await machines.until('vm', 'Failed', ({ status }) => status?.phase === 'Failed')
    expect(conditionOf(failed, 'Stalled')).toMatchObject({ status: 'True', reason: 'ImageNotFound' })
    expect(failed.status?.message).toContain(`VMDiskImage ${world.namespace}/golden does not exist`)
    await machines.untilAnotherRuns()
    expect(world.getImage('golden')).toBeUndefined()
    expect(machines.get('vm')?.status?.phase).toBe('Failed')

    const release = world.gate.hold(world.urlOf('golden'))
    await world.createImage('golden')
    await machines.untilReason('vm', 'ImageSyncing')
    expect(machines.get('vm')?.status?.phase).toBe('Provisioning')
    release()
    await machines.untilReady('vm')
    expect(world.getImage('golden')?.metadata.labels?.['pelotech.ot/created-by']).toBeUndefined()
    await machines.delete('vm', 'other')
    await world.finish()
  })

  it('does not have an image created again that was deleted before the disk was made', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    const release = await heldDownload(world, 'golden')
    await machines.create('vm', { vmDiskImageMode: 'FailIfNotExist' })
    await machines.untilReason('vm', 'ImageSyncing')
    await world.deleteImage('golden')
    await world.untilGone('golden')
    await machines.untilReason('vm', 'ImageNotFound')
    expect(machines.get('vm')?.status?.phase).toBe('Failed')
    expect(world.getImage('golden')).toBeUndefined()
    release()
    await machines.patch('vm', { vmDiskImageMode: 'CreateIfNotExist' })
    await machines.untilReady('vm')
    await machines.delete('vm')
    await world.finish()
  })
})

describe('ignoreOnDeploy', () => {
  it('keeps the image ready and makes nothing else; off deploys, and on again changes nothing', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm', { ignoreOnDeploy: true })
    await machines.untilReady('vm', 'IgnoredOnDeploy')
    await world.untilSynced('golden')
    expect(machines.children()).toEqual([])

    // It refers to the image, but does not use it: the image is deleted, and created again.
    const { uid } = world.getImage('golden')?.metadata ?? {}
    await world.deleteImage('golden')
    await world.untilImage('golden', 'another', ({ metadata }) => metadata.uid !== uid)
    await world.untilSynced('golden')
    await machines.untilReady('vm', 'IgnoredOnDeploy')
    expect(machines.children()).toEqual([])

    await machines.patch('vm', { ignoreOnDeploy: false })
    await machines.untilReady('vm')
    await world.until('its children', () => machines.children().length === 3)
    const children = machines.children()
    expect(children).toEqual(['VirtualMachine/vm', 'DataVolume/vm-root', 'Secret/vm-cloudinit'])
    const disk = machines.disk('vm')?.metadata.uid

    await machines.patch('vm', { ignoreOnDeploy: true })
    await machines.untilReady('vm', 'NotDeployedAnyMore')
    expect(machines.children()).toEqual(children)
    await machines.patch('vm', { ignoreOnDeploy: false })
    await machines.untilReady('vm')
    expect(machines.disk('vm')?.metadata.uid).toBe(disk)
    await machines.delete('vm')
    await world.finish()
  })
})
