import { POLICY_STATUS_NAME } from '@open-terrain/constructs/operator'
import { describe, expect, it, vi } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { HANGS_AFTER_MS } from '../harness/mirror.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const PATIENCE = { timeout: HANGS_AFTER_MS, interval: 100 }
const NAMES = ['a', 'b', 'c', 'd', 'e']

describe('the policy', () => {
  it('is in force as soon as it changes, keeps the last good value of a key that gets a bad one, says so, and stays when it is deleted', async () => {
    await using world = await World.start(cluster())
    await world.until('the limit where there is no policy', () => world.ledger?.limit === 4)
    await world.setPolicy({ concurrency: '2', retryLimit: '1' })
    await world.until('the limit is 2', () => world.ledger?.limit === 2)
    const status = { namespace: world.operatorNamespace, name: POLICY_STATUS_NAME }
    const verdict = async () => ((await world.client.get(CONFIG_MAP, status)) as ConfigMap).data
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'true' }), PATIENCE)
    // Somebody wants it to stay as it is.
    await world.client.mergePatch(CONFIG_MAP, status, { immutable: true })
    await world.setPolicy({ concurrency: 'many', retryLimit: '0', retryBackoffDuration: '-5m' })
    const problems = expect.stringMatching(
      /concurrency: "many" is not used.*\n.*retryBackoffDuration: "-5m" is not used/,
    )
    const values = expect.stringMatching(/concurrency: "2"(.|\n)*retryLimit: "0"/)
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'false', problems, values }), PATIENCE)
    for (const [key, value] of [
      ['concurrency', 'many'],
      ['retryBackoffDuration', '-5m'],
    ] as const) {
      await world.until(`a Warning that names ${key} and ${value}`, () =>
        world
          .eventsOf('sync-operator-policy')
          .some(({ type, message }) => type === 'Warning' && message.includes(key) && message.includes(value)),
      )
    }
    expect(world.ledger?.limit).toBe(2)
    // The valid keys of the same write apply.
    world.imageServer.set({ path: `/${world.namespace}/fails.qcow2`, fault: { status: 500 } })
    await world.createImage('fails')
    await world.untilPhase('fails', 'Failed')
    expect(world.downloads('fails')).toBe(1)
    await world.setPolicy({ concurrency: '3' })
    await world.untilEvent('sync-operator-policy', { reason: 'PolicyValid' })
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'true', problems: '' }), PATIENCE)

    await removePolicy(world)
    await world.untilEvent('sync-operator-policy', { type: 'Warning', reason: 'PolicyDeleted' })
    expect(world.ledger?.limit).toBe(3)
    await world.finish()
  })
})

describe('the ledger', () => {
  it('has the limit of an operator that starts without a policy, and is rebuilt from what runs as soon as somebody deletes it', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    await world.until('the limit is 2', () => world.ledger?.limit === 2)
    await world.operator?.stop()
    await removePolicy(world)
    world.startOperator()
    const release = world.gate.hold('https://images.example.com/')
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('a')
    await world.untilDownloading('b')
    const before = world.ledger?.holders
    await world.client.delete(CONFIG_MAP, { namespace: world.operatorNamespace, name: 'sync-operator-slots' })
    await world.until('the ledger is gone', () => world.ledger === undefined)
    const after = await world.until('the ledger is back', () => world.ledger)
    expect(after.holders.map(({ uid, attempt }) => `${uid} ${attempt}`).sort()).toEqual(
      (before ?? []).map(({ uid, attempt }) => `${uid} ${attempt}`).sort(),
    )
    expect(after.limit).toBe(2)
    release()
    for (const name of NAMES) await world.untilSynced(name)
    for (const name of NAMES) expect(world.downloads(name)).toBe(1)
    await world.finish()
  })
})

async function removePolicy({ client, operatorNamespace }: World): Promise<void> {
  await client.delete(CONFIG_MAP, { namespace: operatorNamespace, name: 'sync-operator-policy' })
}
