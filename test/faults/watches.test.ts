import { describe, expect, inject, it } from 'vitest'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { FaultProxy } from '../harness/fault-proxy.ts'
import type { Interruption } from '../harness/fault-proxy-watch.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

const NAMES = Array.from({ length: 6 }, (_, at) => `image-${at}`)
/** So many watches in a row break at their first event: each kind's more than once. */
const BROKEN_WATCHES = 3
/** A frozen watch is given up when the server should have ended it: after a minute at the latest. */
const UNFROZEN_MS = 120_000

describe('watches that break', () => {
  const cluster = useCluster()

  async function withOperator(act: (world: World, proxy: FaultProxy) => Promise<void>): Promise<void> {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' }, idle: true })
    await using proxy = await FaultProxy.start(cluster())
    const options = { kubeconfig: proxy.kubeconfigPath, entry: inject('operatorBundle') }
    await using _operator = new OperatorProcess(world, 'operator', options)
    await act(world, proxy)
    await world.finish()
    for (const name of NAMES) expect(world.downloads(name), name).toBe(1)
  }

  const lists = (proxy: FaultProxy) => proxy.countOf('list', 'vmdiskimages')

  it.each<Interruption>(['end', 'cut', 'truncate'])(
    'lose nothing, and are taken up where they were, without a new list: %s',
    async (how) => {
      await withOperator(async (world, proxy) => {
        proxy.rule = ({ verb, nth }) =>
          verb === 'watch' && nth <= BROKEN_WATCHES ? { type: 'interrupt', how } : undefined
        for (const name of NAMES) await world.createImage(name)
        for (const name of NAMES) await world.untilSynced(name)
        const images = proxy.seen.filter(({ verb, resource }) => verb === 'watch' && resource === 'vmdiskimages')
        expect(images.length).toBeGreaterThan(BROKEN_WATCHES)
        expect(lists(proxy)).toBe(1)
      })
    },
  )

  it('may be late: decisions on what was true a second ago do no harm', async () => {
    await withOperator(async (world, proxy) => {
      await world.until('all kinds are watched', () => proxy.watches.size >= 12)
      for (const watch of proxy.watches) watch.delayMs = 250
      for (const name of NAMES) await world.createImage(name)
      for (const name of NAMES) await world.untilSynced(name, 60_000)
    })
  })

  it(
    'may freeze without a word: they are given up in time',
    async () => {
      await withOperator(async (world, proxy) => {
        const release = world.gate.hold('https://images.example.com/')
        for (const name of NAMES) await world.createImage(name)
        await world.untilDownloading('image-1')
        const watches = [...proxy.watches]
        for (const watch of watches) watch.interrupt('freeze')
        release()
        for (const name of NAMES) await world.untilSynced(name, UNFROZEN_MS)
        expect(watches.filter(({ isFrozen }) => isFrozen).length).toBeGreaterThan(2)
      })
    },
    2 * UNFROZEN_MS,
  )

  it('may be asked to go on from a version that etcd has forgotten: then everything is listed again', async () => {
    await withOperator(async (world, proxy) => {
      const { controlPlane } = cluster()
      const release = world.gate.hold('https://images.example.com/')
      await world.createImage('image-0')
      await world.untilDownloading('image-0')
      proxy.rule = ({ verb }) => (verb === 'watch' ? { type: 'reset' } : undefined)
      for (const name of NAMES.slice(1)) await world.createImage(name)
      await world.client.create(CONFIG_MAP, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'news', namespace: world.namespace },
      })
      await controlPlane.compact()
      // Its watch caches start with the present.
      await controlPlane.killApiServer()
      await controlPlane.startApiServer()
      proxy.rule = undefined
      release()
      for (const name of NAMES) await world.untilSynced(name, 60_000)
      expect(lists(proxy)).toBeGreaterThan(1)
    })
  })
})
