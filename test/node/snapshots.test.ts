import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME } from '../../operator/kube/resource-types.ts'
import { MACHINE } from '../harness/kinds.ts'
import { NodeStage } from './node-stage.ts'
import type { RealCluster } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

const VOLUME_SNAPSHOT_CONTENT: ResourceType = {
  group: 'snapshot.storage.k8s.io',
  version: 'v1',
  kind: 'VolumeSnapshotContent',
  plural: 'volumesnapshotcontents',
  namespaced: false,
}

describe('the artifact of an image, by the sidecars of CSI', () => {
  const cluster = useRealCluster()

  it.each(['VolumeSnapshot', 'PersistentVolumeClaim'])('is a %s, and machines get copies of it', async (kind) => {
    await using stage = await NodeStage.start(cluster())
    const { snapshotClass, client } = cluster()
    const others = await volumesAndContents(cluster())
    await stage.createImage('one', 'disk.qcow2', kind === 'VolumeSnapshot' ? { snapshotClass } : {})
    expect(await stage.untilDecided('one')).toBe('Synced')
    expect(stage.imageOf('one')?.status?.artifact).toMatchObject({ kind })
    const key = stage.keyOf('vm')
    await client.create(MACHINE, {
      apiVersion: apiVersionOf(MACHINE),
      kind: MACHINE.kind,
      metadata: key,
      spec: { name: 'vm', resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: 'one' } },
    } as KubeObject)
    const disk = `${stage.namespace}/vm-root`
    await stage.mirror.until(
      'the disk of the machine',
      () => stage.mirror.dataVolumes.get(disk)?.status?.phase === 'Succeeded',
      () =>
        JSON.stringify([stage.mirror.dataVolumes.get(disk), stage.mirror.machines.get(`${key.namespace}/vm`)?.status]),
    )
    await expectContent(cluster(), await stage.untilVolume('vm-root'))
    await client.delete(MACHINE, key)
    await stage.finish()
    // What another test left may go meanwhile.
    const own = async () => (await volumesAndContents(cluster())).filter((name) => !others.includes(name))
    await expect.poll(own).toEqual([])
  })
})

/** The driver wrote the disk where it is read here. The disk is larger than the image. */
async function expectContent({ inside }: RealCluster, volume: string): Promise<void> {
  if (inside === undefined) return
  const files = [inside.pathInVolume(volume, 'disk.img'), inside.source('disk.raw')]
  const [disk, source] = await Promise.all(files.map((path) => readFile(path)))
  expect(source?.equals((disk ?? source).subarray(0, source.length))).toBe(true)
}

async function volumesAndContents({ client }: RealCluster): Promise<string[]> {
  const lists = await Promise.all([PERSISTENT_VOLUME, VOLUME_SNAPSHOT_CONTENT].map((type) => client.list(type)))
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name)).sort()
}
