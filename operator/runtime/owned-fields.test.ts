import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/kube-object.ts'
import { changeTo, labelsTo, ownsEqual } from './owned-fields.ts'

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
      aChild({}),
      aChild({}, { labels: { 'pelotech.ot/version': '1' } }),
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
    const wanted = aChild({}, { labels: { 'pelotech.ot/base-vm': 'b' } })
    expect(labelsTo(wanted, actual)).toEqual({ 'pelotech.ot/version': null, 'pelotech.ot/base-vm': 'b' })
  })

  it('leaves the metadata to the caller', () => {
    expect(changeTo(aChild({}), aChild({}))).not.toHaveProperty('metadata')
  })
})
