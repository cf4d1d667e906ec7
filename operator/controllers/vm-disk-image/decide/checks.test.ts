import type { Reason } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { aDataVolume } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import {
  aLookup,
  anImageWorld,
  FULL_QUOTA,
  type ImageWorldOverrides,
} from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { whatBlocks } from './checks.ts'

const blocked = (overrides: ImageWorldOverrides) => {
  const world = anImageWorld(overrides)
  if (!world.spec.ok) throw new Error(JSON.stringify(world.spec.problems))
  return whatBlocks(world.spec.target, world)
}
const surroundings = { hasDataVolumes: true, hasSnapshots: true, hasDataSources: true }
const url = (text: string | undefined, sourceType?: string) => ({ spec: { url: text, sourceType } })

describe('what blocks', () => {
  it.each<[Reason, string, ImageWorldOverrides]>([
    ['NamespaceTerminating', 'team', { namespaceTerminating: true }],
    ['SourceTypeMissing', 'defaultSourceType', { spec: { sourceType: undefined } }],
    ['DiskSizeMissing', 'defaultDiskSize', { spec: { diskSize: undefined } }],
    ['UrlNotAllowed', 'registry', { ...url('https://a.example/b'), policy: { defaultSourceType: 'registry' } }],
    ['UrlNotAllowed', 'http', { ...url('docker://a.example/b'), policy: { defaultSourceType: 'http' } }],
    ['UrlNotAllowed', 's3', { ...url('gs://a.example/b'), policy: { defaultSourceType: 's3' } }],
    ['UrlNotAllowed', 'blank', { ...url('https://a.example/b'), policy: { defaultSourceType: 'blank' } }],
    ['UrlNotAllowed', 'allowedSourceUrls', { policy: { allowedSourceUrls: [] } }],
    ['ChecksumMissing', 'requireChecksum', { spec: { sourceType: 'http' }, policy: { requireChecksum: true } }],
    ['CDIMissing', 'CDI', { surroundings: { ...surroundings, hasDataVolumes: false } }],
    [
      'CDITooOld',
      'no field spec.source.http.checksum, so it would be ignored: upgrade CDI to 1.65 or newer, or remove spec.checksum',
      {
        spec: { sourceType: 'http', checksum: `md5:${'0'.repeat(32)}` },
        lookup: aLookup({ droppedFields: new Set(['spec.source.http.checksum']) }),
      },
    ],
    [
      'CDITooOld',
      'upgrade CDI, or use another spec.sourceType',
      { ...url('gs://b/k', 'gcs'), lookup: aLookup({ droppedFields: new Set(['spec.source.gcs']) }) },
    ],
    ['SecretMissing', 'Secret creds', { lookup: aLookup({ secret: 'missing' }) }],
    [
      'SecretMissing',
      'Secret d',
      { spec: { secretRef: undefined }, policy: { defaultSecretRef: 'd' }, lookup: aLookup({ secret: 'missing' }) },
    ],
    [
      'CertConfigMapMissing',
      'ConfigMap c',
      { spec: { certConfigMap: 'c' }, lookup: aLookup({ certificates: 'missing' }) },
    ],
    [
      'SecretInvalid',
      'Secret creds in namespace team (spec.secretRef) is a pull secret of Kubernetes, which CDI cannot read: it has no key accessKeyId (the user name) and key secretKey (the password)',
      { ...url('docker://a.example/b', 'registry'), lookup: aLookup({ secret: { isPullSecret: true, keys: {} } }) },
    ],
    [
      'SecretInvalid',
      'has no usable key secretKey (the secret access key), which CDI reads for sourceType s3',
      {
        ...url('https://s3.a.example/b/k', 's3'),
        lookup: aLookup({ secret: { isPullSecret: false, keys: { accessKeyId: 'text', secretKey: 'empty' } } }),
      },
    ],
    ...[{}, { 'credentials.json': 'text' } as const].map((keys): [Reason, string, ImageWorldOverrides] => [
      'SecretInvalid',
      'has no usable key credentials.json (the JSON key file of a service account)',
      { ...url('gs://b/k', 'gcs'), lookup: aLookup({ secret: { isPullSecret: false, keys } }) },
    ]),
    [
      'CertConfigMapInvalid',
      'ConfigMap c in namespace team (spec.certConfigMap) has no certificate in PEM: add one',
      { spec: { certConfigMap: 'c' }, lookup: aLookup({ certificates: 'none' }) },
    ],
    [
      'CertConfigMapInvalid',
      'under a key that ends in .crt or .pem',
      {
        spec: { url: 'docker://a.example/b', sourceType: 'registry', certConfigMap: 'c' },
        lookup: aLookup({ certificates: 'unnamed' }),
      },
    ],
    ['StorageClassMissing', 'StorageClass fast', { lookup: aLookup({ hasStorageClass: false }) }],
    [
      'StorageClassMissing',
      'defaultStorageClass',
      { spec: { storageClass: undefined }, lookup: aLookup({ hasStorageClass: false }) },
    ],
    ['ClaimInvalid', 'StorageProfile fast', { lookup: aLookup({ hasEmptyProfile: true }) }],
    ['QuotaExceeded', 'ResourceQuota q of namespace team', { lookup: aLookup({ quotas: [FULL_QUOTA] }) }],
    ['SnapshotterMissing', 'snapshot controller', { surroundings: { ...surroundings, hasSnapshots: false } }],
    ['SnapshotClassMissing', 'VolumeSnapshotClass snap', { lookup: aLookup({ hasSnapshotClass: false }) }],
    [
      'SnapshotClassMismatch',
      'VolumeSnapshotClass snap (spec.snapshotClass) is of driver b, and StorageClass fast of a',
      { lookup: aLookup({ driversApart: { ofVolumes: 'a', ofSnapshots: 'b' } }) },
    ],
    ['NameConflict', 'PersistentVolumeClaim x', { lookup: aLookup({ foreignVolume: 'PersistentVolumeClaim x' }) }],
    ['NameConflict', 'VolumeSnapshot img-', { lookup: aLookup({ hasForeignSnapshot: true }) }],
  ])('%s, in a sentence that names %s', (reason, text, overrides) => {
    expect(blocked(overrides)).toMatchObject({ reason, message: expect.stringContaining(text) })
  })

  it.each<[string, string, ImageWorldOverrides]>([
    ['secretRef', 'defaultSecretRef', { lookup: aLookup({ secret: 'missing' }) }],
    ['certConfigMap', 'defaultCertConfigMap', { lookup: aLookup({ certificates: 'missing' }) }],
    ['storageClass', 'defaultStorageClass', { lookup: aLookup({ hasStorageClass: false }) }],
    ['snapshotClass', 'defaultSnapshotClass', { lookup: aLookup({ hasSnapshotClass: false }) }],
  ])('a name that is missing, and says whether spec.%s or the policy key %s gave it', (field, key, overrides) => {
    const bySpec = blocked({ ...overrides, spec: { [field]: 'd' } })
    const byPolicy = blocked({ ...overrides, spec: { [field]: undefined }, policy: { [key]: 'd' } })
    expect(byPolicy?.reason).toBe(bySpec?.reason)
    expect(bySpec?.message).toContain(`(spec.${field})`)
    expect(byPolicy?.message).toContain(`(the policy key ${key})`)
  })

  it.each<[string, ImageWorldOverrides]>([
    ['a complete spec', {}],
    ['an empty disk', { ...url(undefined, 'blank'), lookup: aLookup({ secret: 'missing' }) }],
    [
      'a bucket of Google',
      {
        ...url('gs://b/k', 'gcs'),
        lookup: aLookup({ certificates: 'missing' }),
        policy: { defaultCertConfigMap: 'c' },
      },
    ],
    ['a registry', url('docker://a.example/b', 'registry')],
    ['the default storage class', { spec: { storageClass: undefined } }],
    [
      'a download that has what it needs already',
      { dataVolumes: [aDataVolume()], lookup: aLookup({ quotas: [FULL_QUOTA] }) },
    ],
    [
      'no snapshots where none are asked for',
      {
        spec: { snapshotClass: undefined },
        surroundings: { ...surroundings, hasSnapshots: false },
        lookup: aLookup({ hasForeignSnapshot: true }),
      },
    ],
    [
      'a login without a password',
      {
        ...url('https://a.example/b', 'http'),
        lookup: aLookup({ secret: { isPullSecret: true, keys: { accessKeyId: 'text', secretKey: 'empty' } } }),
      },
    ],
    [
      'a field that is not there and not used',
      {
        spec: { sourceType: 'http' },
        lookup: aLookup({ droppedFields: new Set(['spec.source.http.checksum', 'spec.source.gcs']) }),
      },
    ],
    ['a Secret that is not read yet', { lookup: aLookup({ secret: 'pending' }) }],
    ['a Secret that may not be read', { lookup: aLookup({ secret: 'unread' }) }],
    [
      'certificates that do not matter',
      {
        spec: { url: 'http://a.example/b', sourceType: 'http', certConfigMap: 'c' },
        lookup: aLookup({ certificates: 'none' }),
      },
    ],
    [
      'certificates under any key',
      {
        spec: { url: 'https://a.example/b', sourceType: 'http', certConfigMap: 'c' },
        lookup: aLookup({ certificates: 'unnamed' }),
      },
    ],
    ['no secret', { spec: { secretRef: undefined }, lookup: aLookup({ secret: 'missing' }) }],
    ['a cluster without DataSources', { surroundings: { ...surroundings, hasDataSources: false } }],
  ])('nothing, for %s', (_name, overrides) => {
    expect(blocked(overrides)).toBeUndefined()
  })

  it('tells the first thing first when much is missing', () => {
    const lookup = aLookup({ secret: 'missing', hasStorageClass: false, hasSnapshotClass: false })
    expect(blocked({ lookup })?.reason).toBe('SecretMissing')
    expect(blocked({ lookup, namespaceTerminating: true })?.reason).toBe('NamespaceTerminating')
  })
})

describe('what is to be read', () => {
  const unread = aLookup({ secret: 'pending', certificates: 'pending' })
  const both = { spec: { certConfigMap: 'c' }, lookup: unread }
  const all = [
    { kind: 'Secret', name: 'creds' },
    { kind: 'ConfigMap', name: 'c' },
  ]

  it.each<[string, ImageWorldOverrides, readonly object[] | undefined]>([
    ['is what it names, before an image may start', both, all],
    [
      'is what it names, while it waits for something else',
      { ...both, lookup: { ...unread, hasStorageClass: false } },
      all,
    ],
    ['is only what it names', { lookup: aLookup({ secret: 'pending' }) }, all.slice(0, 1)],
    ['is nothing that was read', { spec: { certConfigMap: 'c' } }, undefined],
    ['is nothing while one of them is missing', { ...both, lookup: { ...unread, certificates: 'missing' } }, undefined],
    ['is nothing while its namespace goes', { ...both, namespaceTerminating: true }, undefined],
    ['is nothing while people have suspended it', { ...both, spec: { certConfigMap: 'c', suspend: true } }, undefined],
  ])('%s', (_name, overrides, expected) => {
    const plan = new ImageWalk(overrides).settle().plan()
    expect(plan.reads).toEqual(expected)
    expect(plan.start?.admissible ?? false).toBe(plan.start !== undefined && expected === undefined)
  })

  it('is nothing once the artifact is there', () => {
    const walk = new ImageWalk({ spec: { certConfigMap: 'c' } }).publish()
    expect(walk.set({ lookup: unread }).settle().plan().reads).toBeUndefined()
  })
})
