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
import { conditionOf, type Image } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

/** A finalizer that keeps a deleted object, as protection does while a pod uses it. */
const IN_USE = 'scenario.example.com/in-use'

describe('the children of an image that somebody deletes, or takes the owner off', () => {
  it('are made again from what is left, with a download only where nothing is, and one that is not ours any more is never touched', async () => {
    await using world = await World.start(cluster())
    const image = await world.syncImage('drifting')
    const snapshot = () => world.mirror.snapshots.get(key(world, image))
    const before = await world.until('the snapshot', () => snapshot()?.metadata.uid)
    await remove(world, VOLUME_SNAPSHOT, nameOf(image))
    await world.until('another snapshot, of the same volume', () => {
      const { metadata, status } = snapshot() ?? {}
      return metadata !== undefined && metadata.uid !== before && status?.readyToUse === true
    })
    await world.untilSynced('drifting')

    const alias = () => world.mirror.dataSources.get(`${world.namespace}/drifting`)?.metadata.uid
    const aliasBefore = await world.until('the DataSource', alias)
    await remove(world, DATA_SOURCE, 'drifting')
    await world.until('another DataSource', () => alias() !== undefined && alias() !== aliasBefore)

    // Nobody needs the volume beside a snapshot.
    const { status } = await world.untilSynced('drifting')
    await remove(world, DATA_VOLUME, world.childrenOf('drifting')[0]?.metadata.name ?? '')
    await world.until('the volume is gone', () => world.childrenOf('drifting').length === 0)
    await world.untilRenewed(2)
    expect(world.getImage('drifting')?.status).toMatchObject({ phase: 'Succeeded', artifact: status?.artifact })
    expect(world.childrenOf('drifting')).toEqual([])
    expect(world.downloads('drifting')).toBe(1)
    await remove(world, VOLUME_SNAPSHOT, nameOf(image))
    await world.untilImage('drifting', 'a second download', ({ status }) => status?.attempts?.length === 2)
    await world.untilSynced('drifting')
    expect(world.downloads('drifting')).toBe(2)

    await world.client.mergePatch(
      VOLUME_SNAPSHOT,
      { namespace: world.namespace, name: nameOf(image) },
      { metadata: { ownerReferences: null } },
    )
    const told = await world.untilReason('drifting', 'NameConflict')
    expect(told.status?.message).toContain(`VolumeSnapshot ${nameOf(image)} exists and belongs to somebody else`)
    const kept = await world.until('the snapshot without an owner', () => {
      const one = snapshot()
      return one?.metadata.ownerReferences === undefined && one
    })
    await world.annotate('drifting', { [ANNOTATIONS.syncRequestedAt]: '1' })
    expect(nameOf(await world.untilSynced('drifting'))).not.toBe(nameOf(image))
    expect(snapshot()).toEqual(kept)
    await remove(world, VOLUME_SNAPSHOT, nameOf(image))
    await world.finish()
  })

  it('where a claim is the artifact: without its label it serves on, and deleted while it is in use it is not published until it comes again', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('drifting', { snapshotClass: undefined })
    await world.untilQuiet()
    const image = await world.untilSynced('drifting')
    const claim = { namespace: world.namespace, name: nameOf(image) }
    const writesWhile = async (what: string) => {
      const writes = world.operator?.writes.length ?? 0
      await world.untilRenewed(2)
      expect(world.operator?.writes.slice(writes), `writes while ${what}`).toEqual([])
    }
    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { labels: { [LABELS.imageUid]: null } } })
    await writesWhile('the label is off')
    expect(world.getImage('drifting')?.status).toEqual(image.status)
    expect(world.downloads('drifting')).toBe(1)

    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { finalizers: [IN_USE] } })
    await remove(world, PERSISTENT_VOLUME_CLAIM, claim.name)
    const lost = await world.untilImage(
      'drifting',
      'that nothing serves',
      (one) => conditionOf(one, 'Ready')?.status === 'False',
    )
    expect(lost.status?.artifact).toBeUndefined()
    await world.untilQuiet()
    await writesWhile('the claim is held')
    expect(world.getImage('drifting')?.status?.artifact).toBeUndefined()

    await world.client.mergePatch(PERSISTENT_VOLUME_CLAIM, claim, { metadata: { finalizers: null } })
    const again = await world.untilSynced('drifting')
    expect(conditionOf(again, 'Ready')?.status).toBe('True')
    await world.finish({ isOrderChecked: false })
  })
})

function nameOf(image: Image): string {
  return image.status?.artifact?.name ?? ''
}

function key(world: World, image: Image): string {
  return `${world.namespace}/${nameOf(image)}`
}

async function remove(world: World, type: ResourceType, name: string): Promise<void> {
  await world.client.delete(type, { namespace: world.namespace, name })
}
