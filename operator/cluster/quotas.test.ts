import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/kube-object.ts'
import { lackOfRoom, viewQuota } from './quotas.ts'
import { viewStorageProfile } from './views.ts'

const object = (rest: object) => ({ apiVersion: 'v1', kind: 'Any', metadata: { name: 'q' }, ...rest }) as KubeObject
const needs = { diskSize: '10Gi', storageClass: 'fast' }

describe('lackOfRoom', () => {
  it.each<[string, object, object, string | undefined]>([
    ['a quota that nobody has counted yet', {}, {}, undefined],
    ['room for both claims', { 'requests.storage': '20Gi' }, {}, undefined],
    ['room for one claim alone', { 'requests.storage': '20479Mi' }, {}, 'two claims of 10Gi each (requests.storage)'],
    [
      'room that others use',
      { 'requests.storage': '100Gi' },
      { 'requests.storage': '85899345921' },
      'two claims of 10Gi each (requests.storage)',
    ],
    [
      'one claim more',
      { persistentvolumeclaims: '5' },
      { persistentvolumeclaims: '4' },
      'two claims (persistentvolumeclaims)',
    ],
    ['no pod more', { 'count/pods': '1' }, { 'count/pods': '1' }, 'the pod that imports (count/pods)'],
    [
      'no room in the class',
      { 'fast.storageclass.storage.k8s.io/requests.storage': '1Gi' },
      {},
      'two claims of 10Gi each (fast.storageclass.storage.k8s.io/requests.storage)',
    ],
    ['no room in another class', { 'slow.storageclass.storage.k8s.io/requests.storage': '1Gi' }, {}, undefined],
    ['nothing that an import needs', { 'count/secrets': '0' }, {}, undefined],
    ['an amount that nobody can read', { 'requests.storage': 'much' }, {}, undefined],
  ])('of %s', (_name, hard, used, expected) => {
    expect(lackOfRoom(viewQuota(object({ status: { hard, used } })), needs)).toBe(expected)
  })

  it.each([{ scopes: ['BestEffort'] }, { scopeSelector: { matchExpressions: [] } }])(
    'is none by a quota for some pods alone: %j',
    (spec) => {
      const quota = viewQuota(object({ spec, status: { hard: { pods: '0' } } }))
      expect(lackOfRoom(quota, needs)).toBeUndefined()
    },
  )
})

describe('a StorageProfile', () => {
  it.each<[string, object, boolean]>([
    ['that CDI has not looked at', {}, false],
    ['of a class that CDI does not know', { status: {} }, true],
    ['without any property', { status: { claimPropertySets: [] } }, true],
    ['with some', { status: { claimPropertySets: [{ accessModes: ['ReadWriteOnce'] }] } }, false],
  ])('%s', (_name, rest, isEmpty) => {
    expect(viewStorageProfile(object(rest)).isEmpty).toBe(isEmpty)
  })
})
