import { describe, expect, it } from 'vitest'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { World } from '../harness/world.ts'

// What a user with `edit` in the operator's namespace can do to the ledger.

describe('somebody who writes the ledger', () => {
  const cluster = useCluster()
  const ledgerIn = ({ operatorNamespace }: World) => ({ namespace: operatorNamespace, name: 'sync-operator-slots' })
  const keysOf = (world: World) =>
    Object.keys(world.mirror.configMaps.get(`${world.operatorNamespace}/sync-operator-slots`)?.data ?? {}).sort()

  it('stops no queue by filling it, as what is not the operator’s is dropped, and freezes it for no longer than the operator needs to make another one', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'first')
    await world.createImage('next')
    const metadata = { annotations: { note: 'x'.repeat(200_000) }, finalizers: ['somebody.example.com/keep'] }
    await world.client.mergePatch(CONFIG_MAP, ledgerIn(world), { metadata, data: { other: 'x'.repeat(1_040_000) } })
    release()
    await world.untilSynced('next')
    const ledger = await world.client.get(CONFIG_MAP, ledgerIn(world))
    expect([keysOf(world), ledger.metadata.annotations, ledger.metadata.finalizers]).toEqual([
      ['holders', 'limit'],
      undefined,
      undefined,
    ])

    await heldDownload(world, 'running')
    const frozen = await world.client.mergePatch(CONFIG_MAP, ledgerIn(world), {
      metadata: { finalizers: ['somebody.example.com/keep'] },
      immutable: true,
    })
    const now = () => world.mirror.configMaps.get(`${world.operatorNamespace}/sync-operator-slots`)
    await world.until('another ledger', () => now() !== undefined && now()?.metadata.uid !== frozen.metadata.uid)
    expect(world.ledger).toMatchObject({ limit: 1, holders: [{ name: 'running' }] })
    world.gate.releaseAll()
    await world.untilSynced('running')
    await world.finish()
  })

  it('fills it with a thousand holders in vain: what runs goes on, and the queue with it', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
    const release = await heldDownload(world, 'running')
    const invented = (at: number) => {
      return { uid: `u${at}`, namespace: 'a', name: `n${at}`, revision: '01234567', attempt: 1, claimant: 'x' }
    }
    const holders = JSON.stringify(Array.from({ length: 1_000 }, (_, at) => invented(at)))
    await world.client.mergePatch(CONFIG_MAP, ledgerIn(world), { data: { limit: '2000', holders } })
    await world.until('the ledger of before', () => world.ledger?.limit === 1 && world.holds('running'))
    await world.createImage('next')
    release()
    const running = await world.untilSynced('running')
    expect(running.status?.attempts?.map(({ outcome, downloads }) => [outcome, downloads])).toEqual([['Succeeded', 1]])
    await world.untilSynced('next')
    // The forged version itself exceeds the limit.
    await world.finish({ isLedgerChecked: false })
  })
})
