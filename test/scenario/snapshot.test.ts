import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import type { Image } from '../harness/kinds.ts'
import { SNAPSHOTS, World } from '../harness/world.ts'

const cluster = useCluster()

describe('a snapshot that goes wrong', () => {
  it('holds no slot and costs no download: an error of its driver passes', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const recover = world.simulators.snapshotter.script(
      { namespace: world.namespace },
      { type: 'error', message: 'the array is busy' },
    )
    await world.createImage('slow')
    const { status } = await world.untilImage(
      'slow',
      'the error of the driver',
      (image) => image.status?.phase === 'Snapshotting' && image.status.message?.includes('the array is busy') === true,
    )
    expect(status?.artifact).toBeUndefined()
    await world.until('the slot is free', () => !world.holds('slow'))
    await world.syncImage('plain', { snapshotClass: undefined })
    recover()
    await world.untilSynced('slow')
    expect(world.downloads('slow')).toBe(1)
    await world.finish()
  })

  it('is taken again after snapshotTimeout, without a download', async () => {
    await using world = await World.start(cluster(), { policy: { snapshotTimeout: '1500ms' } })
    const recover = world.simulators.snapshotter.script({ namespace: world.namespace }, { type: 'neverReady' })
    await world.createImage('stuck')
    const first = await world.until('a snapshot', () => snapshotOf(world)?.metadata.uid)
    await world.until('another snapshot', () => {
      const uid = snapshotOf(world)?.metadata.uid
      return uid !== undefined && uid !== first
    })
    await world.untilEvent('stuck', { type: 'Warning', reason: 'SnapshotFailed' })
    recover()
    await world.untilSynced('stuck')
    expect(world.downloads('stuck')).toBe(1)
    await world.finish()
  })
})

describe('a snapshotClass that is added to an image whose claim is the artifact', () => {
  it('moves the alias to the snapshot alone, without a download', async () => {
    await using world = await World.start(cluster())
    const before = await world.syncImage('plain', { snapshotClass: undefined })
    expect(before.status?.artifact?.kind).toBe('PersistentVolumeClaim')
    expect(Object.keys(await world.sourceOf('plain'))).toEqual(['pvc'])

    await world.patchImage('plain', { spec: { snapshotClass: SNAPSHOTS } })
    const isSnapshot = ({ status }: Image) => status?.artifact?.kind === 'VolumeSnapshot'
    await world.untilImage('plain', 'a snapshot for an artifact', isSnapshot)
    const { status } = await world.untilSynced('plain')
    const name = status?.artifact?.name
    expect(await world.sourceOf('plain')).toEqual({ snapshot: { namespace: world.namespace, name } })
    expect(world.downloads('plain')).toBe(1)
    await world.finish()
  })
})

function snapshotOf(world: World) {
  return [...world.mirror.snapshots.values()].find(({ metadata }) => metadata.namespace === world.namespace)
}
