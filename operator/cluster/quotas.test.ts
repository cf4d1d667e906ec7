import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../kube/kube-object.ts'
import {
  countingClaims,
  lackAfter,
  lackForClaim,
  lackOfRoom,
  lackText,
  podLimitsOf,
  quotaRefusalIn,
  raiseCommand,
  viewQuota,
} from './quotas.ts'
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
    const lack = lackOfRoom([viewQuota(object({ status: { hard, used } }))], needs)
    expect(lack).toEqual(expected && { quota: 'q', what: expected })
  })

  it.each([{ scopes: ['BestEffort'] }, { scopeSelector: { matchExpressions: [] } }])(
    'is none by a quota for some pods alone: %j',
    (spec) => {
      const quota = viewQuota(object({ spec, status: { hard: { pods: '0' } } }))
      expect(lackOfRoom([quota], needs)).toBeUndefined()
    },
  )
})

const quota = (hard: object, used: object = {}) =>
  viewQuota(object({ metadata: { name: 'q', namespace: 'team' }, status: { hard, used } }))

describe('lackForClaim', () => {
  const claim = { size: '10Gi', storageClass: 'fast' }

  it.each<[string, object, object, object, string | undefined]>([
    ['a quota that nobody has counted yet', {}, {}, claim, undefined],
    ['room for one claim', { 'requests.storage': '10Gi', persistentvolumeclaims: '1' }, {}, claim, undefined],
    [
      'too little storage',
      { 'requests.storage': '20Gi' },
      { 'requests.storage': '12288Mi' },
      claim,
      '2Gi of requests.storage (10Gi needed, and of 20Gi are 12Gi used)',
    ],
    [
      'no claim and no storage more',
      { 'requests.storage': '1G', persistentvolumeclaims: '2' },
      { persistentvolumeclaims: '2' },
      claim,
      '9737418240 of requests.storage (10Gi needed, and of 1000000000 are 0 used), 1 of persistentvolumeclaims (1 needed, and of 2 are 2 used)',
    ],
    [
      'no room in the class',
      { 'fast.storageclass.storage.k8s.io/persistentvolumeclaims': '0' },
      {},
      claim,
      '1 of fast.storageclass.storage.k8s.io/persistentvolumeclaims (1 needed, and of 0 are 0 used)',
    ],
    ['no room in another class', { 'slow.storageclass.storage.k8s.io/requests.storage': '0' }, {}, claim, undefined],
    ['a size that is not known', { 'requests.storage': '1' }, {}, { size: undefined, storageClass: 'fast' }, undefined],
    ['pods alone', { pods: '0', 'count/pods': '0' }, {}, claim, undefined],
  ])('of %s', (_name, hard, used, needed, expected) => {
    const lack = lackForClaim([quota(hard, used)], needed as typeof claim)
    expect(lack && lackText(lack)).toBe(expected)
  })

  it('counts what others have asked for, and has the command that makes room for all', () => {
    const lack = lackForClaim([quota({ persistentvolumeclaims: '5' }, { persistentvolumeclaims: '3' })], claim, [
      claim,
      claim,
    ])
    if (lack === undefined) throw new Error('there is room')
    expect(lackText(lack)).toBe(
      '1 of persistentvolumeclaims (1 needed, and of 5 are 3 used, and 2 asked for by others)',
    )
    expect(raiseCommand(lack)).toBe(
      'kubectl -n team patch resourcequota q --type merge -p \'{"spec":{"hard":{"persistentvolumeclaims":"6"}}}\'',
    )
  })
})

describe('countingClaims', () => {
  it('raises what quotas say is used, of what they limit, to what the claims use', () => {
    const hard = { persistentvolumeclaims: '5', 'requests.storage': '9Gi', pods: '1' }
    const used = { persistentvolumeclaims: '1', 'requests.storage': '7Gi' }
    const claims = [
      { size: '2Gi', storageClass: 'fast' },
      { size: undefined, storageClass: undefined },
    ]
    const [counted] = countingClaims([quota(hard, used)], claims)
    expect(counted?.used).toEqual({ persistentvolumeclaims: '2', 'requests.storage': '7Gi' })
    const ofClass = { 'fast.storageclass.storage.k8s.io/requests.storage': '9Gi' }
    expect(countingClaims([quota(ofClass, {})], claims)[0]?.used).toEqual({
      'fast.storageclass.storage.k8s.io/requests.storage': String(2 * 1024 ** 3),
    })
    expect(countingClaims([quota({}, {})], claims)[0]?.used).toEqual({})
  })
})

describe('what a quota refused', () => {
  const refused = (name: string) =>
    quotaRefusalIn(
      `no room (persistentvolumeclaims "${name}" is forbidden: exceeded quota: q, requested: persistentvolumeclaims=1,requests.storage=11Gi, used: persistentvolumeclaims=2,requests.storage=22Gi, limited: persistentvolumeclaims=9,requests.storage=25Gi)`,
    )

  it('is read from the answer of the API server', () => {
    const requested = { persistentvolumeclaims: '1', 'requests.storage': '11Gi' }
    expect(refused('prime-1')).toEqual({ quota: 'q', requested, count: 2 })
    expect(refused('prime-1-scratch')).toEqual({ quota: 'q', requested, count: 3 })
    expect(quotaRefusalIn("Error starting pod 'importer-x'")).toBeUndefined()
  })

  it.each<[string, object, object, string | undefined]>([
    ['no room as long as all claims of the import do not fit', { 'requests.storage': '25Gi' }, {}, '3 x 11Gi'],
    ['no room while others use it', { 'requests.storage': '40Gi' }, { 'requests.storage': '8Gi' }, '8Gi used'],
    ['room when it is raised', { 'requests.storage': '33Gi' }, { 'requests.storage': '0' }, undefined],
    ['room when it limits that no more', {}, {}, undefined],
    ['no room for so many claims', { persistentvolumeclaims: '2' }, {}, 'persistentvolumeclaims: 3 x 1'],
  ])('has %s', (_name, hard, used, expected) => {
    const lack = lackAfter([viewQuota(object({ status: { hard, used } }))], refused('p-scratch') ?? ({} as never))
    expect(lack).toEqual(expected && expect.stringContaining(expected))
  })

  it('may be a pod', () => {
    const hard = { pods: '5', 'limits.memory': '1Gi', 'requests.storage': '1Gi' }
    const quota = viewQuota(object({ status: { hard, used: { pods: '5' } } }))
    expect(podLimitsOf(quota)).toBe('q (pods: 5 of 5, limits.memory: 0 of 1Gi)')
    expect(podLimitsOf(viewQuota(object({ status: { hard: { services: '1' } } })))).toBeUndefined()
  })
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
