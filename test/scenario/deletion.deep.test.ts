import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, NAMESPACE, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { IMAGE } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

describe('the deletion of an image', () => {
  const cluster = useCluster()

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

  it('with --cascade=orphan leaves what was made for it, without an owner, and keeps the slot until its download is over', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    await world.syncImage('done')
    const made = await world.until('three children', () => {
      const all = childrenOf(world, 'done')
      return all.length === 3 && all.map(uidOf)
    })
    const release = await heldDownload(world, 'doomed')
    await world.queueImage('next')
    // The garbage collector is sooner than an operator that could stop the download.
    await world.operator?.stop()
    const [download] = world.childrenOf('doomed')
    for (const name of ['done', 'doomed']) {
      await world.client.delete(IMAGE, { namespace: world.namespace, name }, { propagationPolicy: 'Orphan' })
      await world.until('no owner is left', () =>
        childrenOf(world, name).every(({ metadata }) => metadata.ownerReferences === undefined),
      )
    }
    world.startOperator()
    const { status } = await world.untilReason('doomed', 'Deleting')
    expect(status?.message).toContain(`DataVolume ${download?.metadata.name}, which has lost its owner`)
    release()
    await world.untilSynced('next')
    for (const name of ['done', 'doomed']) await world.untilGone(name)
    expect(world.downloads('doomed')).toBe(1)
    expect(childrenOf(world, 'done').map(uidOf)).toEqual(made)
    expect(childrenOf(world, 'doomed').map(uidOf)).toEqual([download?.metadata.uid])
    const left = [...childrenOf(world, 'done'), ...childrenOf(world, 'doomed')]
    for (const { metadata } of left) expect(metadata.deletionTimestamp).toBeUndefined()
    await remove(world, left)
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

function uidOf({ metadata }: KubeObject): string | undefined {
  return metadata.uid
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
