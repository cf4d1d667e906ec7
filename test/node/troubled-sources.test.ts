import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { importersOf } from './importers.ts'
import { NodeStage, type Source } from './node-stage.ts'
import type { RealCluster } from './real-cluster.ts'
import { useRealCluster } from './shared-cluster.ts'

const RESOURCE_QUOTA: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
}

const FAILED = 'RetryLimitExceeded'

type Expected = readonly [source: Source, reason: string, cause: string, message: RegExp]

/** Sources of other types are there only where the nodes were made here. */
function troublesOf({ others }: RealCluster): Readonly<Record<string, Expected>> {
  const s3 = (url: string) => ({ sourceType: 's3', url, secretRef: 'keys' }) as const
  const registry = (path: string) => ({ sourceType: 'registry', url: `${others?.registryUrl}${path}` }) as const
  return {
    missing: ['status-404/disk.qcow2', 'NotFound', 'NotFound', /got 404/],
    refused: ['status-403/disk.qcow2', 'AccessDenied', 'AccessDenied', /got 403/],
    broken: ['status-503/disk.qcow2', FAILED, 'ImporterFailed', /503/],
    cut: ['cut/disk.raw.xz', FAILED, 'ImporterFailed', /EOF|no more/],
    empty: ['empty.qcow2', FAILED, 'ImporterFailed', /shorter than the header of any disk image/],
    larger: ['larger.qcow2', 'DiskTooSmall', 'DiskTooSmall', /too small|larger/],
    backed: ['backed.qcow2', 'SourceInvalid', 'SourceInvalid', /backing file/],
    ...(others !== undefined && {
      's3-missing': [s3(`${others.s3Url}/other.qcow2`), 'NotFound', 'NotFound', /NoSuchKey/],
      'registry-missing': [registry('/good:2'), 'NotFound', 'NotFound', /manifest unknown/],
      // The importer says the same of a layer that it could not read: it takes two attempts to be sure.
      'registry-empty': [registry('/empty:1'), FAILED, 'ImporterFailed', /disk/],
    }),
  }
}

describe('a source in trouble, as the importer of CDI sees it', () => {
  const cluster = useRealCluster()

  it('costs one attempt, and the image says what is wrong', async () => {
    await using stage = await NodeStage.start(cluster(), { concurrency: '20' })
    const troubles = troublesOf(cluster())
    await stage.createKeys('keys')
    for (const [name, [source]] of Object.entries(troubles)) await stage.createImage(name, source)
    // CDI takes what it does not know for a raw disk.
    await stage.createImage('page', 'page/disk.qcow2')
    expect(await stage.untilDecided('page')).toBe('Synced')
    const seen: unknown[] = []
    for (const name of Object.keys(troubles)) {
      const reason = await stage.untilDecided(name)
      const { attempts = [] } = stage.imageOf(name)?.status ?? {}
      seen.push({ name, reason, attempts: attempts.map(({ reason, message }) => ({ reason, message })) })
    }
    // Until its pod is gone, the kubelet may start an importer again.
    await stage.until('no importer is left', () => importersOf(stage).length === 0)
    const before = (await cluster().requests()).length
    expect(seen).toEqual(
      Object.entries(troubles).map(([name, [, reason, cause, message]]) => {
        return { name, reason, attempts: [{ reason: cause, message: expect.stringMatching(message) }] }
      }),
    )
    await stage.finish()
    // CDI would download for ever. An image that has failed does not.
    expect((await cluster().requests()).slice(before)).toEqual([])

    await stage.createImage('stalled', 'stall/disk.raw')
    await stage.untilImage('stalled', 'some progress', ({ status }) => /^[1-9]/.test(status?.progress ?? ''))
    await stage.setPolicy({ stallTimeout: '5s' })
    expect(await stage.untilDecided('stalled')).toBe(FAILED)
    expect(stage.imageOf('stalled')?.status?.attempts).toMatchObject([{ reason: 'Stalled' }])
    await stage.finish()
  })

  it('is told from a quota that has no room for scratch space, and needs nobody when there is room', async () => {
    await using stage = await NodeStage.start(cluster(), {
      retryLimit: '10',
      retryBackoffDuration: '1s',
      retryBackoffMax: '1s',
    })
    const key = stage.keyOf('claims')
    const claims = (count: number) => ({ spec: { hard: { persistentvolumeclaims: String(count) } } })
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: key, ...claims(2) }
    await cluster().client.create(RESOURCE_QUOTA, quota as KubeObject)
    await stage.createImage('one', 'disk.qcow2')
    const refused = await stage.untilImage('one', 'a refused claim', ({ status }) =>
      status?.attempts?.find(({ reason }) => reason === 'QuotaExceeded'),
    )
    expect(refused.message).toMatch(/^a ResourceQuota of the namespace .*exceeded quota: claims/)
    await cluster().client.mergePatch(RESOURCE_QUOTA, key, claims(6))
    expect(await stage.untilDecided('one')).toBe('Synced')
    await stage.finish()
  })
})
