import { allow } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import { differences } from './differences.ts'
import { parseUse, type Use } from './uses.ts'

const RIGHTS = {
  cluster: [allow('', ['secrets'], ['get', 'list']), allow('pelotech.ot', ['vmdiskimages'], ['use'])],
  own: [{ ...allow('coordination.k8s.io', ['leases'], ['update']), resourceNames: ['lease'] }],
}
const UNSEEN = { 'use vmdiskimages': 'a policy asks for it' }

function use(verb: string, resource: string, more: Partial<Use> = {}): Use {
  return { verb, group: '', resource, isOwn: false, isAllowed: true, ...more }
}
const LEASE = use('update', 'leases', { group: 'coordination.k8s.io', isOwn: true, name: 'lease' })
const ALL = [use('get', 'secrets'), use('list', 'secrets'), LEASE]

describe('what is granted and what is used', () => {
  it('are the same where all is used, but for what no audit log shows', () => {
    expect(differences(RIGHTS, ALL, UNSEEN)).toEqual([])
  })

  it.each([
    ['a verb that nobody used', ALL.slice(1), 'get secrets in every namespace is granted and never used: take it out'],
    [
      'a verb that was used in the own namespace alone',
      [...ALL.slice(1), use('get', 'secrets', { isOwn: true })],
      'get secrets in every namespace is granted and never used: take it out, or grant it in the own namespace alone',
    ],
    [
      'a verb that was refused',
      [...ALL.slice(1), use('get', 'secrets', { isAllowed: false })],
      'get secrets in every namespace is granted and never used: take it out',
    ],
    [
      'a verb that is not granted',
      [...ALL, use('delete', 'secrets', { isAllowed: false })],
      'delete secrets in every namespace is used and not granted',
    ],
    [
      'another name than the one that is granted',
      [...ALL, { ...LEASE, name: 'other' }],
      'update leases of coordination.k8s.io in the own namespace is used and not granted',
    ],
    [
      'what is granted in the own namespace alone, elsewhere',
      [...ALL, { ...LEASE, isOwn: false }],
      'update leases of coordination.k8s.io in every namespace is used and not granted',
    ],
    [
      'what no audit log is said to show',
      [...ALL, use('use', 'vmdiskimages', { group: 'pelotech.ot' })],
      'use vmdiskimages of pelotech.ot in every namespace is in the list of what no audit log shows, but was seen: take it off the list',
    ],
  ])('differ by %s', (_what, uses, words) => {
    expect(differences(RIGHTS, uses, UNSEEN)).toEqual([words])
  })

  it('differ by an entry of the list that is not granted at all', () => {
    expect(differences(RIGHTS, ALL, { ...UNSEEN, 'get nodes': 'nobody knows' })).toEqual([
      'get nodes is in the list of what no audit log shows, but is not granted: take it off the list',
    ])
  })
})

describe('a line of an audit log', () => {
  const line = (change: object) =>
    JSON.stringify({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      verb: 'update',
      userAgent: 'open-terrain-operator/lease',
      user: { username: 'system:serviceaccount:ours:open-terrain-operator' },
      objectRef: { resource: 'leases', apiGroup: 'coordination.k8s.io', namespace: 'ours', name: 'lease' },
      annotations: { 'authorization.k8s.io/decision': 'allow' },
      ...change,
    })

  it('tells what the operator asked for', () => {
    expect(parseUse(line({}))).toEqual(LEASE)
    const status = { resource: 'vmdiskimages', subresource: 'status', apiGroup: 'pelotech.ot', namespace: 'theirs' }
    expect(parseUse(line({ objectRef: status, annotations: { 'authorization.k8s.io/decision': 'forbid' } }))).toEqual({
      verb: 'update',
      group: 'pelotech.ot',
      resource: 'vmdiskimages/status',
      isOwn: false,
      isAllowed: false,
    })
  })

  it.each([
    ['another account', { user: { username: 'system:serviceaccount:kube-system:generic-garbage-collector' } }],
    ['a test in the name of the operator', { userAgent: 'open-terrain-scenario' }],
    ['nobody that says who it is', { userAgent: undefined }],
    ['no object', { objectRef: undefined }],
  ])('is left out where it is about %s', (_what, change) => {
    expect(parseUse(line(change))).toBeUndefined()
  })

  it('is read behind a line of any length that an API server began and was killed', () => {
    const killed = line({ userAgent: 'a killed one {"kind":"Event","apiVersion":"audit.k8s.io/v1"}' })
    for (let end = 0; end < killed.length; end += 1) {
      expect(parseUse(killed.slice(0, end)), `${end} characters alone`).toBeUndefined()
      expect(parseUse(killed.slice(0, end) + line({})), `${end} characters before it`).toEqual(LEASE)
    }
  })
})
