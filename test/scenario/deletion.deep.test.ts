import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { IMAGE } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

describe('the deletion of an image', () => {
  const cluster = useCluster()

  it('while queued takes it out of the queue', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = world.gate.hold(world.urlOf('running'))
    for (const name of ['running', 'doomed', 'next']) await world.createImage(name)
    await world.untilDownloading('running')
    await world.untilReason('next', 'Queued')
    await world.deleteImage('doomed')
    await world.untilGone('doomed')
    release()
    await world.untilSynced('next')
    expect(world.downloads('doomed')).toBe(0)
    await world.finish()
  })

  it('while syncing frees the slot only when the importer is gone', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'slowEnd', delayMs: 1_500, downloading: true })
    await heldDownload(world, 'doomed')
    await world.queueImage('next')
    await world.deleteImage('doomed')
    // The next image gets a slot only when no importer pod of the first one is left.
    await world.until('the next image has the slot', () => {
      const isNext = world.holds('next')
      const pods = [...world.mirror.pods.values()].filter(
        ({ metadata }) => metadata.labels?.['pelotech.ot/image'] === 'doomed',
      )
      if (isNext && world.simulators.cdi.observed.importing > 1) throw new Error('two downloads at once')
      return isNext && pods.length === 0
    })
    await world.untilGone('doomed')
    await world.untilSynced('next')
    expect(world.downloads('doomed')).toBe(1)
    await world.finish()
  })

  it('while in backoff, or after success, removes all children', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    world.imageServer.set({ path: `/${world.namespace}/failing.qcow2`, fault: { status: 500 } })
    await world.createImage('failing')
    await world.syncImage('done')
    await world.untilReason('failing', 'RetryBackoff')
    for (const name of ['failing', 'done']) await world.deleteImage(name)
    for (const name of ['failing', 'done']) await world.untilGone(name)
    await world.finish()
  })

  it('and a new one of the same name are two different images', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    await heldDownload(world, 'again')
    const before = world.getImage('again')?.metadata.uid
    await world.deleteImage('again')
    await world.untilGone('again')
    world.gate.releaseAll()
    const after = await world.syncImage('again')
    expect(after.metadata.uid).not.toBe(before)
    await world.finish()
  })

  it('while no operator runs is done by the next one', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    await world.syncImage('done')
    await heldDownload(world, 'running')
    await world.operator?.stop()
    for (const name of ['running', 'done']) await world.deleteImage(name)
    world.startOperator()
    for (const name of ['running', 'done']) await world.untilGone(name)
    await world.syncImage('next')
    await world.finish()
  })

  it('with --cascade=orphan leaves what was made for it, without an owner', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('done')
    const children = await world.until('three children', () => {
      const all = childrenOf(world, 'done')
      return all.length === 3 && all
    })
    const made = children.map(({ metadata }) => metadata.uid)
    await world.client.delete(IMAGE, keyOf(world, 'done'), { propagationPolicy: 'Orphan' })
    await world.untilGone('done')
    const left = await world.until('no owner is left', () => {
      const all = childrenOf(world, 'done')
      return all.every(({ metadata }) => metadata.ownerReferences === undefined) && all
    })
    expect(left.map(({ metadata }) => metadata.uid)).toEqual(made)
    for (const { metadata } of left) expect(metadata.deletionTimestamp).toBeUndefined()
    await remove(world, left)
    await world.finish()
  })

  it('with --cascade=orphan, before an operator could stop its download, keeps the slot until that is over', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'doomed')
    await world.queueImage('next')
    await world.operator?.stop()
    const [download] = world.childrenOf('doomed')
    await world.client.delete(IMAGE, keyOf(world, 'doomed'), { propagationPolicy: 'Orphan' })
    await world.until('it has no owner any more', () => world.childrenOf('doomed').length === 0)
    world.startOperator()
    const { status } = await world.untilReason('doomed', 'Deleting')
    expect(status?.message).toContain(`DataVolume ${download?.metadata.name}, which has lost its owner`)
    release()
    await world.untilSynced('next')
    await world.untilGone('doomed')
    const left = childrenOf(world, 'doomed')
    expect(left.map(({ metadata }) => metadata.uid)).toEqual([download?.metadata.uid])
    expect(world.downloads('doomed')).toBe(1)
    await remove(world, left)
    await world.finish()
  })

  it('of its DataVolume alone, with --cascade=orphan, costs others its slot for no longer than an attempt may take', async () => {
    const policy = { concurrency: '1', retryBackoffDuration: '10ms' }
    await using world = await World.start(cluster(), { policy })
    const release = await heldDownload(world, 'doomed')
    await world.queueImage('next')
    const [download] = world.childrenOf('doomed')
    const key = { namespace: world.namespace, name: download?.metadata.name ?? '' }
    const find = () => world.client.get(PERSISTENT_VOLUME_CLAIM, key).catch(() => undefined)
    await world.client.delete(DATA_VOLUME, key, { propagationPolicy: 'Orphan' })
    await world.untilImage('doomed', 'told of its claim', ({ status }) =>
      (status?.message ?? '').includes(`PersistentVolumeClaim ${key.name} is still there`),
    )
    const left = await find()
    expect([left?.metadata.ownerReferences, left?.metadata.deletionTimestamp]).toEqual([undefined, undefined])
    expect(world.holds('doomed')).toBe(true)
    // The rule that confines the operator must let it delete a claim that nobody owns.
    await world.setPolicy({ ...policy, attemptTimeout: '2s' })
    await world.until('the slot went on', () => world.holds('next'))
    // On a busy machine a download that goes well may take as long.
    await world.setPolicy(policy)
    await world.untilSynced('next')
    expect((await find())?.metadata.uid).not.toBe(left?.metadata.uid)
    release()
    const { status } = await world.untilSynced('doomed')
    expect(status?.attempts).toMatchObject([{ downloads: 1 }, { outcome: 'Succeeded' }])
    await world.finish()
  })

  it('comes with its namespace, also in the middle of a download', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const namespace = `${world.namespace}-doomed`
    await world.createNamespace(namespace)
    world.gate.hold('https://images.example.com/')
    for (const name of ['one', 'two']) {
      await world.createImage(name, {}, { namespace })
      await world.until('it is seen', () => world.getImage(name, namespace)?.status?.phase)
    }
    await world.until('the first one downloads', () => world.simulators.cdi.observed.importing === 1)
    await world.client.delete(NAMESPACE, { name: namespace })
    await world.until('the namespace is gone', () => world.mirror.namespaces.get(namespace) === undefined)
    await world.until('the slot is free', () => world.ledger?.holders.length === 0)
    world.gate.releaseAll()
    await world.syncImage('next')
    await world.finish()
  })
})

function keyOf({ namespace }: World, name: string) {
  return { namespace, name }
}

/** The objects that the operator created for an image, whether or not the image still owns them. */
function childrenOf({ mirror, namespace }: World, name: string): KubeObject[] {
  const all: KubeObject[] = [mirror.dataSources, mirror.snapshots, mirror.dataVolumes].flatMap((one) => [
    ...one.values(),
  ])
  return all.filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[LABELS.imageName] === name)
}

/** A user who orphans objects must also delete them. */
async function remove({ client }: World, objects: readonly KubeObject[]): Promise<void> {
  const types = [DATA_SOURCE, VOLUME_SNAPSHOT, DATA_VOLUME]
  for (const { kind, metadata } of objects) {
    const type = types.find((one) => one.kind === kind)
    if (type !== undefined) await client.delete(type, metadata)
  }
}
