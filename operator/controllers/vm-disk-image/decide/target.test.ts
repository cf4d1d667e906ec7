import { describe, expect, it } from 'vitest'
import { REFRESH, RETRY } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { anImageWorld, type ImageWorldOverrides } from '../../../../test/prepared/vm-disk-image/image-world.ts'

const target = (overrides: ImageWorldOverrides = {}) => {
  const world = anImageWorld(overrides)
  if (!world.spec.ok) throw new Error(JSON.stringify(world.spec.problems))
  return world.spec.target
}
const base = target()

describe('the revision', () => {
  it.each<[string, ImageWorldOverrides]>([
    ['url', { spec: { url: 'https://images.example/b' } }],
    ['sourceType', { spec: { sourceType: 's3' } }],
    ['diskSize', { spec: { diskSize: '11Gi' } }],
    ['storageClass', { spec: { storageClass: 'slow' } }],
    ['checksum', { spec: { checksum: `md5:${'0'.repeat(32)}` } }],
    ['the refresh annotation', { metadata: { annotations: { [REFRESH]: '1' } } }],
  ])('is another one for another %s, and so is the budget', (_name, overrides) => {
    expect(target(overrides).revision).not.toBe(base.revision)
    expect(target(overrides).budgetKey).not.toBe(base.budgetKey)
    expect(target(overrides).volumeName).toBe(`img-${target(overrides).revision}`)
  })

  it.each<[string, ImageWorldOverrides]>([
    ['another way to write the size', { spec: { diskSize: '10240Mi' } }],
    ['snapshotClass', { spec: { snapshotClass: 'other' } }],
    ['name', { spec: { name: 'x' } }],
    ['reclaimPolicy and TTL', { spec: { reclaimPolicy: 'Delete', unreferencedTTL: '1h' } }],
    ['suspend', { spec: { suspend: true } }],
    ['a default of the policy', { policy: { defaultDiskSize: '1Gi', defaultSecretRef: 'x' } }],
  ])('is the same for %s, and so is the budget', (_name, overrides) => {
    expect(target(overrides)).toMatchObject({ revision: base.revision, budgetKey: base.budgetKey })
  })

  it.each<[string, ImageWorldOverrides]>([
    ['secretRef', { spec: { secretRef: 'x' } }],
    ['certConfigMap', { spec: { certConfigMap: 'x' } }],
    ['the retry annotation', { metadata: { annotations: { [RETRY]: '1' } } }],
  ])('is the same for another %s, but the budget is new', (_name, overrides) => {
    expect(target(overrides).revision).toBe(base.revision)
    expect(target(overrides).budgetKey).not.toBe(base.budgetKey)
  })
})

describe('the source', () => {
  const policy = { defaultSecretRef: 's', defaultCertConfigMap: 'c' }

  it('of an empty disk needs no credentials', () => {
    const blank = target({ spec: { sourceType: 'blank', url: undefined, certConfigMap: 'c' }, policy })
    expect([blank.secretRef, blank.certConfigMap]).toEqual([undefined, undefined])
  })

  it('of a bucket of Google takes no certificates', () => {
    const gcs = target({ spec: { sourceType: 'gcs', url: 'gs://b/k', secretRef: undefined }, policy })
    expect([gcs.secretRef, gcs.certConfigMap]).toEqual(['s', undefined])
  })

  it('is what the spec says before what the policy says', () => {
    expect(target({ policy }).secretRef).toBe('creds')
    expect(target({ policy }).certConfigMap).toBe('c')
    expect(target({ policy }).defaults).toEqual({ certConfigMap: 'c' })
  })
})
