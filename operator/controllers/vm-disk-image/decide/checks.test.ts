import type { Reason } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { aDataVolume } from '../image-objects.fixtures.ts'
import { aLookup, aWorld, type WorldOverrides } from '../image-world.fixtures.ts'
import { whatBlocks } from './checks.ts'
import { resolveTarget } from './target.ts'

const blocked = (overrides: WorldOverrides) => {
  const world = aWorld(overrides)
  if (!world.spec.ok) throw new Error(JSON.stringify(world.spec.problems))
  return whatBlocks(resolveTarget(world.spec.spec, world), world)
}
const surroundings = { hasDataVolumes: true, hasSnapshots: true, hasDataSources: true }
const url = (text: string | undefined, sourceType?: string) => ({ spec: { url: text, sourceType } })

describe('what blocks', () => {
  it.each<[Reason, string, WorldOverrides]>([
    ['NamespaceTerminating', 'team', { namespaceTerminating: true }],
    ['SourceTypeMissing', 'defaultSourceType', { spec: { sourceType: undefined } }],
    ['DiskSizeMissing', 'defaultDiskSize', { spec: { diskSize: undefined } }],
    ['UrlNotAllowed', 'registry', { ...url('https://a.example/b'), policy: { defaultSourceType: 'registry' } }],
    ['UrlNotAllowed', 'http', { ...url('docker://a.example/b'), policy: { defaultSourceType: 'http' } }],
    ['UrlNotAllowed', 's3', { ...url('gs://a.example/b'), policy: { defaultSourceType: 's3' } }],
    ['UrlNotAllowed', 'blank', { ...url('https://a.example/b'), policy: { defaultSourceType: 'blank' } }],
    ['UrlNotAllowed', 'allowedSourceUrls', { policy: { allowedSourceUrls: [] } }],
    ['CDIMissing', 'CDI', { surroundings: { ...surroundings, hasDataVolumes: false } }],
    ['SecretMissing', 'Secret creds', { lookup: aLookup({ secrets: ['creds'] }) }],
    [
      'SecretMissing',
      'Secret d',
      { spec: { secretRef: undefined }, policy: { defaultSecretRef: 'd' }, lookup: aLookup({ secrets: ['d'] }) },
    ],
    ['CertConfigMapMissing', 'ConfigMap c', { spec: { certConfigMap: 'c' }, lookup: aLookup({ configMaps: ['c'] }) }],
    ['StorageClassMissing', 'StorageClass fast', { lookup: aLookup({ storageClasses: ['fast'] }) }],
    [
      'StorageClassMissing',
      'defaultStorageClass',
      { spec: { storageClass: undefined }, lookup: aLookup({}, { hasDefaultStorageClass: false }) },
    ],
    ['ClaimInvalid', 'StorageProfile fast', { lookup: aLookup({}, { hasEmptyProfile: () => true }) }],
    [
      'QuotaExceeded',
      'ResourceQuota q of namespace team',
      { lookup: aLookup({}, { lackOfRoom: () => ({ quota: 'q', what: 'two claims' }) }) },
    ],
    ['SnapshotterMissing', 'snapshot controller', { surroundings: { ...surroundings, hasSnapshots: false } }],
    ['SnapshotClassMissing', 'VolumeSnapshotClass snap', { lookup: aLookup({ snapshotClasses: ['snap'] }) }],
    [
      'NameConflict',
      'PersistentVolumeClaim x',
      { lookup: aLookup({}, { foreignVolume: () => 'PersistentVolumeClaim x' }) },
    ],
    ['NameConflict', 'VolumeSnapshot img-', { lookup: aLookup({}, { foreignSnapshot: () => true }) }],
  ])('%s, in a sentence that names %s', (reason, text, overrides) => {
    expect(blocked(overrides)).toMatchObject({ reason, message: expect.stringContaining(text) })
  })

  it.each<[string, string, WorldOverrides]>([
    ['secretRef', 'defaultSecretRef', { lookup: aLookup({ secrets: ['d'] }) }],
    ['certConfigMap', 'defaultCertConfigMap', { lookup: aLookup({ configMaps: ['d'] }) }],
    ['storageClass', 'defaultStorageClass', { lookup: aLookup({ storageClasses: ['d'] }) }],
    ['snapshotClass', 'defaultSnapshotClass', { lookup: aLookup({ snapshotClasses: ['d'] }) }],
  ])('a name that is missing, and says whether spec.%s or the policy key %s gave it', (field, key, overrides) => {
    const bySpec = blocked({ ...overrides, spec: { [field]: 'd' } })
    const byPolicy = blocked({ ...overrides, spec: { [field]: undefined }, policy: { [key]: 'd' } })
    expect(byPolicy?.reason).toBe(bySpec?.reason)
    expect(bySpec?.message).toContain(`(spec.${field})`)
    expect(byPolicy?.message).toContain(`(the policy key ${key})`)
  })

  it.each<[string, WorldOverrides]>([
    ['a complete spec', {}],
    ['an empty disk', { ...url(undefined, 'blank'), lookup: aLookup({ secrets: ['creds'] }) }],
    [
      'a bucket of Google',
      { ...url('gs://b/k', 'gcs'), lookup: aLookup({ configMaps: ['c'] }), policy: { defaultCertConfigMap: 'c' } },
    ],
    ['a registry', url('docker://a.example/b', 'registry')],
    ['the default storage class', { spec: { storageClass: undefined } }],
    [
      'a download that has what it needs already',
      { dataVolumes: [aDataVolume()], lookup: aLookup({}, { lackOfRoom: () => ({ quota: 'q', what: 'two claims' }) }) },
    ],
    [
      'no snapshots where none are asked for',
      {
        spec: { snapshotClass: undefined },
        surroundings: { ...surroundings, hasSnapshots: false },
        lookup: aLookup({}, { foreignSnapshot: () => true }),
      },
    ],
    ['no secret', { spec: { secretRef: undefined }, lookup: aLookup({ secrets: ['creds'] }) }],
    ['a cluster without DataSources', { surroundings: { ...surroundings, hasDataSources: false } }],
  ])('nothing, for %s', (_name, overrides) => {
    expect(blocked(overrides)).toBeUndefined()
  })

  it('tells the first thing first when much is missing', () => {
    const lookup = aLookup({ secrets: ['creds'], storageClasses: ['fast'], snapshotClasses: ['snap'] })
    expect(blocked({ lookup })?.reason).toBe('SecretMissing')
    expect(blocked({ lookup, namespaceTerminating: true })?.reason).toBe('NamespaceTerminating')
  })
})
