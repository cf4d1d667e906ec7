import { expect, it } from 'vitest'
import { apiVersionOf } from '../../operator/kube/kube-object.ts'
import { type CacheDigest, digestOf } from '../../operator/runtime/cache-digest.ts'
import { SERVED_TYPES } from '../../sandbox/memory-cluster/index.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'
import { ScriptedClient } from '../prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../prepared/operator/scripted-operator.ts'
import { cacheDifferences } from './cache-check.ts'

const KIND = 'cdi.kubevirt.io/v1beta1/datavolumes'
const NOTHING = digestOf([])

/** The differences of an operator whose caches match an API server with one DataVolume, except for `more`. */
async function differences(more: (dataVolumes: CacheDigest) => Record<string, CacheDigest>): Promise<string[]> {
  const client = new ScriptedClient()
  const dataVolume = client.put({
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { name: 'a', namespace: 'n', uid: 'a' },
  })
  const operator = (held: Record<string, CacheDigest>) =>
    ({ name: 'replica-0', caches: async () => held }) as unknown as BundledOperator
  const complaints = await cacheDifferences(client, [operator({})])
  const kinds = complaints.map((complaint) => complaint.split(' ')[3]?.replace(',', '') ?? '')
  const digests = SERVED_TYPES.map((type) => {
    const { items } = client.cluster.admin.list(type)
    return [`${apiVersionOf(type)}/${type.plural}`, digestOf(items)] as const
  })
  // No object here matches a kind that is selected by a label.
  const right = Object.fromEntries(
    kinds.map((kind) => [kind, new Map<string, CacheDigest>(digests).get(kind) ?? NOTHING]),
  )
  return await cacheDifferences(client, [operator({ ...right, ...more(digestOf([dataVolume])) })])
}

it('finds nothing where the caches hold what the lists say', async () => {
  expect(await differences((dataVolumes) => ({ [KIND]: dataVolumes }))).toEqual([])
})

it('finds an object that is missing, and one that is stale', async () => {
  expect(await differences(() => ({ [KIND]: NOTHING }))).toEqual([`replica-0 holds 0 ${KIND}, there are 1`])
  const stale = digestOf([{ metadata: { name: 'a', uid: 'a', resourceVersion: '1' } }])
  expect(await differences(() => ({ [KIND]: stale }))).toEqual([
    `replica-0 holds 1 ${KIND}, but not all in the versions that there are`,
  ])
})

it('finds a kind that the operator keeps and nobody compares', async () => {
  const caches = { 'example.com/v1/strangers': NOTHING }
  expect(await differences((dataVolumes) => ({ [KIND]: dataVolumes, ...caches }))).toEqual([
    'replica-0 keeps example.com/v1/strangers, which nobody compares',
  ])
})

it('compares every kind that the operator keeps, and no other', async () => {
  const client = new ScriptedClient()
  const kept = Object.keys(scriptedOperator(client).cached())
  const none = { name: 'replica-0', caches: async () => ({}) } as unknown as BundledOperator
  const complaints = await cacheDifferences(client, [none])
  expect(complaints.map((complaint) => complaint.split(' ')[3]?.replace(',', '')).toSorted()).toEqual(kept.toSorted())
})
