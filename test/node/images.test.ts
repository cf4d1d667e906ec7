import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { type KubeObject, keyOf, type Raw } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { untilAdoptionIsChecked } from '../harness/adoption-rule.ts'
import { inNamespaces } from '../harness/own-objects.ts'
import { importersOf } from './importers.ts'
import { NodeStage, type Source } from './node-stage.ts'
import { useRealCluster } from './shared-cluster.ts'

describe('images, by the importer of CDI', () => {
  const cluster = useRealCluster()

  it('sync in each form and from each type of source, with one download each', async () => {
    await using stage = await NodeStage.start(cluster(), { concurrency: '20' })
    const { others } = cluster()
    const sources: Readonly<Record<string, Source>> = {
      qcow2: 'disk.qcow2',
      raw: 'disk.raw',
      gz: 'disk.raw.gz',
      xz: 'disk.raw.xz',
      ...(others !== undefined && {
        's3-qcow2': { sourceType: 's3', url: `${others.s3Url}/disk.qcow2`, secretRef: 'keys' },
        's3-gz': { sourceType: 's3', url: `${others.s3Url}/disk.raw.gz`, secretRef: 'keys' },
        registry: { sourceType: 'registry', url: `${others.registryUrl}/good:1` },
      }),
    }
    await stage.createKeys('keys')
    for (const [name, source] of Object.entries(sources)) await stage.createImage(name, source)
    for (const name of Object.keys(sources)) await stage.untilDecided(name)
    const images = inNamespaces(stage.mirror.images, [stage.namespace])
    const seen = images.map(({ metadata: { name }, status }) => [
      name,
      status?.attempts?.map(({ number, outcome, reason, downloads }) => ({ number, outcome, reason, downloads })),
      status?.artifact?.kind,
    ])
    const once = [{ number: 1, outcome: 'Succeeded', reason: 'Synced', downloads: 1 }]
    expect(seen.toSorted()).toEqual(
      Object.keys(sources)
        .toSorted()
        .map((name) => [name, once, 'PersistentVolumeClaim']),
    )
    await stage.finish()
  })

  it('are adopted of what it has filled for others: not a byte is written, and nothing is imported again', async () => {
    await using stage = await NodeStage.start(cluster())
    const { client, inside, sourceUrl, storageClass } = cluster()
    const key = stage.keyOf('by-hand')
    await client.create(DATA_VOLUME, {
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: { ...key, annotations: { 'cdi.kubevirt.io/storage.bind.immediate.requested': 'true' } },
      spec: {
        source: { http: { url: `${sourceUrl}/disk.qcow2` } },
        pvc: {
          accessModes: ['ReadWriteOnce'],
          resources: { requests: { storage: '64Mi' } },
          storageClassName: storageClass,
        },
      },
    } as KubeObject)
    await stage.until('it is filled', () => {
      return stage.mirror.dataVolumes.get(keyOf(key))?.status?.phase === 'Succeeded' && importersOf(stage).length === 0
    })
    await untilAdoptionIsChecked(client)
    const disk = async () => {
      const claim: Raw = await client.get(PERSISTENT_VOLUME_CLAIM, key)
      const { uid, deletionTimestamp } = claim.metadata
      if (inside === undefined) return [uid, deletionTimestamp]
      const path = await inside.pathInVolume(await stage.untilVolume(key.name), 'disk.img')
      const [{ mtimeMs, ino }, content] = await Promise.all([stat(path), readFile(path)])
      return [uid, deletionTimestamp, mtimeMs, ino, createHash('sha256').update(content).digest('hex')]
    }
    const before = await disk()
    const imports: string[] = []
    await stage.createImage('adopted', 'disk.qcow2', {}, { [ANNOTATIONS.adopt]: 'datavolume/by-hand' })
    await stage.untilImage('adopted', 'synced', ({ status }) => {
      imports.push(...importersOf(stage).map(({ metadata }) => metadata.name))
      return status?.phase === 'Succeeded'
    })
    const { status } = stage.imageOf('adopted') ?? {}
    expect(status).toMatchObject({
      artifact: { kind: 'PersistentVolumeClaim', name: 'by-hand', adoptedUID: before[0] },
    })
    expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Adopted', reason: 'SourceMatches' }))
    expect(status?.attempts).toBeUndefined()
    await stage.deleteImage('adopted')
    await stage.until('it is gone', () => stage.imageOf('adopted') === undefined)
    expect(inNamespaces(stage.mirror.dataVolumes, [stage.namespace]).map(({ metadata }) => metadata.name)).toEqual([
      'by-hand',
    ])
    expect([imports, await disk()]).toEqual([[], before])
    await client.delete(DATA_VOLUME, key)
    await stage.finish()
  })
})
