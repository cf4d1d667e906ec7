import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, NAMESPACE, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import { IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { conditionOf, MACHINE } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { HOUR_LONG } from '../../prepared/sandbox/simulated-cluster.ts'
import { FARM, SimulatedOperator, TEAM, TEMPLATE } from '../simulated-operator.ts'

let world: SimulatedOperator

const isBlocked = () => conditionOf(world.image('golden'), 'DeletionBlocked')?.status === 'True'
const imageUid = () => world.image('golden')?.metadata.uid
const diskUid = () => world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid
const deleteImage = (propagationPolicy: 'Background' | 'Foreground' | 'Orphan') =>
  world.simulated.cluster.admin.delete(IMAGE, { namespace: FARM, name: 'golden' }, { propagationPolicy })
const removeMachine = async (name: string) => {
  world.delete(MACHINE, TEAM, name)
  await world.until(`the end of ${name}`, () => world.vm(name) === undefined)
}

const OWNED: readonly ResourceType[] = [DATA_SOURCE, VOLUME_SNAPSHOT, DATA_VOLUME]
/** What an image that was deleted with `Orphan` leaves behind. */
const orphans = (): KubeObject[] =>
  OWNED.flatMap((type) => world.simulated.cluster.admin.list(type, { namespace: FARM }).items).filter(
    ({ metadata }) => metadata.ownerReferences === undefined,
  )
const uidsOf = (objects: readonly KubeObject[]) => objects.map(({ metadata }) => metadata.uid)
/** Who orphans objects must also delete them. */
function removeOrphans(): void {
  for (const { kind, metadata } of orphans()) {
    const type = OWNED.find((one) => one.kind === kind)
    if (type !== undefined) world.delete(type, FARM, metadata.name)
  }
}

describe('a namespace that is deleted', () => {
  const isGone = (name: string) => () =>
    world.simulated.cluster.admin.list(NAMESPACE).items.every(({ metadata }) => metadata.name !== name)

  it('and held an image of machines elsewhere leaves them, each in a state that it tells', async () => {
    world = await SimulatedOperator.running({ concurrency: '1' })
    const disk = diskUid()
    const root = { namespace: TEAM, name: 'cloning-root' }
    const go = world.simulated.simulators.cdi.script(root, { type: 'cloneStalls' })
    world.create('cloning')
    await world.untilReason('cloning', 'Cloning')
    const url = `https://images.example.com${HOUR_LONG}held.qcow2`
    const held = { vmDiskImageRef: { name: 'held', namespace: FARM }, vmDiskImageTemplate: { ...TEMPLATE, url } }
    world.create('waiting', held)
    await world.untilReason('waiting', 'ImageSyncing')

    world.simulated.cluster.admin.delete(NAMESPACE, { name: FARM })
    await world.until('the end of the namespace', isGone(FARM))
    await world.pass(MINUTE)
    for (const name of ['cloning', 'waiting']) {
      expect(conditionOf(world.vm(name), 'ImageReady')?.message).toContain('does not exist')
      expect(world.vm(name)?.status).toMatchObject({
        phase: 'Provisioning',
        message: expect.stringContaining(`namespace ${FARM}`),
      })
    }
    expect(world.vm('vm')?.status?.phase).toBe('Ready')
    expect(world.toldBy('vm', 'ImageReady')).toMatch(/ImageMissing: .*the disk is a copy of it, and stays/)

    go()
    world.patch(MACHINE, { namespace: TEAM, name: 'waiting' }, { spec: { vmDiskImageTemplate: TEMPLATE } })
    world.simulated.create(NAMESPACE, { name: FARM })
    for (const name of ['cloning', 'waiting', 'vm']) await world.untilReason(name, 'Running')
    expect(diskUid()).toBe(disk)
  })

  it('and held machines leaves the image that they used, without references', async () => {
    world = await SimulatedOperator.running()
    await world.until('a reference', () => world.image('golden')?.status?.references?.count === 1)
    deleteImage('Background')
    await world.until('a blocked deletion', isBlocked)
    world.simulated.cluster.admin.delete(NAMESPACE, { name: TEAM })
    await world.until('the end of the namespace', isGone(TEAM))
    await world.until('the end of the image', () => world.image('golden') === undefined)
  })
})

describe('an image that is deleted while it is used', () => {
  it.each(['Foreground', 'Orphan'] as const)('with propagationPolicy %s goes with its last user', async (policy) => {
    world = await SimulatedOperator.running()
    const disk = diskUid()
    deleteImage(policy)
    await world.until('a blocked deletion', isBlocked)
    expect(conditionOf(world.image('golden'), 'DeletionBlocked')?.message).toContain('vm')
    await world.pass(10 * MINUTE)
    expect([isBlocked(), world.vm('vm')?.status?.phase, diskUid()]).toEqual([true, 'Ready', disk])
    expect(world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.deletionTimestamp).toBeUndefined()
    await removeMachine('vm')
    await world.until('the end of the image', () => world.image('golden') === undefined)
    await world.pass(MINUTE)
    expect(orphans()).toHaveLength(policy === 'Orphan' ? 3 : 0)
  })

  it('with propagationPolicy Orphan leaves what has its names to the one who asked for it, and the next image says so', async () => {
    world = await SimulatedOperator.running()
    deleteImage('Orphan')
    await world.until('orphans', () => orphans().length === 3)
    await removeMachine('vm')
    await world.until('the end of the image', () => world.image('golden') === undefined)
    const left = uidsOf(orphans())
    world.create('vm')
    await world.until('a conflict', () => conditionOf(world.image('golden'), 'Ready')?.reason === 'NameConflict')
    await world.pass(MINUTE)
    expect(world.vm('vm')?.status).toMatchObject({
      phase: expect.not.stringMatching('Ready'),
      message: expect.stringContaining('belongs to somebody else'),
    })
    expect(uidsOf(orphans())).toEqual(left)
    removeOrphans()
    await world.untilReady('vm')
  })

  it.each(['Background', 'Foreground', 'Orphan'] as const)(
    'with propagationPolicy %s while a disk is cloned from it leaves the machine Ready, with this image or the next',
    async (policy) => {
      world = await SimulatedOperator.start()
      await world.syncImage('golden')
      const go = world.simulated.simulators.cdi.script({ namespace: TEAM, name: 'vm-root' }, { type: 'cloneStalls' })
      world.create('vm')
      await world.untilReason('vm', 'Cloning')
      const uid = imageUid()
      deleteImage(policy)
      await world.until('a blocked deletion, or another image', () => isBlocked() || imageUid() !== uid)
      go()
      await world.untilReady('vm')
      await removeMachine('vm')
      await world.until('the end of the image', () => imageUid() !== uid)
    },
  )
})

describe('a machine that comes while its image is being deleted', () => {
  it('waits until it is gone, and has it created again from the template', async () => {
    world = await SimulatedOperator.running()
    const uid = imageUid()
    deleteImage('Background')
    await world.until('a blocked deletion', isBlocked)
    world.create('second')
    await world.untilReason('second', 'ImageTerminating')
    await world.pass(10 * MINUTE)
    expect(world.vm('second')?.status?.message).toContain('it is created again from the template once it is gone')
    expect(world.find(DATA_VOLUME, TEAM, 'second-root')).toBeUndefined()
    await removeMachine('vm')
    await world.untilReady('second')
    expect([undefined, uid]).not.toContain(imageUid())
    expect(world.simulated.simulators.cdi.observed.image(TEMPLATE.url).attempts).toBe(2)
  })

  it.each([0, 2, 20])('%i ms later or earlier, ends Ready with an image that stays', async (ms) => {
    for (const isDeletedFirst of [true, false]) {
      world = await SimulatedOperator.start()
      await world.syncImage('golden')
      const uid = imageUid()
      const both = [() => deleteImage('Background'), () => world.create('vm')]
      const [first, second] = isDeletedFirst ? both : both.toReversed()
      first?.()
      await world.pass(ms)
      second?.()
      await world.untilReady('vm')
      await world.pass(MINUTE)
      expect(imageUid() === uid ? isBlocked() : world.image('golden')?.metadata.deletionTimestamp === undefined).toBe(
        true,
      )
      await removeMachine('vm')
      await world.until('the end of the image', () => imageUid() !== uid)
      world.stop()
    }
  })
})
