import { diskClaimName } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import { conditionOf, IMAGE, MACHINE } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { FARM, SimulatedOperator, TEAM } from '../simulated-operator.ts'

const TOOLS = diskClaimName('vm', 'tools', 'tools')
const ISO = diskClaimName('vm', 'iso', 'installer')
const disks = [
  { name: 'tools', vmDiskImageRef: { name: 'tools', namespace: FARM } },
  { name: 'iso', vmDiskImageRef: { name: 'installer', namespace: FARM }, readOnly: true },
]
const volumesOf = (world: SimulatedOperator) => {
  const { spec } = world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm') as unknown as {
    spec: { template: { spec: { volumes: { persistentVolumeClaim?: { claimName: string } }[] } } }
  }
  return spec.template.spec.volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])
}

describe.each([
  ['on storage that binds at once', 'fast'],
  ['on storage that waits for the pod of the machine', 'late'],
])('a machine with disks of two images, %s', (_what, storageClass) => {
  it('waits for both, runs from their clones, and keeps them from being deleted', async () => {
    const world = await SimulatedOperator.start()
    world.create('vm', { disks, vmDiskImageTemplate: undefined })
    world.createImage('golden', { storageClass })
    await world.until('golden', () => world.image('golden')?.status?.phase === 'Succeeded')
    await world.untilReason('vm', 'ImageNotFound')
    expect(world.vm('vm')?.status?.message).toMatch(/farm\/tools does not exist.*farm\/installer does not exist/)
    world.createImage('tools', { storageClass, suspend: true })
    world.createImage('installer', { storageClass })
    await world.untilReason('vm', 'WaitingForImage')
    await world.pass(20 * MINUTE)
    expect(world.written.filter((line) => line.includes(`${TEAM}/vm-`))).toEqual([])
    world.patch(IMAGE, { namespace: FARM, name: 'tools' }, { spec: { suspend: false } })
    await world.untilReady('vm')
    expect(volumesOf(world)).toEqual([TOOLS, ISO])
    expect(world.image('tools')?.status?.references?.names).toEqual([`VirtualMachine/${TEAM}/vm`])
    world.delete(IMAGE, FARM, 'tools')
    await world.until('a blocked deletion', () => {
      return conditionOf(world.image('tools'), 'DeletionBlocked')?.message?.includes(`${TEAM}/vm`) === true
    })
    await world.pass(10 * MINUTE)
    expect([world.reason('vm'), world.image('tools') === undefined]).toEqual(['Running', false])
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end', () => world.image('tools') === undefined && world.leftIn(TEAM).length === 0)
    await world.pass(MINUTE)
    const claims = world.simulated.cluster.admin.list(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM }).items
    expect(claims.map(({ metadata }) => metadata.name)).toEqual([])
  })
})

describe('a machine with disks of images that runs', () => {
  const start = async () => {
    const world = await SimulatedOperator.start()
    for (const name of ['golden', 'tools', 'installer']) await world.syncImage(name)
    world.create('vm', { disks })
    await world.untilReady('vm')
    return world
  }

  it('rests, and its drives come back when somebody takes them out', async () => {
    const world = await start()
    const before = world.written.length
    await world.pass(20 * MINUTE)
    expect(world.written.slice(before)).toEqual([])
    const at = { namespace: TEAM, name: 'vm' }
    const template = { spec: { domain: { devices: { disks: [] } }, volumes: [] } }
    world.patch(KUBEVIRT_VIRTUAL_MACHINE, at, { spec: { template } })
    await world.until('its disks', () => volumesOf(world).includes(ISO))
    expect(volumesOf(world)).toEqual([TOOLS, ISO])
  })

  it.each([
    ['its DataVolume', DATA_VOLUME],
    ['its claim', PERSISTENT_VOLUME_CLAIM],
  ])('gets a lost disk again only on request, when somebody deletes %s', async (_what, type) => {
    const world = await start()
    const made = () => world.written.filter((line) => line === `ADDED DataVolume ${TEAM}/${TOOLS}`).length
    world.delete(type, TEAM, TOOLS)
    await world.untilReason('vm', 'DiskBeingDeleted')
    world.delete(VIRTUAL_MACHINE_INSTANCE, TEAM, 'vm')
    await world.untilReason('vm', 'DiskLost')
    await world.pass(20 * MINUTE)
    expect([world.reason('vm'), world.find(PERSISTENT_VOLUME_CLAIM, TEAM, TOOLS), made()]).toEqual([
      'DiskLost',
      undefined,
      1,
    ])
    const annotations = { 'pelotech.ot/rebuild-requested-at': 'now' }
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { metadata: { annotations } })
    await world.untilReady('vm')
    expect([made(), world.written.filter((line) => line === `ADDED DataVolume ${TEAM}/vm-root`).length]).toEqual([2, 1])
  })
})
