import { expect, inject, it } from 'vitest'
import { BundledOperator } from '../bench/bundled-operator.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { FaultProxy } from '../harness/fault-proxy.ts'
import { World } from '../harness/world.ts'

const GOOD = Array.from({ length: 4 }, (_, at) => `good-${at}`)
const POLICY = { concurrency: '3', retryLimit: '1', retryBackoffDuration: '1s' }

const cluster = useOwnCluster()

it('the operator counts its requests as a proxy does that sees them pass', async () => {
  await using world = await World.start(cluster(), { policy: POLICY, idle: true })
  await using proxy = await FaultProxy.start(cluster())
  await using operator = await BundledOperator.start({
    entry: inject('operatorBundle'),
    kubeconfig: proxy.kubeconfigPath,
    namespace: world.operatorNamespace,
  })
  world.imageServer.set({ path: `/${world.namespace}/broken.qcow2`, fault: { status: 500 } })
  for (const name of [...GOOD, 'broken']) await world.createImage(name)
  for (const name of GOOD) await world.untilSynced(name)
  await world.untilPhase('broken', 'Failed')
  await world.finish()
  // Requests in flight are counted on one side only, and the Lease is renewed all the time.
  await expect.poll(async () => differences(await told(operator), seen(proxy))).toEqual({})
  // The counts are those of four successes and two failed attempts.
  expect(proxy.countOf('create', 'datavolumes')).toBe(GOOD.length + 2)
  expect(proxy.countOf('create', 'volumesnapshots')).toBe(GOOD.length)
})

type Counts = ReadonlyMap<string, number>

/** The operator's counts, by `verb resource status`. */
async function told(operator: BundledOperator): Promise<Counts> {
  const counts = new Map<string, number>()
  for (const { name, labels, value } of await operator.metrics()) {
    if (name === 'rest_client_requests_total')
      counts.set(`${labels['method']} ${labels['resource']} ${labels['code']}`, value)
  }
  return counts
}

/** The proxy's counts, by the same key. The metric ignores subresources, and counts a watch that begins with what exists as a list. */
function seen(proxy: FaultProxy): Counts {
  const counts = new Map<string, number>()
  for (const { verb, isList, resource, status } of proxy.seen) {
    const key = `${isList ? 'list' : verb} ${resource.split('/')[0]} ${status}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

function differences(told: Counts, seen: Counts): Record<string, string> {
  const keys = [...new Set([...told.keys(), ...seen.keys()])]
  const different = keys.filter((key) => told.get(key) !== seen.get(key))
  return Object.fromEntries(different.map((key) => [key, `told ${told.get(key) ?? 0}, seen ${seen.get(key) ?? 0}`]))
}
