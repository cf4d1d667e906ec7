import { describe, expect, inject, it } from 'vitest'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import type { FaultProxy } from '../harness/fault-proxy.ts'
import type { Interruption } from '../harness/fault-proxy-watch.ts'
import { FaultStage } from './fault-stage.ts'
import { freezeWatches } from './frozen-watches.ts'

const NAMES = Array.from({ length: 6 }, (_, at) => `image-${at}`)
/** So many watches in a row break at their first event: each kind's more than once. */
const BROKEN_WATCHES = 3
/** A frozen watch is given up when the server should have ended it: after a minute at the latest. */
const GIVEN_UP_WITHIN_MS = 60_000
/** Between two renewals of the Lease, at the least: the clock of the operator, as the proxy sees it. */
const RETRY_PERIOD_MS = 500
const LEASE = {
  LEASE_DURATION: '4s',
  LEASE_RENEW_DEADLINE: '3s',
  LEASE_RETRY_PERIOD: `${RETRY_PERIOD_MS}ms`,
}

describe('watches that break', () => {
  const cluster = useCluster()

  async function withOperator(act: (stage: FaultStage) => Promise<void>): Promise<void> {
    const options = { entry: inject('operatorBundle'), concurrency: 2, lease: LEASE }
    await using stage = await FaultStage.start(cluster(), options)
    await act(stage)
    await stage.world.finish()
    for (const name of NAMES) expect(stage.world.downloads(name), name).toBe(1)
  }

  const lists = (proxy: FaultProxy) =>
    proxy.seen.filter(({ isList, resource, status }) => isList && resource === 'vmdiskimages' && status === 200).length

  it.each<Interruption>(['end', 'cut', 'truncate'])(
    'lose nothing, and are taken up where they were, without a new list: %s',
    async (how) => {
      await withOperator(async ({ world, proxy }) => {
        proxy.rule = ({ verb, nth }) =>
          verb === 'watch' && nth <= BROKEN_WATCHES ? { type: 'interrupt', how } : undefined
        for (const name of NAMES) await world.createImage(name)
        for (const name of NAMES) await world.untilSynced(name)
        const images = proxy.seen.filter(({ verb, resource }) => verb === 'watch' && resource === 'vmdiskimages')
        expect(images.length).toBeGreaterThan(BROKEN_WATCHES)
        // The first watch begins with a list; where that is broken off itself, pages take its place.
        expect(lists(proxy)).toBeLessThanOrEqual(2)
      })
    },
  )

  it('may be late: decisions on what was true a second ago do no harm', async () => {
    await withOperator(async ({ world, proxy }) => {
      await world.until('all kinds are watched', () => proxy.watches.size >= 12)
      for (const watch of proxy.watches) watch.delayMs = 250
      for (const name of NAMES) await world.createImage(name)
      for (const name of NAMES) await world.untilSynced(name, 60_000)
    })
  })

  it('may freeze without a word: each is given up within a minute, as the operator itself measures it', async () => {
    await withOperator(async (stage) => {
      const frozen = await freezeWatches(stage, NAMES)
      expect(frozen.length).toBeGreaterThan(2)
      for (const { resource, renewals } of frozen) {
        // That many fit into the time at most, on a machine of any speed.
        expect(renewals, `renewals of the Lease until the watch of ${resource} was given up`).toBeLessThanOrEqual(
          GIVEN_UP_WITHIN_MS / RETRY_PERIOD_MS,
        )
      }
    })
  }, 300_000)

  it('may be asked to go on from a version that etcd has forgotten: then everything is listed again', async () => {
    await withOperator(async ({ world, proxy }) => {
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
      // Or the history of this test would have a hole.
      await world.history.catchUp()
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
