import { describe, expect, it } from 'vitest'
import { explainsReasons, judgesSpecs } from '../../test/prepared/api/kind-suite.ts'
import { PROPOSED_IMAGE, SPEC_FIXTURES } from '../../test/prepared/api/vm-disk-image.ts'
import { parseVMDiskImageSpec, REASON_HELP, REASONS, revisionOf, vmDiskImage } from './vm-disk-image.ts'

describe('parseVMDiskImageSpec', () => {
  judgesSpecs(SPEC_FIXTURES, parseVMDiskImageSpec, PROPOSED_IMAGE.spec)

  it('reads a diskSize in bytes as a text', () => {
    expect(parseVMDiskImageSpec({ sourceType: 'blank', diskSize: 1048576 })).toEqual({
      ok: true,
      spec: { sourceType: 'blank', diskSize: '1048576' },
    })
  })

  it('reports every problem, not only the first', () => {
    const parsed = parseVMDiskImageSpec({
      url: 'https://a.example/b',
      diskSize: 'big',
      unreferencedTTL: 'soon',
      suspend: 1,
    })
    expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).toEqual([
      'spec.diskSize',
      'spec.unreferencedTTL',
      'spec.suspend',
    ])
  })
})

describe('revisionOf', () => {
  const base = { url: 'https://a.example/b', sourceType: 'http' as const, diskSize: '24Gi' }

  /** Fixed values: an edit of the hashing must not make every image in every cluster download again. */
  it.each([
    [base, undefined, 'afcfd968'],
    [base, '2026-01-31T12:00:00Z', '0879cb45'],
    [{ ...base, storageClass: 'gp3', checksum: `md5:${'0'.repeat(32)}` }, undefined, 'fad5bfa7'],
    [{ sourceType: 'blank' as const }, undefined, '0082f7e3'],
  ])('stays what it was: %j %s', (spec, syncRequestedAt, revision) => {
    expect(revisionOf(spec, syncRequestedAt)).toBe(revision)
  })

  it.each([
    ['another spelling of the size', { ...base, diskSize: '24576Mi' }],
    ['a size in bytes', { ...base, diskSize: String(24 * 2 ** 30) }],
    ['a snapshot class', { ...base, snapshotClass: 'x' }],
    ['a secret', { ...base, secretRef: 'x' }],
    ['certificates', { ...base, certConfigMap: 'x' }],
    ['a name', { ...base, name: 'x' }],
    ['how it is removed', { ...base, reclaimPolicy: 'Delete' as const, unreferencedTTL: '1h' }],
    ['suspend', { ...base, suspend: true }],
  ])('is the same for %s', (_name, spec) => {
    expect(revisionOf(spec)).toBe(revisionOf(base))
  })

  it('differs for all that decides about the content', () => {
    const specs = [
      base,
      { ...base, url: 'https://a.example/c' },
      { ...base, sourceType: 's3' as const },
      { ...base, diskSize: '25Gi' },
      { ...base, storageClass: 'gp3' },
      { ...base, checksum: `md5:${'0'.repeat(32)}` },
    ]
    const revisions = [...specs.map((spec) => revisionOf(spec)), revisionOf(base, 'now'), revisionOf(base, '')]
    expect(new Set(revisions).size).toBe(revisions.length)
  })
})

describe('VMDiskImage', () => {
  explainsReasons(REASONS, REASON_HELP)

  it('reads a status in full and an empty one', () => {
    const condition = { type: 'Ready', status: 'True', reason: 'Synced', message: '', observedGeneration: 1 }
    const status = { phase: 'Succeeded', ticket: '12', conditions: [condition], references: { count: 0, names: [] } }
    expect(vmDiskImage.status.parse(status)).toEqual(status)
    expect(vmDiskImage.status.parse({})).toEqual({})
  })
})
