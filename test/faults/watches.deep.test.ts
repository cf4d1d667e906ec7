import { describe, expect, it } from 'vitest'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import type { Interruption } from '../harness/fault-proxy-watch.ts'
import { freezeWatches } from './frozen-watches.ts'
import { countLists, NAMES, RETRY_PERIOD_MS, withOperator } from './watch-stage.ts'

/** The operator drops a frozen watch when the server should have ended it: after a minute at the latest. */
const GIVEN_UP_WITHIN_MS = 60_000

const WAYS: readonly Interruption[] = ['end', 'cut', 'truncate']
/** Number of watches of each kind, from the first one on, that break at their first event: each in another way. */
const BROKEN_WATCHES = WAYS.length

/** Another way first for the kinds of each length of name, so that each way meets the first list of some kind, and its changes. */
function howToBreak(resource: string, nth: number): Interruption {
  return WAYS[(nth + resource.length) % WAYS.length] ?? 'cut'
}

describe('watches', () => {
  const cluster = useOwnCluster()

  it('may be late: decisions on what was true a second ago do no harm', async () => {
    await withOperator(cluster(), async ({ world, proxy }) => {
      await world.until('all kinds are watched', () => proxy.watches.size >= 12)
      for (const watch of proxy.watches) watch.delayMs = 250
      for (const name of NAMES) await world.createImage(name)
      for (const name of NAMES) await world.untilSynced(name)
    })
  })

  it('may freeze without a word: each is given up within a minute, as the operator itself measures it', async () => {
    await withOperator(cluster(), async (stage) => {
      const frozen = await freezeWatches(stage, NAMES)
      expect(frozen.length).toBeGreaterThan(2)
      for (const { resource, renewals } of frozen) {
        // At most this many renewals fit into that time, on a machine of any speed.
        expect(renewals, `renewals of the Lease until the watch of ${resource} was given up`).toBeLessThanOrEqual(
          GIVEN_UP_WITHIN_MS / RETRY_PERIOD_MS,
        )
      }
    })
  })

  it('may break: nothing is lost, and they are taken up where they were, without a new list', async () => {
    await withOperator(cluster(), async ({ world, proxy }) => {
      proxy.rule = ({ verb, nth, resource }) =>
        verb === 'watch' && nth <= BROKEN_WATCHES ? { type: 'interrupt', how: howToBreak(resource, nth) } : undefined
      for (const name of NAMES) await world.createImage(name)
      for (const name of NAMES) await world.untilSynced(name)
      for (const resource of ['vmdiskimages', 'datavolumes', 'volumesnapshots']) {
        const watches = proxy.seen.filter((seen) => seen.verb === 'watch' && seen.resource === resource)
        expect(watches.length, resource).toBeGreaterThan(BROKEN_WATCHES)
      }
      // The first watch begins with a list. If that one breaks too, the operator lists in pages.
      expect(countLists(proxy)).toBeLessThanOrEqual(2)
    })
  })

  it('may be asked to go on from a version that etcd has forgotten: then everything is listed again', async () => {
    await withOperator(cluster(), async ({ world, proxy }) => {
      const { controlPlane } = cluster()
      const release = world.gate.hold('https://images.example.com/')
      await world.createImage('image-0')
      await world.untilDownloading('image-0')
      proxy.rule = ({ verb }) => (verb === 'watch' ? { type: 'reset' } : undefined)
      // At the next event, so that the operator's version of images is certainly older than the compaction.
      for (const watch of proxy.watches) watch.interrupt('cut')
      for (const name of NAMES.slice(1)) await world.createImage(name)
      await world.client.create(CONFIG_MAP, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'news', namespace: world.namespace },
      })
      // Otherwise the history of this test would miss revisions.
      await world.history.catchUp()
      await controlPlane.compact()
      // The watch caches of a new API server begin with the present.
      await controlPlane.apiServer.kill()
      await controlPlane.apiServer.start()
      proxy.rule = undefined
      release()
      for (const name of NAMES) await world.untilSynced(name)
      expect(countLists(proxy)).toBeGreaterThan(1)
    })
  })
})
