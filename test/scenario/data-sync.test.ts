import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { conditionOf, IMAGE } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()
const POLICY = { policy: { concurrency: '2', retryLimit: '0', reclaimPolicy: 'Delete', unreferencedTTL: '1s' } }

describe('a DataSync', () => {
  it('has an image made for each vm, says how far they are, heals when a url is corrected, and keeps them until it goes', async () => {
    await using world = await World.start(cluster(), POLICY)
    const dataSyncs = new DataSyncs(world)
    // Somebody else’s image has the name of one.
    const mine = await world.createImage('035-attacker')
    const release = world.gate.hold(world.urlOf('victim'))
    world.imageServer.set({ path: `/${world.namespace}/typo.qcow2`, fault: { status: 404 } })
    await dataSyncs.create('lab', ['attacker'])
    const conflict = await dataSyncs.untilStand('lab', 'Failed', 'NameConflict')
    expect(conflict.status?.message).toContain('035-attacker')
    expect(dataSyncs.referencesOf('035-attacker')).toEqual([])
    await world.deleteImage('035-attacker')
    await dataSyncs.untilSynced('lab')
    await world.untilImage('035-attacker', 'another image', ({ metadata }) => metadata.uid !== mine.metadata.uid)

    await dataSyncs.patch('lab', { spec: { vms: ['attacker', 'victim'].map((name) => dataSyncs.vm(name)) } })
    const half = await dataSyncs.until('lab', 'one of two images', ({ status }) => {
      return status?.ready === '1/2' && status.counts?.syncing === 1
    })
    expect(half.status).toMatchObject({ phase: 'Syncing', counts: { total: 2, succeeded: 1, syncing: 1 } })
    expect(conditionOf(half, 'Settled')?.status).toBe('False')
    release()
    const done = await dataSyncs.untilStand('lab', 'Succeeded', 'Synced')
    expect(done.status).toMatchObject({ progress: '100.0%', ready: '2/2' })
    expect(['Ready', 'Settled'].map((type) => conditionOf(done, type)?.status)).toEqual(['True', 'True'])

    const withAnother = (vm: object) => ({ spec: { vms: [dataSyncs.vm('attacker'), dataSyncs.vm('victim'), vm] } })
    await dataSyncs.patch('lab', withAnother(dataSyncs.vm('wrong', 'typo')))
    const failed = await dataSyncs.untilStand('lab', 'Failed', 'ImageFailed')
    expect(failed.status?.message).toContain('404')
    expect(conditionOf(failed, 'Settled')?.status).toBe('True')
    await dataSyncs.patch('lab', withAnother(dataSyncs.vm('wrong')))
    await dataSyncs.untilSynced('lab')
    expect([world.downloads('typo'), world.downloads('wrong'), world.downloads('victim')]).toEqual([1, 1, 1])

    await world.untilImage('035-victim', 'referenced', () => dataSyncs.referencesOf('035-victim').length === 1)
    expect(dataSyncs.referencesOf('035-victim')).toEqual([`DataSync/${world.namespace}/lab`])
    // A referenced image stays, even if a user deletes it.
    await world.deleteImage('035-victim')
    await world.untilImage(
      '035-victim',
      'a blocked deletion',
      (image) => conditionOf(image, 'DeletionBlocked') !== undefined,
    )
    await dataSyncs.delete('lab')
    for (const name of ['victim', 'attacker', 'wrong']) await world.untilGone(`035-${name}`)
    await world.finish()
  })

  it('shares an image with others that want the same, says who wants what where they do not, and is updated by a pipeline', async () => {
    await using world = await World.start(cluster(), POLICY)
    const dataSyncs = new DataSyncs(world)
    await dataSyncs.create('one', ['attacker'])
    await dataSyncs.create('two', ['attacker'])
    await dataSyncs.untilSynced('one', 'two')
    expect(world.downloads('attacker')).toBe(1)

    const vms = [dataSyncs.vm('attacker', 'newer')]
    await dataSyncs.patch('two', { spec: { vms } })
    const conflict = await dataSyncs.untilStand('two', 'Failed', 'NameConflict')
    expect(conflict.status?.message).toContain('DataSync one')
    expect(dataSyncs.get('one')?.status?.phase).toBe('Succeeded')
    await dataSyncs.patch('one', { spec: { vms } })
    await dataSyncs.untilSynced('one', 'two')
    expect([world.downloads('attacker'), world.downloads('newer')]).toEqual([1, 1])

    await dataSyncs.delete('one')
    await world.untilImage('035-attacker', 'one reference', () => dataSyncs.referencesOf('035-attacker').length === 1)
    await dataSyncs.delete('two')
    await world.untilGone('035-attacker')

    // A pipeline: a new version beside the old one, a vm added, a vm removed, a refresh asked for.
    await dataSyncs.create('lab', ['attacker'], { version: '1.0.0' })
    await dataSyncs.create('lab-next', ['attacker', 'victim'], { version: '1.1.0' })
    await dataSyncs.untilSynced('lab', 'lab-next')
    const { items } = await world.client.list(IMAGE, { namespace: world.namespace })
    expect(items.map(({ metadata: { name } }) => name).toSorted()).toEqual([
      '035-1.0.0-attacker',
      '035-1.1.0-attacker',
      '035-1.1.0-victim',
    ])
    await dataSyncs.patch('lab-next', { spec: { vms: [dataSyncs.vm('attacker'), dataSyncs.vm('router')] } })
    await world.untilGone('035-1.1.0-victim')
    await world.untilSynced('035-1.1.0-router')
    const before = (await world.untilSynced('035-1.0.0-attacker')).status?.artifact?.revision
    await dataSyncs.patch('lab', { metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } } })
    await world.untilImage(
      '035-1.0.0-attacker',
      'another artifact',
      ({ status }) => status?.artifact?.revision !== before,
    )
    await dataSyncs.untilSynced('lab')
    await dataSyncs.delete('lab', 'lab-next')
    await world.finish()
  })
})
