import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { served } from '../harness/history.ts'
import { conditionOf, type Image } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

/** A finalizer that keeps a deleted object, as protection does while a pod uses it. */
const IN_USE = 'scenario.example.com/in-use'

describe('a child that somebody takes the owner off', () => {
  it('the snapshot: is not ours any more, is never touched again, and stands in the way until somebody asks for a new download', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    await disown(world, VOLUME_SNAPSHOT, nameOf(image))
    await world.until('told', () => conditionOf(world.getImage('drifting'), 'Ready')?.reason === 'NameConflict')
    expect(world.getImage('drifting')?.status?.message).toContain(
      `VolumeSnapshot ${nameOf(image)} exists and belongs to somebody else`,
    )
    const kept = await world.until('the snapshot without an owner', () => {
      const snapshot = world.mirror.snapshots.get(key(world, image))
      return snapshot?.metadata.ownerReferences === undefined && snapshot
    })
    await world.annotate('drifting', { [ANNOTATIONS.syncRequestedAt]: '1' })
    await world.untilSynced('drifting')
    expect(nameOf(world.getImage('drifting') as Image)).not.toBe(nameOf(image))
    expect(world.mirror.snapshots.get(key(world, image))).toEqual(kept)
    await world.client.delete(VOLUME_SNAPSHOT, { namespace: world.namespace, name: nameOf(image) })
    await world.finish()
  })
})

describe('a child that somebody deletes', () => {
  it('the snapshot: is taken again from the volume, without a download', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    const before = await world.until('the snapshot', () => world.mirror.snapshots.get(key(world, image))?.metadata.uid)
    await remove(world, VOLUME_SNAPSHOT, nameOf(image))
    await world.until('another snapshot', () => {
      const snapshot = world.mirror.snapshots.get(key(world, image))
      return snapshot !== undefined && snapshot.metadata.uid !== before && snapshot.status?.readyToUse === true
    })
    await world.untilSynced('drifting')
    expect(world.downloads('drifting')).toBe(1)
    await world.finish()
  })

  it('the DataSource: is made again', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('drifting')
    const uid = () => world.mirror.dataSources.get(`${world.namespace}/drifting`)?.metadata.uid
    const before = await world.until('the DataSource', uid)
    await remove(world, DATA_SOURCE, 'drifting')
    await world.until('another DataSource', () => uid() !== undefined && uid() !== before)
    await world.finish()
  })

  it('the DataVolume, where there is a snapshot: nobody needs it', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    const [dataVolume] = world.childrenOf('drifting')
    await remove(world, DATA_VOLUME, dataVolume?.metadata.name ?? '')
    await world.until('the volume is gone', () => world.childrenOf('drifting').length === 0)
    await world.untilRenewed(3)
    const after = world.getImage('drifting')
    expect(after?.status?.phase).toBe('Succeeded')
    expect(after?.status?.artifact).toEqual(image.status?.artifact)
    expect(world.childrenOf('drifting')).toEqual([])
    expect(world.downloads('drifting')).toBe(1)
    await world.finish()
  })

  it('the claim of a finished DataVolume: the import that CDI begins again is stopped', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    world.gate.hold(world.urlOf('drifting'))
    const [dataVolume] = world.childrenOf('drifting')
    await remove(world, PERSISTENT_VOLUME_CLAIM, dataVolume?.metadata.name ?? '')
    await world.until('the DataVolume is gone', () => world.childrenOf('drifting').length === 0)
    await world.until('no importer is left', () => world.simulators.cdi.observed.importing === 0)
    await world.untilRenewed(2)
    const after = world.getImage('drifting')
    expect(after?.status?.artifact).toEqual(image.status?.artifact)
    expect(conditionOf(after, 'Ready')?.status).toBe('True')
    expect(served(world, 'drifting')).toMatchObject({ completed: 1, bytesSent: 128 * 1024 })
    await world.finish({ isOrderChecked: false })
  })

  it('the claim that is the artifact, alone: CDI is stopped, and the image queues for its turn', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    await world.syncImage('drifting', { snapshotClass: undefined })
    const release = await heldDownload(world, 'running')
    const [before] = world.childrenOf('drifting')
    world.mostDownloads = 2
    // Otherwise the second import may end before the operator can stop it.
    const releaseAgain = world.gate.hold(world.urlOf('drifting'))
    await remove(world, PERSISTENT_VOLUME_CLAIM, before?.metadata.name ?? '')
    await world.until('the DataVolume is gone', () => world.childrenOf('drifting').length === 0)
    const queued = await world.untilReason('drifting', 'Queued')
    releaseAgain()
    expect(conditionOf(queued, 'Ready')?.status).toBe('False')
    expect(world.holds('drifting')).toBe(false)
    release()
    await world.untilSynced('drifting')
    expect(served(world, 'drifting').completed).toBe(2)
    await world.finish({ isOrderChecked: false })
  })

  it('the claim that is the artifact: the image queues again', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('drifting', { snapshotClass: undefined })
    const [before] = world.childrenOf('drifting')
    await remove(world, DATA_VOLUME, before?.metadata.name ?? '')
    await world.until('another DataVolume that succeeded', () => {
      const [after] = world.childrenOf('drifting')
      return after !== undefined && after.metadata.uid !== before?.metadata.uid && after.status?.phase === 'Succeeded'
    })
    const image = await world.untilSynced('drifting')
    expect(image.status?.artifact?.kind).toBe('PersistentVolumeClaim')
    expect(world.downloads('drifting')).toBe(2)
    await world.finish()
  })

  it('the claim that is the artifact, while it is in use: said once, nothing is published, and it comes again', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting', { snapshotClass: undefined })
    const claim = { namespace: world.namespace, name: nameOf(image) }
    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { finalizers: [IN_USE] } })
    await remove(world, PERSISTENT_VOLUME_CLAIM, claim.name)
    const lost = await world.untilImage(
      'drifting',
      'that nothing serves',
      (one) => conditionOf(one, 'Ready')?.status === 'False',
    )
    expect(lost.status?.artifact).toBeUndefined()
    await world.untilQuiet()
    const writes = world.operator?.writes.length ?? 0
    await world.untilRenewed(8)
    expect(world.operator?.writes.slice(writes), 'writes while the claim is held').toEqual([])
    expect(world.getImage('drifting')?.status?.artifact).toBeUndefined()

    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { finalizers: null } })
    const again = await world.untilSynced('drifting')
    expect(conditionOf(again, 'Ready')?.status).toBe('True')
    await world.finish({ isOrderChecked: false })
  })

  it('only the label of the claim that is the artifact: it serves on, and nothing is written', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('drifting', { snapshotClass: undefined })
    await world.untilQuiet()
    const image = await world.untilSynced('drifting')
    const writes = world.operator?.writes.length ?? 0
    const claim = { namespace: world.namespace, name: nameOf(image) }
    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { labels: { [LABELS.imageUid]: null } } })
    await world.untilRenewed(8)
    expect(world.operator?.writes.slice(writes), 'writes after the label went').toEqual([])
    const after = world.getImage('drifting')
    expect(after?.status).toEqual(image.status)
    expect(world.downloads('drifting')).toBe(1)
    await world.finish()
  })

  it('snapshot and volume: the image queues again', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    await world.operator?.stop()
    await remove(world, VOLUME_SNAPSHOT, nameOf(image))
    await remove(world, DATA_VOLUME, world.childrenOf('drifting')[0]?.metadata.name ?? '')
    world.startOperator()
    await world.untilImage('drifting', 'a second download', ({ status }) => status?.attempts?.length === 2)
    await world.untilSynced('drifting')
    expect(world.downloads('drifting')).toBe(2)
    await world.finish()
  })
})

describe('what is not kept', () => {
  it('the source volume goes once the snapshot serves', async () => {
    await using world = await World.start(cluster(), { policy: { keepSourceVolume: 'false' } })
    const image = await world.syncImage('drifting')
    await world.until('the volume is gone', () => world.childrenOf('drifting').length === 0)
    await world.until('its claim is gone', () =>
      [...world.mirror.claims.values()].every(({ metadata }) => metadata.namespace !== world.namespace),
    )
    expect(world.getImage('drifting')?.status?.artifact).toEqual(image.status?.artifact)
    await world.until('the snapshot serves', () => world.mirror.snapshots.get(key(world, image))?.status?.readyToUse)
    await world.untilRenewed(2)
    expect(world.downloads('drifting')).toBe(1)
    await world.finish()
  })

  it('an unreferenced image goes after its time, if that is what its spec says', async () => {
    await using world = await World.start(cluster())
    const spec = { reclaimPolicy: 'Delete', unreferencedTTL: '1s' } as const
    await world.createImage('short-lived', spec)
    await world.createImage('retained', { reclaimPolicy: 'Retain', unreferencedTTL: '1s' })
    await world.createImage('preloaded', { reclaimPolicy: 'Delete', unreferencedTTL: '0s' })
    await world.until('it went', () => {
      const wasThere = world.history.events.some(({ object }) => object.metadata.name === 'short-lived')
      return wasThere && world.getImage('short-lived') === undefined
    })
    expect(world.downloads('short-lived')).toBe(1)
    await world.untilRenewed(5)
    for (const name of ['retained', 'preloaded']) {
      const image = await world.untilSynced(name)
      expect(conditionOf(image, 'Unreferenced')?.status).toBe('True')
      expect(image.status?.unreferencedSince).toEqual(expect.any(String))
    }
    await world.finish()
  })
})

function nameOf(image: Image): string {
  return image.status?.artifact?.name ?? ''
}

function key(world: World, image: Image): string {
  return `${world.namespace}/${nameOf(image)}`
}

async function disown(world: World, type: ResourceType, name: string): Promise<void> {
  await world.client.mergePatch(type, { namespace: world.namespace, name }, { metadata: { ownerReferences: null } })
}

async function remove(world: World, type: ResourceType, name: string): Promise<void> {
  await world.client.delete(type, { namespace: world.namespace, name })
}
