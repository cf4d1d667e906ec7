import { describe, expect, it } from 'vitest'
import type { Manifest } from './api-server.ts'
import { differs, type ProviderConfig, replacedBy, restrict } from './changes.ts'
import { missingOf } from './readiness.ts'

const CONFIG: ProviderConfig = {
  enableConfigMapMutable: false,
  enableSecretMutable: false,
  enablePatchForce: false,
  upsertExistingObjects: false,
}

function object(kind: string, rest: object = {}): Manifest {
  return { apiVersion: 'v1', kind, metadata: { name: 'a' }, ...rest }
}

describe('replacedBy', () => {
  const [before, after] = [{ data: { a: 'b' } }, { data: { a: 'c' } }]

  it.each<[string, Manifest, Manifest, Partial<ProviderConfig>, string[]]>([
    ['nothing', object('ConfigMap', before), object('ConfigMap', before), {}, []],
    ['the data of a ConfigMap', object('ConfigMap', before), object('ConfigMap', after), {}, ['data']],
    [
      'data that may change',
      object('ConfigMap', before),
      object('ConfigMap', after),
      { enableConfigMapMutable: true },
      [],
    ],
    ['a Secret', object('Secret', before), object('Secret', after), { enableConfigMapMutable: true }, ['data']],
    [
      'data that is immutable',
      object('ConfigMap', { ...before, immutable: true }),
      object('ConfigMap', { ...after, immutable: true }),
      { enableConfigMapMutable: true },
      ['data'],
    ],
    ['data of other kinds', object('Other', before), object('Other', after), {}, []],
    ['a name', object('Other'), object('Other', { metadata: { name: 'b' } }), {}, ['metadata.name']],
    [
      'a selector',
      object('Deployment', { spec: { selector: { a: 'b' } } }),
      object('Deployment', { spec: { selector: { a: 'c' } } }),
      {},
      ['spec.selector'],
    ],
  ])('judges %s', (_, one, other, config, fields) => {
    expect(replacedBy(one, other, { ...CONFIG, ...config })).toEqual(fields)
  })
})

describe('differs', () => {
  it('looks at what the program names, or named before, alone', () => {
    const live = object('Other', { spec: { named: 1, defaulted: 2 } })
    const next = object('Other', { spec: { named: 1, defaulted: 3 } })
    expect(differs(live, next, [object('Other', { spec: { named: 0 } })])).toBe(false)
    expect(differs(live, next, [object('Other', { spec: { defaulted: 0 } })])).toBe(true)
    expect(restrict({ a: { b: 1, c: 2 }, d: [3] }, { a: { c: 0 }, d: [], e: 0 })).toEqual({ a: { c: 2 }, d: [3] })
  })
})

describe('missingOf', () => {
  const awaited = (waitFor: string, status: object, generation = 2) =>
    object('Other', { metadata: { name: 'a', generation, annotations: { 'pulumi.com/waitFor': waitFor } }, status })
  const settled = (more: object = {}) => ({ conditions: [{ type: 'Settled', status: 'True', ...more }] })

  it.each<[string, Manifest, string | undefined]>([
    ['what nobody awaits', object('Other'), undefined],
    ['a condition that is true', awaited('condition=settled', settled()), undefined],
    ['a condition that is not there', awaited('condition=Settled', {}), 'there is no such condition'],
    [
      'a condition of an earlier spec',
      awaited('condition=Settled', settled({ observedGeneration: 1 })),
      'present spec',
    ],
    [
      'a status of an earlier spec',
      awaited('condition=Settled', { ...settled(), observedGeneration: 1 }),
      'present spec',
    ],
    ['another value', awaited('condition=Settled=False', settled()), 'condition Settled=False'],
    ['one of two', awaited('["condition=Settled", "jsonpath={.status.phase}=Ready"]', settled()), 'absent'],
    ['a path', awaited('jsonpath={.status.phase}=Ready', { phase: 'Ready' }), undefined],
    [
      'a definition that is not served',
      object('CustomResourceDefinition', { status: { conditions: null } }),
      'Established',
    ],
    [
      'a Deployment whose replicas of before still run',
      object('Deployment', {
        apiVersion: 'apps/v1',
        spec: { replicas: 1 },
        status: { replicas: 2, updatedReplicas: 1, conditions: [{ type: 'Available', status: 'True' }] },
      }),
      '1 replicas of before',
    ],
  ])('judges %s', (_, one, missing) => {
    if (missing === undefined) expect(missingOf(one)).toBeUndefined()
    else expect(missingOf(one)).toContain(missing)
  })

  it('lets what skips waiting be', () => {
    const skipped = object('Deployment', { apiVersion: 'apps/v1' })
    const metadata = { name: 'a', annotations: { 'pulumi.com/skipAwait': 'true' } }
    expect(missingOf(skipped)).toBeDefined()
    expect(missingOf({ ...skipped, metadata })).toBeUndefined()
  })
})
