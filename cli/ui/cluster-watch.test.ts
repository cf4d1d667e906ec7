import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { ClusterWatch } from './cluster-watch.ts'
import type { Update } from './rows.ts'

let client: ScriptedClient
let stopping: AbortController
let updates: Update[]
beforeEach(() => {
  client = new ScriptedClient()
  stopping = new AbortController()
  updates = []
})
afterEach(() => stopping.abort())

function put(name: string, phase: string): void {
  client.put({
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'Workspace',
    metadata: { name, generation: 1 },
    spec: {},
    status: { observedGeneration: 1, phase },
  } as KubeObject)
}

async function started(): Promise<ClusterWatch> {
  const watch = new ClusterWatch({ client, clock: client.clock, random: () => 0.5, operatorNamespace: 'sync-operator' })
  watch.subscribe((update) => updates.push(update))
  void watch.run(stopping.signal)
  await client.clock.advance(1_000)
  return watch
}

const lastOf = () => updates.at(-1)

describe('what the page is told', () => {
  it('is all that is known at first, and then what has changed, together', async () => {
    put('lab-1', 'Ready')
    const watch = await started()
    expect(watch.everything()).toMatchObject({ isWhole: true, problems: {}, pending: [] })
    expect(watch.everything().kinds.labs?.put.map(({ key, phase }) => [key, phase])).toEqual([['lab-1', 'Ready']])
    updates.length = 0
    put('lab-2', 'Ready')
    put('lab-2', 'Failed')
    client.drop('Workspace', 'lab-1')
    await client.clock.advance(1_000)
    expect(updates).toHaveLength(1)
    expect(lastOf()?.kinds.labs).toMatchObject({ put: [{ key: 'lab-2', phase: 'Failed' }], gone: ['lab-1'] })
  })

  it('is of an image what it waits for, and not again what all others wait for', async () => {
    const image = (name: string, reason: string) => {
      const status = { observedGeneration: 1, phase: 'Queued', reason, ticket: '1' }
      const metadata = { namespace: 'images', name, generation: 1 }
      client.put({ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', metadata, spec: {}, status } as KubeObject)
    }
    for (let at = 0; at < 100; at++) image(`held-${at}`, 'SecretMissing')
    image('queued', 'Queued')
    const watch = await started()
    const rows = watch.everything().kinds.images?.put ?? []
    expect(rows.filter(({ isHeldUp }) => isHeldUp === true)).toHaveLength(100)
    expect(rows.find(({ name }) => name === 'queued')?.isHeldUp).toBeUndefined()
    image('held-1', 'Queued')
    await client.clock.advance(1_000)
    expect(lastOf()?.kinds.images?.put.map(({ name, isHeldUp }) => [name, isHeldUp])).toEqual([['held-1', undefined]])
    expect(JSON.stringify(lastOf())).not.toContain('held-2')
  })

  it.each([
    [403, 'configmaps is forbidden: User "x"', 'needs watch of configmaps in sync-operator'],
    [500, 'etcd has no leader', 'etcd has no leader'],
  ])('is why the ledger cannot be read: %s', async (status, message, told) => {
    client.before = ({ kind }) => {
      if (kind === 'ConfigMap') throw apiError(status === 403 ? 'Rejected' : 'Unavailable', { status, message })
    }
    const watch = await started()
    expect(watch.everything().slots?.unseen).toContain(told)
  })

  it('is why a kind cannot be read, until it can', async () => {
    let isForbidden = true
    client.before = ({ kind }) => {
      if (kind === 'VMDiskImage' && isForbidden)
        throw apiError('Rejected', { status: 403, message: 'vmdiskimages is forbidden' })
    }
    put('lab-1', 'Ready')
    const watch = await started()
    expect(watch.everything().problems).toEqual({ images: expect.stringContaining('vmdiskimages is forbidden') })
    expect(watch.everything().kinds.labs?.put).toHaveLength(1)
    isForbidden = false
    await client.clock.advance(30_000)
    expect(lastOf()?.problems).toEqual({})
  })
})
