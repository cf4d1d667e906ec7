import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { conditionOf } from '../harness/kinds.ts'
import { tableOf } from '../harness/table.ts'
import { World } from '../harness/world.ts'

describe('an image that syncs', () => {
  const cluster = useCluster()

  it('ends as a snapshot with a DataSource of its name that points to it', async () => {
    await using world = await World.start(cluster())
    const url = 'https://s3.eu-west-1.amazonaws.com/bucket/images/harrison.qcow2'
    await world.createSecret('credentials')
    await world.createImage('harrison', { sourceType: 's3', url, secretRef: 'credentials', name: 'harrison-vm' })

    const { status, ...image } = await world.untilSynced('harrison')

    expect(status?.artifact).toMatchObject({ kind: 'VolumeSnapshot', revision: status?.revision })
    expect(await world.sourceOf('harrison')).toEqual({
      snapshot: { namespace: world.namespace, name: status?.artifact?.name },
    })
    const conditions = ['Ready', 'UpToDate', 'Reconciling', 'Stalled', 'Settled', 'Unreferenced'].map((type) => {
      const { status: value, reason } = conditionOf({ status, ...image } as never, type) ?? {}
      return `${type}=${value} ${reason}`
    })
    expect(conditions).toEqual([
      'Ready=True Synced',
      'UpToDate=True Synced',
      'Reconciling=False Synced',
      'Stalled=False Synced',
      'Settled=True Synced',
      'Unreferenced=True Unreferenced',
    ])
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded', downloads: 1 }])
    expect(world.downloadsOf(url)).toBe(1)
    await world.finish()
  })

  it('comes from each type of source, and ends as a volume where no snapshot class is named', async () => {
    await using world = await World.start(cluster())
    const sources = [
      { sourceType: 'registry', url: 'docker://registry.example.com/org/image:1.0' },
      { sourceType: 'gcs', url: 'gs://bucket/images/object.qcow2' },
      { sourceType: 'blank', url: undefined },
    ] as const
    for (const { sourceType, url } of sources) await world.createImage(sourceType, { sourceType, url: url as never })
    const { status } = await world.syncImage('plain', { snapshotClass: undefined })
    expect(status?.artifact).toMatchObject({ kind: 'PersistentVolumeClaim' })
    expect(await world.sourceOf('plain')).toEqual({ pvc: { namespace: world.namespace, name: status?.artifact?.name } })
    for (const { sourceType, url } of sources) {
      await world.untilSynced(sourceType)
      if (url !== undefined) expect(world.downloadsOf(url), sourceType).toBe(1)
    }
    await world.finish()
  })

  it('shows in kubectl get what people look for', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'first')
    await world.untilReason('first', 'Syncing')
    await world.createImage('second')
    await world.untilImage('second', 'a place in the queue', ({ status }) => status?.queuePosition === 1)
    const path = `/apis/pelotech.ot/v1alpha1/namespaces/${world.namespace}/vmdiskimages`
    const [first, second] = await tableOf(cluster().controlPlane.kubeconfigPath, path)
    expect(first).toMatchObject({
      Name: 'first',
      Phase: 'Syncing',
      Reason: 'Syncing',
      Attempt: 1,
      URL: world.urlOf('first'),
    })
    expect(second).toMatchObject({
      Name: 'second',
      Phase: 'Queued',
      Reason: 'Queued',
      Queue: 1,
      AsOf: expect.any(String),
    })
    release()
    for (const name of ['first', 'second']) await world.untilSynced(name)
    const rows = await tableOf(cluster().controlPlane.kubeconfigPath, path)
    expect(rows).toMatchObject([
      { Phase: 'Succeeded', Reason: 'Synced', Refs: 0 },
      { Phase: 'Succeeded', Reason: 'Synced', Refs: 0 },
    ])
    await world.finish()
  })
})
