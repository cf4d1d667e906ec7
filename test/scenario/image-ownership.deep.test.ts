import { ANNOTATIONS, type VMDiskImageSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()
const NAME = '035-attacker'
const ref = { name: NAME }

describe('somebody who may write DataSyncs, but no images', () => {
  it('changes no image that a DataSync of others had created, also when that one is gone', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const dataSyncs = new DataSyncs(world)
    const machines = new Machines(world)
    await dataSyncs.create('release', ['attacker'])
    await dataSyncs.untilSynced('release')
    await machines.create('lab', { vmDiskImageRef: ref, vmDiskImageTemplate: undefined as never })
    await machines.untilReady('lab')
    await dataSyncs.create('later', ['attacker'])
    await dataSyncs.untilSynced('later')
    await dataSyncs.delete('release')
    const before = world.getImage(NAME)
    await dataSyncs.patch('later', { spec: { vms: [dataSyncs.vm('attacker', 'evil')] } })
    const { status } = await dataSyncs.untilStand('later', 'Failed', 'NameConflict')
    expect(status?.images?.[0]?.message).toContain(
      `differs in url, and is not changed, as DataSync ${world.namespace}/release had it created`,
    )
    await dataSyncs.patch('later', {
      metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: 'now' } },
      spec: { vms: [dataSyncs.vm('attacker')] },
    })
    await dataSyncs.until(
      'later',
      'told about its request',
      (one) => one.status?.message?.includes('does not get the request') === true,
    )
    expect(world.getImage(NAME)).toMatchObject({
      spec: before?.spec,
      metadata: { generation: before?.metadata.generation },
    })
    expect([world.downloads('attacker'), world.downloads('evil')]).toEqual([1, 0])

    // Who may write images can hand it over.
    const mark = `DataSync/${world.namespace}/later/${dataSyncs.get('later')?.metadata.uid}`
    await world.patchImage(NAME, { metadata: { annotations: { [ANNOTATIONS.creator]: mark } } })
    await dataSyncs.untilSynced('later')
    expect(world.downloads('attacker')).toBe(2)
    await machines.delete('lab')
    await dataSyncs.delete('later')
    await world.finish()
  })
})

describe('somebody who takes the name of an image of a release', () => {
  it('is named to the release, and is what a lab that gets another disk than it asked for says first', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const dataSyncs = new DataSyncs(world)
    const machines = new Machines(world)
    const right = world.image('attacker').spec as VMDiskImageSpecInput
    const evil = { ...right, url: world.urlOf('evil') }
    await machines.create('squatter', { vmDiskImageRef: ref, vmDiskImageTemplate: evil, ignoreOnDeploy: true })
    await world.untilSynced(NAME)
    const who = `VirtualMachine ${world.namespace}/squatter had it created`
    await dataSyncs.create('release', ['attacker'])
    const { status } = await dataSyncs.untilStand('release', 'Failed', 'NameConflict')
    expect(status?.images?.[0]?.message).toContain(`differs in url, and is not changed, as ${who}`)
    expect(dataSyncs.referencesOf(NAME)).not.toContain(`DataSync/${world.namespace}/release`)

    await machines.create('honest', { vmDiskImageRef: ref, vmDiskImageTemplate: right })
    const told = await machines.until('honest', 'on a wrong disk', (one) => one.status?.reason === 'ImageMismatch')
    expect(told.status).toMatchObject({
      phase: 'Ready',
      message: expect.stringMatching(new RegExp(`^the image differs from the template in url, and ${who}`)),
    })

    // The remedy of the release helps: its DataSync, or the template of the honest machine, makes the image, and both are content.
    await machines.delete('squatter', 'honest')
    await world.deleteImage(NAME)
    await dataSyncs.untilSynced('release')
    await machines.create('honest', { vmDiskImageRef: ref, vmDiskImageTemplate: right })
    expect((await machines.untilReady('honest')).status?.reason).toBe('Running')
    expect(world.downloads('attacker')).toBe(1)
    await machines.delete('honest')
    await dataSyncs.delete('release')
    await world.finish()
  })
})
