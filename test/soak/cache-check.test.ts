import { expect, it } from 'vitest'
import { FakeClient } from '../../operator/kube/fake-client.fixtures.ts'
import { type Contents, contentsOf } from '../../operator/runtime/contents.ts'
import type { BundledOperator } from '../bench/bundled-operator.ts'
import { cacheDifferences } from './cache-check.ts'

const KIND = 'cdi.kubevirt.io/v1beta1/datavolumes'
const NOTHING = contentsOf([])

/** An API server with one DataVolume, and an operator whose caches are as they should be but for `more`. */
async function differences(more: (dataVolumes: Contents) => Record<string, Contents>): Promise<string[]> {
  const client = new FakeClient()
  const dataVolume = client.put({
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    metadata: { name: 'a', namespace: 'n', uid: 'a' },
  })
  const operator = (held: Record<string, Contents>) =>
    ({ name: 'replica-0', caches: async () => held }) as unknown as BundledOperator
  const complaints = await cacheDifferences(client, [operator({})])
  const kinds = complaints.map((complaint) => complaint.split(' ')[3]?.replace(',', '') ?? '')
  const right = Object.fromEntries(kinds.map((kind) => [kind, NOTHING]))
  return await cacheDifferences(client, [operator({ ...right, ...more(contentsOf([dataVolume])) })])
}

it('finds nothing where the caches hold what the lists say', async () => {
  expect(await differences((dataVolumes) => ({ [KIND]: dataVolumes }))).toEqual([])
})

it('finds an object that is missing, and one that is stale', async () => {
  expect(await differences(() => ({ [KIND]: NOTHING }))).toEqual([`replica-0 holds 0 ${KIND}, there are 1`])
  const stale = contentsOf([{ metadata: { name: 'a', uid: 'a', resourceVersion: '1' } }])
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
