import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/kube-object.ts'
import { changeTo, isChange, labelsTo, ownsEqual, sharedList } from './owned-fields.ts'

const ours = [{ apiVersion: 'pelotech.ot/v1', kind: 'Owner', name: 'o', uid: 'o', controller: true }]
const aChild = (spec: unknown, metadata: Partial<KubeObject['metadata']> = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Child', metadata: { name: 'a', ...metadata }, spec }) as KubeObject

describe('a child is as wanted', () => {
  it.each<[string, KubeObject, KubeObject]>([
    ['as it is', aChild({ b: 1 }), aChild({ b: 1 })],
    ['in another order of keys', aChild({ a: 1, b: 2 }), aChild({ b: 2, a: 1 })],
    ['where we want nothing of a field', aChild({ a: undefined }), aChild({})],
    [
      'beside labels of others',
      aChild({}, { labels: { ours: '1' } }),
      aChild({}, { labels: { ours: '1', other: '2' } }),
    ],
    ['whatever its version', aChild({}), aChild({}, { resourceVersion: '7', uid: 'u' })],
  ])('%s', (_name, wanted, actual) => {
    expect(ownsEqual(wanted, actual)).toBe(true)
  })

  it.each<[string, KubeObject, KubeObject]>([
    ['another value', aChild({ a: 1 }), aChild({ a: 2 })],
    ['a missing field', aChild({ a: 1 }), aChild({})],
    ['a field that we do not want', aChild({ snapshot: {} }), aChild({ snapshot: {}, pvc: {} })],
    ['another type', aChild({ a: '1' }), aChild({ a: 1 })],
    ['a longer list', aChild({ a: [1] }), aChild({ a: [1, 2] })],
    ['a list in another order', aChild({ a: [1, 2] }), aChild({ a: [2, 1] })],
    ['null', aChild({ a: {} }), aChild({ a: null })],
    ['no list', aChild({ a: [] }), aChild({ a: {} })],
    ['a missing label', aChild({}, { labels: { ours: '1' } }), aChild({})],
    [
      'a label of ours that we do not want any more',
      aChild({}, { ownerReferences: ours }),
      aChild({}, { labels: { 'pelotech.ot/version': '1' }, ownerReferences: ours }),
    ],
    ['another label', aChild({}, { labels: { ours: '1' } }), aChild({}, { labels: { ours: '2' } })],
  ])('but not with %s', (_name, wanted, actual) => {
    expect(ownsEqual(wanted, actual)).toBe(false)
  })
})

describe('the change', () => {
  it('sets what is wanted and takes away what is not', () => {
    const wanted = aChild({ source: { snapshot: { name: 's' } } })
    const actual = aChild({ source: { pvc: { name: 'p' } } })
    expect(changeTo(wanted, actual)).toMatchObject({ spec: { source: { snapshot: { name: 's' }, pvc: null } } })
  })

  it('takes away labels of ours, and none of others', () => {
    const actual = aChild({}, { labels: { 'pelotech.ot/version': '1', 'pelotech.ot/base-vm': 'a', theirs: '2' } })
    const wanted = aChild({}, { labels: { 'pelotech.ot/base-vm': 'b' }, ownerReferences: ours })
    expect(labelsTo(wanted, actual)).toEqual({ 'pelotech.ot/version': null, 'pelotech.ot/base-vm': 'b' })
  })

  it('leaves the metadata to the caller', () => {
    expect(changeTo(aChild({}), aChild({}))).not.toHaveProperty('metadata')
  })
})

describe('a merge patch', () => {
  const actual = { metadata: { name: 'a', labels: { b: '1' } }, spec: { list: [1], more: 2 } }
  it.each<[string, object, boolean]>([
    ['that says what is there', { metadata: { labels: { b: '1' } }, spec: { list: [1] } }, false],
    ['that takes off what is not there', { metadata: { labels: { c: null } }, spec: { other: null } }, false],
    ['of nothing', { spec: undefined }, false],
    ['with another value', { spec: { list: [1, 2] } }, true],
    ['with a new member', { metadata: { labels: { c: '1' } } }, true],
    ['that takes something off', { spec: { more: null } }, true],
    ['that takes all off', { spec: null }, true],
  ])('%s: does it change anything?', (_what, patch, expected) => {
    expect(isChange(patch, actual)).toBe(expected)
  })
})

it('a change takes nothing off a volume or a claim that Kubernetes has written when it bound them', () => {
  const volume = (spec: object) => ({ ...aChild(spec), kind: 'PersistentVolume' })
  const wanted = volume({ capacity: { storage: '2Gi' }, claimRef: { name: 'c' } })
  const actual = volume({ capacity: { storage: '1Gi' }, claimRef: { name: 'c', uid: 'u' }, volumeMode: 'Filesystem' })
  expect(changeTo(wanted, actual)).toMatchObject({ spec: { claimRef: { name: 'c' } } })
  expect(JSON.stringify(changeTo(wanted, actual))).not.toContain('null')
})

it('a change takes nothing off a Service that Kubernetes has given it, and what others have given it', () => {
  const service = (spec: object) => ({ ...aChild(spec), kind: 'Service' })
  const wanted = service({ type: 'ClusterIP', selector: { a: '1' } })
  const given = { clusterIP: '10.96.0.1', ipFamilies: ['IPv4'], loadBalancerSourceRanges: ['192.0.2.0/24'] }
  const actual = service({ type: 'ClusterIP', selector: { a: '1', b: '2' }, externalIPs: ['192.0.2.1'], ...given })
  expect(changeTo(wanted, actual)).toMatchObject({
    spec: { type: 'ClusterIP', selector: { a: '1', b: null }, externalIPs: null },
  })
  expect(Object.keys((changeTo(wanted, actual) as { readonly spec: object }).spec)).not.toContain('clusterIP')
})

describe('a list that others add to', () => {
  const named = (...names: string[]) => names.map((name) => ({ name, of: 'ours' }))
  const theirs = { name: 'data', serial: '1' }

  it.each<[string, unknown, readonly unknown[], string[], string[]]>([
    ['is ours alone', named('a', 'b'), named('a', 'b'), [], []],
    ['is not there yet', undefined, named('a', 'b'), [], []],
    ['has more, wherever that is', [theirs, ...named('a', 'b')], [theirs, ...named('a', 'b')], ['data'], []],
    ['has ours in another order', [...named('b', 'a'), theirs], [...named('a', 'b'), theirs], ['data'], []],
    ['has one of ours changed', [theirs, { name: 'a' }, ...named('b')], [...named('a', 'b'), theirs], ['data'], []],
    ['lacks one of ours', [theirs, ...named('b')], [...named('a', 'b'), theirs], ['data'], []],
    [
      'has one that we rendered before',
      [...named('old', 'a', 'b'), theirs],
      [...named('a', 'b'), theirs],
      ['data'],
      ['old'],
    ],
    ['has items without a name', [7, ...named('a', 'b')], [7, ...named('a', 'b')], [''], []],
  ])('has our items as wanted, and keeps theirs, where it %s', (_what, actual, items, others, gone) => {
    expect(sharedList(named('a', 'b'), actual, (name) => name === 'old')).toEqual({ items, others, gone })
  })
})
