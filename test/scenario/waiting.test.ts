import { describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject, type Raw } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  DATA_VOLUME,
  SECRET,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { A_CERTIFICATE } from '../harness/grounds.ts'
import { type SpecInput, World } from '../harness/world.ts'

type Missing = readonly [what: string, reason: string, spec: SpecInput, provide: (world: World) => Promise<void>]

const ELSEWHERE = 'https://elsewhere.example.com/'

/** Sets the policy, including what was missing. */
const withPolicy = (more: Readonly<Record<string, string>>) => (world: World) =>
  world.setPolicy({ concurrency: '1', ...more })

const MISSING: readonly Missing[] = [
  ['its secret', 'SecretMissing', { sourceType: 's3', secretRef: 'later' }, (world) => world.createSecret('later')],
  ['its certificates', 'CertConfigMapMissing', { certConfigMap: 'later' }, (world) => world.createConfigMap('later')],
  ['its storage class', 'StorageClassMissing', { storageClass: 'later' }, (world) => world.createStorageClass('later')],
  [
    'a default storage class',
    'StorageClassMissing',
    { storageClass: undefined },
    withPolicy({ defaultStorageClass: 'fast' }),
  ],
  [
    'its snapshot class',
    'SnapshotClassMissing',
    { snapshotClass: 'later' },
    (world) => world.createSnapshotClass('later'),
  ],
  [
    'the permission of the policy',
    'UrlNotAllowed',
    { url: `${ELSEWHERE}x.qcow2` },
    withPolicy({ allowedSourceUrls: ELSEWHERE }),
  ],
  ['a size', 'DiskSizeMissing', { diskSize: undefined }, withPolicy({ defaultDiskSize: '16Mi' })],
  ['a source type', 'SourceTypeMissing', { sourceType: undefined }, withPolicy({ defaultSourceType: 'http' })],
]

describe('an image that lacks something', () => {
  const cluster = useOwnCluster()

  it.each(MISSING)('waits for %s without a slot, lets others pass, and starts by itself', async (...missing) => {
    const [, reason, spec, provide] = missing
    const allowed: Record<string, string> =
      reason === 'UrlNotAllowed' ? { allowedSourceUrls: 'https://images.example.com/' } : {}
    await using world = await World.start(cluster(), { policy: { concurrency: '1', ...allowed } })
    await world.createImage('incomplete', spec)
    const waiting = await world.untilReason('incomplete', reason)
    expect(waiting.status).toMatchObject({ phase: 'Queued', message: expect.stringMatching(/.{20}/) })

    await world.syncImage('complete')
    expect(world.holds('incomplete')).toBe(false)
    expect(world.eventsOf('incomplete')).toContainEqual(expect.objectContaining({ type: 'Warning', reason }))

    await provide(world)
    await world.untilSynced('incomplete')
    await world.finish()
  })

  const pullSecret = {
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': '{"auths":{}}' },
  }
  it.each([
    {
      what: 'a pull secret',
      reason: 'SecretInvalid',
      type: SECRET,
      spec: { secretRef: 'wrong' },
      content: pullSecret,
      correction: { stringData: { accessKeyId: 'id', secretKey: 'very-secret-key' } },
    },
    {
      what: 'a ConfigMap without certificates',
      reason: 'CertConfigMapInvalid',
      type: CONFIG_MAP,
      spec: { certConfigMap: 'wrong' },
      content: { data: { 'ca.crt': 'to be done' } },
      correction: { data: { 'ca.crt': A_CERTIFICATE } },
    },
  ])('waits without a slot for the content of $what, and starts when that is corrected', async (wrong) => {
    const { reason, type, spec, content, correction } = wrong
    // Only a change of the object can start it.
    await using world = await World.start(cluster(), { policy: { concurrency: '1', retryBackoffDuration: '1h' } })
    const key = { namespace: world.namespace, name: 'wrong' }
    await world.client.create(type, { apiVersion: 'v1', kind: type.kind, metadata: key, ...content } as KubeObject)
    await world.createImage('one', spec)
    const { status } = await world.untilReason('one', reason)
    expect(status?.message).toContain(`${type.kind} wrong in namespace ${world.namespace}`)
    await world.syncImage('other')
    expect(world.holds('one')).toBe(false)
    await world.client.mergePatch(type, key, correction)
    const synced = await world.untilSynced('one')
    expect(synced.status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect(JSON.stringify([synced.status, world.eventsOf('one'), world.logs.lines])).not.toContain('very-secret-key')
    await world.finish()
  })

  it('waits for a snapshot class of the driver of its volumes', async () => {
    await using world = await World.start(cluster())
    await world.createSnapshotClass('of-another', 'other.example.com')
    await world.createImage('one', { snapshotClass: 'of-another' })
    const { status } = await world.untilReason('one', 'SnapshotClassMismatch')
    expect(status?.message).toContain('is of driver other.example.com, and StorageClass')
    expect(world.holds('one')).toBe(false)
    await world.client.mergePatch(VOLUME_SNAPSHOT_CLASS, { name: 'of-another' }, { driver: 'sandbox.example.com' })
    await world.untilSynced('one')
    await world.finish()
  })

  it('waits for a CDI that has its checksum, instead of a download that nobody verifies', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const key = { name: `${DATA_VOLUME.plural}.${DATA_VOLUME.group}` }
    const { spec }: Raw = await world.client.get(CUSTOM_RESOURCE_DEFINITION, key)
    // As CDI 1.64 has it.
    const older = JSON.parse(JSON.stringify(spec), (name, value) => (name === 'checksum' ? undefined : value))
    await world.client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: older })
    await world.createImage('pinned', { checksum: `sha256:${'0'.repeat(64)}` })
    const { status } = await world.untilReason('pinned', 'CDITooOld')
    expect(status?.message).toContain('spec.source.http.checksum')
    await world.syncImage('other')
    expect(world.holds('pinned')).toBe(false)
    // What the operator has not read yet is refused by the API server, as one unknown field.
    const metadata = { namespace: world.namespace, name: 'theirs' }
    const source = { http: { url: 'https://images.example.com/a', checksum: `md5:${'0'.repeat(32)}` } }
    const volume = { apiVersion: apiVersionOf(DATA_VOLUME), kind: DATA_VOLUME.kind, metadata, spec: { source } }
    await expect(world.client.create(DATA_VOLUME, volume, { isStrict: true })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('strict decoding error: unknown field "spec.source.http.checksum"'),
    })
    await world.setPolicy({ concurrency: '0' })
    await world.client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec })
    await world.untilReason('pinned', 'Paused')
    await world.finish()
  })

  it.each([
    { type: DATA_VOLUME, reason: 'CDIMissing' },
    { type: VOLUME_SNAPSHOT, reason: 'SnapshotterMissing' },
  ])('waits until the kind $type.kind is installed', async ({ type, reason }) => {
    await using world = await World.start(cluster(), { policy: { concurrency: '0' }, idle: true })
    const key = { name: `${type.plural}.${type.group}` }
    const { metadata, ...definition } = await world.client.get(CUSTOM_RESOURCE_DEFINITION, key)
    await world.client.delete(CUSTOM_RESOURCE_DEFINITION, key)
    await world.untilDefinitionGone(key.name)
    world.startOperator()
    await world.createImage('early')
    await world.untilReason('early', reason)
    expect(world.ledger?.holders).toEqual([])
    const { name, annotations, labels } = metadata
    const again = { name, ...(annotations && { annotations }), ...(labels && { labels }) }
    await world.client.create(CUSTOM_RESOURCE_DEFINITION, { ...definition, metadata: again })
    // Simulators that look before the kind is served look again only half a minute later. Nothing may run while they restart.
    await world.untilServed(type)
    await world.untilReason('early', 'Paused')
    await world.restartSimulators()
    world.mostDownloads = 1
    await world.setPolicy({ concurrency: '1' })
    await world.untilSynced('early')
    await world.finish({ isOrderChecked: false })
  })
})
