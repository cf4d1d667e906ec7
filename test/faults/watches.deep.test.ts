import { expect, it } from 'vitest'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import type { Interruption } from '../harness/fault-proxy-watch.ts'
import { heldDownload } from '../harness/held-download.ts'
import type { FaultStage } from './fault-stage.ts'
import { freezeWatches } from './frozen-watches.ts'
import { countLists, RETRY_PERIOD_MS, withOperator } from './watch-stage.ts'

/** The operator drops a frozen watch when the server should have ended it: after a minute at the latest. */
const GIVEN_UP_WITHIN_MS = 60_000

const WAYS: readonly Interruption[] = ['end', 'cut', 'truncate']
/** Number of watches of each kind, from the first one on, that break at their first event: each in another way. */
const BROKEN_WATCHES = WAYS.length

/** Another way first for the kinds of each length of name, so that each way meets the first list of some kind, and its changes. */
function howToBreak(resource: string, nth: number): Interruption {
  return WAYS[(nth + resource.length) % WAYS.length] ?? 'cut'
}

const [BROKEN, FROZEN, FORGOTTEN] = [
  ['broken-1', 'broken-2', 'broken-3'],
  ['frozen-1', 'frozen-2'],
  ['forgotten-1', 'forgotten-2', 'forgotten-3'],
] as const

const cluster = useOwnCluster()

it('watches may break, freeze without a word, or be asked to go on from a version that etcd has forgotten: nothing is lost', async () => {
  await withOperator(cluster(), [...BROKEN, ...FROZEN, ...FORGOTTEN], async (stage) => {
    await breakAll(stage)
    await freezeAll(stage)
    await forget(stage)
  })
})

/** They are taken up where they were, without a new list. */
async function breakAll({ world, proxy }: FaultStage): Promise<void> {
  proxy.rule = ({ verb, nth, resource }) =>
    verb === 'watch' && nth <= BROKEN_WATCHES ? { type: 'interrupt', how: howToBreak(resource, nth) } : undefined
  for (const name of BROKEN) await world.createImage(name)
  for (const name of BROKEN) await world.untilSynced(name)
  proxy.rule = undefined
  for (const resource of ['vmdiskimages', 'datavolumes', 'volumesnapshots']) {
    const watches = proxy.seen.filter((seen) => seen.verb === 'watch' && seen.resource === resource)
    expect(watches.length, resource).toBeGreaterThan(BROKEN_WATCHES)
  }
  // The first watch begins with a list. If that one breaks too, the operator lists in pages.
  expect(countLists(proxy)).toBeLessThanOrEqual(2)
}

/** Each is given up within a minute, as the operator itself measures it. */
async function freezeAll(stage: FaultStage): Promise<void> {
  const frozen = await freezeWatches(stage, FROZEN)
  expect(frozen.length).toBeGreaterThan(2)
  for (const { resource, renewals } of frozen) {
    // At most this many renewals fit into that time, on a machine of any speed.
    expect(renewals, `renewals of the Lease until the watch of ${resource} was given up`).toBeLessThanOrEqual(
      GIVEN_UP_WITHIN_MS / RETRY_PERIOD_MS,
    )
  }
}

/** Then everything is listed again. */
async function forget({ world, proxy }: FaultStage): Promise<void> {
  const { controlPlane } = cluster()
  const [first, ...others] = FORGOTTEN
  const lists = countLists(proxy)
  const release = await heldDownload(world, first)
  proxy.rule = ({ verb }) => (verb === 'watch' ? { type: 'reset' } : undefined)
  // At the next event, so that the operator's version of images is certainly older than the compaction.
  for (const watch of proxy.watches) watch.interrupt('cut')
  for (const name of others) await world.createImage(name)
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
  for (const name of FORGOTTEN) await world.untilSynced(name)
  expect(countLists(proxy)).toBeGreaterThan(lists)
}
