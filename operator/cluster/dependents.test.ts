import { expect, it } from 'vitest'
import type { KubeObject, ObjectMeta } from '../kube/kube-object.ts'
import { DEPENDENTS_MS, endingWaits } from './dependents.ts'

const AT = '2026-01-01T00:00:00Z'
const GOING: Partial<ObjectMeta> = { deletionTimestamp: AT, finalizers: ['foregroundDeletion'] }
const DUE = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u', propagationPolicy: 'Background' }

it.each<[string, Partial<ObjectMeta>, number, readonly object[]]>([
  ['is not being deleted', { finalizers: ['foregroundDeletion'] }, DEPENDENTS_MS, []],
  ['has waited for a moment', GOING, DEPENDENTS_MS - 1, []],
  ['has waited for too long', GOING, DEPENDENTS_MS, [DUE]],
  ['is kept by something else', { ...GOING, finalizers: ['tenant.example.com/keep'] }, DEPENDENTS_MS, []],
])('a child that %s', (_what, metadata, ms, expected) => {
  const child: KubeObject = { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', uid: 'u', ...metadata } }
  const { remove } = endingWaits({ remove: [] }, [child, undefined], Date.parse(AT) + ms)
  expect(remove).toEqual(expected)
})

it('a child that waits is looked at when it should be gone, and the rest of the plan stays', () => {
  const child: KubeObject = { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', uid: 'u', ...GOING } }
  const requeue = { afterMs: 10 * DEPENDENTS_MS, because: 'x' }
  const other = { apiVersion: 'v1', kind: 'X', name: 'other', uid: 'other' }
  const ended = endingWaits({ remove: [other], requeue }, [child], Date.parse(AT) + 1_000)
  expect([ended.remove, ended.requeue?.afterMs]).toEqual([[other], DEPENDENTS_MS - 1_000])
})
