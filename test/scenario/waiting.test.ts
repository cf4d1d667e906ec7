import { describe, expect, it } from 'vitest'
import { apiVersionOf, type Raw, type ResourceType } from '../../operator/kube/kube-object.ts'
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
import { reasonOf } from '../harness/kinds.ts'
import { type SpecInput, World } from '../harness/world.ts'
import { badInputSuite } from './bad-input-suite.ts'

/** What an image lacks, by its name. */
interface Lack {
  readonly reason: string
  readonly spec: SpecInput
  /** Keys of the policy that provide it. */
  readonly policy?: Readonly<Record<string, string>>
  readonly provide?: (world: World) => Promise<void>
}

const HERE = 'https://images.example.com/'
const ELSEWHERE = 'https://elsewhere.example.com/'

const LACKS: Readonly<Record<string, Lack>> = {
  secret: {
    reason: 'SecretMissing',
    spec: { sourceType: 's3', secretRef: 'later' },
    provide: (world) => world.createSecret('later'),
  },
  certificates: {
    reason: 'CertConfigMapMissing',
    spec: { certConfigMap: 'later' },
    provide: (world) => world.createConfigMap('later'),
  },
  'storage-class': {
    reason: 'StorageClassMissing',
    spec: { storageClass: 'later' },
    provide: (world) => world.createStorageClass('later'),
  },
  'default-storage-class': {
    reason: 'StorageClassMissing',
    spec: { storageClass: undefined },
    policy: { defaultStorageClass: 'fast' },
  },
  'snapshot-class': {
    reason: 'SnapshotClassMissing',
    spec: { snapshotClass: 'later' },
    provide: (world) => world.createSnapshotClass('later'),
  },
  permission: {
    reason: 'UrlNotAllowed',
    spec: { url: `${ELSEWHERE}x.qcow2` },
    policy: { allowedSourceUrls: `${HERE},${ELSEWHERE}` },
  },
  size: { reason: 'DiskSizeMissing', spec: { diskSize: undefined }, policy: { defaultDiskSize: '16Mi' } },
  'source-type': {
    reason: 'SourceTypeMissing',
    spec: { sourceType: undefined },
    policy: { defaultSourceType: 'http' },
  },
}

/** An object that an image refers to, with a content that does not do. */
interface Misfit {
  readonly reason: string
  readonly message: string
  readonly type: ResourceType
  readonly spec: SpecInput
  readonly content: object
  readonly correction: object
}

const MISFITS: Readonly<Record<string, Misfit>> = {
  'pull-secret': {
    reason: 'SecretInvalid',
    message: 'Secret pull-secret in namespace <namespace>',
    type: SECRET,
    spec: { secretRef: 'pull-secret' },
    content: {
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': '{"auths":{}}' },
    },
    correction: { stringData: { accessKeyId: 'id', secretKey: 'very-secret-key' } },
  },
  'no-certificates': {
    reason: 'CertConfigMapInvalid',
    message: 'ConfigMap no-certificates in namespace <namespace>',
    type: CONFIG_MAP,
    spec: { certConfigMap: 'no-certificates' },
    content: { data: { 'ca.crt': 'to be done' } },
    correction: { data: { 'ca.crt': A_CERTIFICATE } },
  },
  'of-another-driver': {
    reason: 'SnapshotClassMismatch',
    message: 'is of driver other.example.com, and StorageClass',
    type: VOLUME_SNAPSHOT_CLASS,
    spec: { snapshotClass: 'of-another-driver' },
    content: { driver: 'other.example.com', deletionPolicy: 'Delete' },
    correction: { driver: 'sandbox.example.com' },
  },
}

const [lacks, misfits] = [Object.entries(LACKS), Object.entries(MISFITS)]

// Its kinds are replaced and removed.
const cluster = useOwnCluster()

badInputSuite(cluster)

describe('an image that lacks something', () => {
  it('waits for it, or for what is in it, without a slot, lets others pass, and starts by itself', async () => {
    // Only a change of what it lacks can start it.
    const policy = { concurrency: '1', allowedSourceUrls: HERE, retryBackoffDuration: '1h' }
    await using world = await World.start(cluster(), { policy })
    for (const [name, { type, content }] of misfits) {
      const metadata = placeOf(world, name)
      await world.client.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...content })
    }
    for (const [name, { spec }] of [...lacks, ...misfits]) await world.createImage(name, spec)
    for (const [name, { reason }] of lacks) {
      const { status } = await world.untilReason(name, reason)
      expect(status).toMatchObject({ phase: 'Queued', message: expect.stringMatching(/.{20}/) })
    }
    for (const [name, { reason, message }] of misfits) {
      const { status } = await world.untilReason(name, reason)
      expect(status?.message).toContain(message.replace('<namespace>', world.namespace))
    }
    await world.syncImage('complete')
    expect([...lacks, ...misfits].filter(([name]) => world.holds(name))).toEqual([])
    for (const [name, { reason }] of lacks) await world.untilEvent(name, { type: 'Warning', reason })
    await provideInTurn(world, policy)
    await correctAll(world)
    await world.finish()
  })

  it('waits until CDI and the snapshotter are installed, and for a CDI that has its checksum, instead of a download that nobody verifies', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '0' }, idle: true })
    const [cdi, snapshotter] = [await uninstall(world, DATA_VOLUME), await uninstall(world, VOLUME_SNAPSHOT)]
    world.startOperator()
    await world.createImage('early')
    await world.createImage('pinned', { checksum: `sha256:${'0'.repeat(64)}`, snapshotClass: undefined })
    await world.untilReason('early', 'CDIMissing')
    await world.until('an empty ledger', () => world.ledger?.holders.length === 0)
    // As CDI 1.64 has it.
    await cdi.install((key, value) => (key === 'checksum' ? undefined : value))
    await world.untilReason('early', 'SnapshotterMissing')
    const { status } = await world.untilReason('pinned', 'CDITooOld')
    expect(status?.message).toContain('spec.source.http.checksum')
    // What the operator has not read yet is refused by the API server, as one unknown field.
    const metadata = { namespace: world.namespace, name: 'theirs' }
    const source = { http: { url: 'https://images.example.com/a', checksum: `md5:${'0'.repeat(32)}` } }
    const volume = { apiVersion: apiVersionOf(DATA_VOLUME), kind: DATA_VOLUME.kind, metadata, spec: { source } }
    await expect(world.client.create(DATA_VOLUME, volume, { isStrict: true })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('strict decoding error: unknown field "spec.source.http.checksum"'),
    })
    await snapshotter.install()
    await world.untilReason('early', 'Paused')
    // Simulators that look before the kind is served look again only half a minute later. Nothing may run while they restart.
    await world.restartSimulators()
    world.mostDownloads = 1
    await world.changePolicy({ concurrency: '1' })
    await world.untilSynced('early')
    expect(world.holds('pinned')).toBe(false)
    await world.changePolicy({ concurrency: '0' })
    await cdi.upgrade()
    await world.untilReason('pinned', 'Paused')
    await world.finish({ isOrderChecked: false })
  })
})

function placeOf({ namespace }: World, name: string) {
  return MISFITS[name]?.type.namespaced === true ? { namespace, name } : { name }
}

/** Provides what each image lacks, one after another: it starts, and the others do not. */
async function provideInTurn(world: World, before: Readonly<Record<string, string>>): Promise<void> {
  let policy = before
  for (const [at, [name, lack]] of lacks.entries()) {
    await lack.provide?.(world)
    policy = { ...policy, ...lack.policy }
    if (lack.policy !== undefined) await world.setPolicy(policy)
    await world.untilSynced(name)
    for (const [other, { reason }] of lacks.slice(at + 1)) expect(reasonOf(world.getImage(other))).toBe(reason)
  }
}

async function correctAll(world: World): Promise<void> {
  for (const [name, { type, correction }] of misfits) {
    await world.client.mergePatch(type, placeOf(world, name), correction)
    const { status } = await world.untilSynced(name)
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect(JSON.stringify([status, world.eventsOf(name)])).not.toContain('very-secret-key')
  }
  expect(JSON.stringify(world.logs.lines)).not.toContain('very-secret-key')
}

/** Removes a kind. Returns what installs it again, with fields left out by a replacer of JSON, and what installs all of its fields. */
async function uninstall(world: World, type: ResourceType) {
  const key = { name: `${type.plural}.${type.group}` }
  const { metadata, ...definition }: Raw = await world.client.get(CUSTOM_RESOURCE_DEFINITION, key)
  await world.client.delete(CUSTOM_RESOURCE_DEFINITION, key)
  await world.untilDefinitionGone(key.name)
  const { name, annotations, labels } = metadata
  const again = { name, ...(annotations && { annotations }), ...(labels && { labels }) }
  return {
    install: async (replacer: (key: string, value: unknown) => unknown = (_, value) => value) => {
      const spec = JSON.parse(JSON.stringify(definition['spec'], replacer))
      await world.client.create(CUSTOM_RESOURCE_DEFINITION, { ...definition, spec, metadata: again } as Raw)
      await world.untilServed(type)
    },
    upgrade: () => world.client.mergePatch(CUSTOM_RESOURCE_DEFINITION, key, { spec: definition['spec'] }),
  }
}
