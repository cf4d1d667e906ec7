import { describe, expect, it } from 'vitest'
import { inNamespaces } from '../harness/own-objects.ts'
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
})
