import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, NAMESPACE, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, IMAGE, type Image } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()

describe('a namespace that is deleted', () => {
  it('goes with the machines and images in it, whatever they are waiting for', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const doomed = `${world.namespace}-doomed`
    await world.createNamespace(doomed)
    const machines = new Machines(world, doomed)
    const imageOf = (name: string) => ({
      vmDiskImageRef: { name },
      vmDiskImageTemplate: world.image(name).spec as never,
    })
    await machines.create('ready', imageOf('done'))
    await machines.untilReady('ready')
    world.simulators.cdi.script({ namespace: doomed, name: 'cloning-root' }, { type: 'cloneStalls' })
    await machines.create('cloning', imageOf('done'))
    await machines.untilReason('cloning', 'Cloning')
    world.gate.hold(world.urlOf('held'))
    await machines.create('waiting', imageOf('held'))
    await machines.untilReason('waiting', 'ImageSyncing')
    await machines.create('failed', { ...imageOf('none'), vmDiskImageMode: 'FailIfNotExist' })
    await machines.untilReason('failed', 'ImageNotFound')

    await world.client.delete(NAMESPACE, { name: doomed })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(doomed) === undefined)
    await world.until('the slot is free', () => world.ledger?.holders.length === 0)
    await world.syncImage('next')
    await world.finish()
  })

  it('and held an image of machines elsewhere leaves them, each in a state that it tells', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const farm = `${world.namespace}-farm`
    await world.createNamespace(farm)
    const machines = new Machines(world)
    const imageOf = (name: string) => ({
      vmDiskImageRef: { name, namespace: farm },
      vmDiskImageTemplate: world.image(name).spec as never,
    })
    await machines.create('ready', imageOf('done'))
    await machines.untilReady('ready')
    const disk = machines.disk('ready')?.metadata.uid
    const go = world.simulators.cdi.script({ name: 'cloning-root' }, { type: 'cloneStalls' })
    await machines.create('cloning', imageOf('done'))
    await machines.untilReason('cloning', 'Cloning')
    const release = world.gate.hold(world.urlOf('held'))
    await machines.create('waiting', imageOf('held'))
    await machines.untilReason('waiting', 'ImageSyncing')

    await world.client.delete(NAMESPACE, { name: farm })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(farm) === undefined)
    for (const name of ['cloning', 'waiting']) {
      const { status } = await machines.until(
        name,
        'told that the namespace is gone',
        (machine) => conditionOf(machine, 'ImageReady')?.message?.includes('does not exist') === true,
      )
      expect(status).toMatchObject({ phase: 'Provisioning', message: expect.stringContaining(`namespace ${farm}`) })
    }
    const left = await machines.until(
      'ready',
      'told that the image is gone',
      (machine) => conditionOf(machine, 'ImageReady')?.reason === 'ImageMissing',
    )
    expect(left.status?.phase).toBe('Ready')
    expect(conditionOf(left, 'ImageReady')?.message).toContain('the disk is a copy of it, and stays')

    release()
    go()
    await world.createNamespace(farm)
    for (const name of ['cloning', 'waiting', 'ready']) await machines.untilReady(name)
    expect(machines.disk('ready')?.metadata.uid).toBe(disk)
    await machines.delete('ready', 'cloning', 'waiting')
    await world.finish()
  })

  it('and held machines leaves the image that they used, without references', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const team = `${world.namespace}-team`
    await world.createNamespace(team)
    const machines = new Machines(world, team)
    await machines.create('vm')
    await machines.untilReady('vm')
    await world.untilImage('golden', 'one reference', ({ status }) => status?.references?.count === 1)
    await world.deleteImage('golden')
    await world.untilImage('golden', 'blocked', isBlocked)
    await world.client.delete(NAMESPACE, { name: team })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(team) === undefined)
    await world.untilGone('golden')
    await world.finish()
  })
})

describe('an image that is deleted while it is used', () => {
  it.each(['Foreground', 'Orphan'] as const)('with propagationPolicy %s goes with its last user', async (policy) => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('vm')
    await machines.untilReady('vm')
    const disk = machines.disk('vm')?.metadata.uid
    await world.client.delete(IMAGE, keyOf(world), { propagationPolicy: policy })
    const blocked = await world.untilImage('golden', 'blocked', isBlocked)
    expect(conditionOf(blocked, 'DeletionBlocked')?.message).toContain('vm')
    await machines.untilAnotherRuns()
    expect(world.getImage('golden')).toBeDefined()
    expect(machines.get('vm')?.status?.phase).toBe('Ready')
    expect(machines.disk('vm')?.metadata).toMatchObject({ uid: disk })
    expect(machines.disk('vm')?.metadata.deletionTimestamp).toBeUndefined()
    await machines.delete('vm')
    await world.untilGone('golden')
    expect(await orphans(world)).toHaveLength(policy === 'Orphan' ? 3 : 0)
    await removeOrphans(world)
    await machines.delete('other')
    await world.finish()
  })

  it('with propagationPolicy Orphan leaves what has its names to the one who asked for it, and the next image says so', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('user')
    await machines.untilReady('user')
    await world.client.delete(IMAGE, keyOf(world), { propagationPolicy: 'Orphan' })
    await world.until('nothing is owned any more', () => world.childrenOf('golden').length === 0)
    await machines.delete('user')
    await world.untilGone('golden')
    const left = (await orphans(world)).map(uidOf)
    await machines.create('vm')
    await world.untilReason('golden', 'NameConflict')
    const { status } = await machines.until('vm', 'told', (machine) =>
      Boolean(machine.status?.message?.includes('belongs to somebody else')),
    )
    expect(status?.phase).not.toBe('Ready')
    expect((await orphans(world)).map(uidOf)).toEqual(left)
    await removeOrphans(world)
    await machines.untilReady('vm')
    await machines.delete('vm')
    await world.finish()
  })

  it.each(['Background', 'Foreground', 'Orphan'] as const)(
    'with propagationPolicy %s while a disk is cloned from it leaves the machine Ready, with this image or the next',
    async (policy) => {
      await using world = await World.start(cluster(), ONE_AT_A_TIME)
      const machines = new Machines(world)
      await world.syncImage('golden')
      const go = world.simulators.cdi.script({ name: 'vm-root' }, { type: 'cloneStalls' })
      await machines.create('vm')
      await machines.untilReason('vm', 'Cloning')
      const { uid } = await world.client.get(IMAGE, keyOf(world)).then(({ metadata }) => metadata)
      await world.client.delete(IMAGE, keyOf(world), { propagationPolicy: policy })
      await world.until('the image is held, or another', () => {
        const image = world.getImage('golden')
        return image === undefined || image.metadata.uid !== uid || isBlocked(image)
      })
      go()
      await machines.untilReady('vm')
      await machines.delete('vm')
      await world.until('the image that was deleted is gone', () => world.getImage('golden')?.metadata.uid !== uid)
      await removeOrphans(world)
      await world.finish()
    },
  )
})

describe('a machine that comes while its image is being deleted', () => {
  it('waits until it is gone, and has it created again from the template', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    await machines.create('first')
    await machines.untilReady('first')
    const { uid } = world.getImage('golden')?.metadata ?? {}
    await world.deleteImage('golden')
    await world.untilImage('golden', 'blocked', isBlocked)
    await machines.create('second')
    const waiting = await machines.untilReason('second', 'ImageTerminating')
    expect(waiting.status?.message).toContain('it is created again from the template once it is gone')
    expect(machines.disk('second')).toBeUndefined()
    await machines.delete('first')
    await machines.untilReady('second')
    await world.untilImage('golden', 'another image', ({ metadata }) => metadata.uid !== uid)
    expect(world.downloads('golden')).toBe(2)
    await machines.delete('second')
    await world.finish()
  })

  it('ends Ready with an image that stays, in whatever order they come', async () => {
    await using world = await World.start(cluster(), ONE_AT_A_TIME)
    const machines = new Machines(world)
    for (let round = 0; round < 4; round += 1) {
      await machines.create('first')
      await machines.untilReady('first')
      const { uid } = world.getImage('golden')?.metadata ?? {}
      await machines.delete('first')
      // The order alternates.
      const both = [() => world.deleteImage('golden'), () => machines.create('second')]
      await Promise.all((round % 2 === 0 ? both : both.toReversed()).map((act) => act()))
      await machines.untilReady('second')
      await world.untilImage('golden', 'held, or another', (image) =>
        image.metadata.uid === uid ? isBlocked(image) : image.metadata.deletionTimestamp === undefined,
      )
      await machines.delete('second')
      await world.until('the image that was deleted is gone', () => world.getImage('golden')?.metadata.uid !== uid)
    }
    await world.finish()
  })
})

function isBlocked(image: Image): boolean {
  return conditionOf(image, 'DeletionBlocked')?.status === 'True'
}

function keyOf({ namespace }: World) {
  return { namespace, name: 'golden' }
}

const ORPHANED: readonly ResourceType[] = [DATA_SOURCE, VOLUME_SNAPSHOT, DATA_VOLUME]

/** The objects that a deletion with `Orphan` leaves behind. */
async function orphans({ client, namespace }: World): Promise<KubeObject[]> {
  const lists = await Promise.all(ORPHANED.map((type) => client.list<KubeObject>(type, { namespace })))
  return lists.flatMap(({ items }) => items).filter(({ metadata }) => metadata.ownerReferences === undefined)
}

/** A user who orphans objects must also delete them. */
async function removeOrphans(world: World): Promise<void> {
  for (const { kind, metadata } of await orphans(world)) {
    const type = ORPHANED.find((one) => one.kind === kind)
    if (type !== undefined) await world.client.delete(type, metadata)
  }
}

function uidOf({ metadata }: KubeObject): string | undefined {
  return metadata.uid
}
