import { describe, expect, it } from 'vitest'
import { CUSTOM_RESOURCE_DEFINITION, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
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
