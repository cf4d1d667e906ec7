import { describe, expect, inject, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { type Fault, FaultProxy, type Rule } from '../harness/fault-proxy.ts'
import type { ProxiedRequest } from '../harness/fault-proxy-request.ts'
import { starts } from '../harness/history.ts'
import type { Image } from '../harness/kinds.ts'
import { checkOrder } from '../harness/ledger-check.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

/** How long three of ten requests go wrong. `FAULT_MINUTES=10` for more. */
const STORM_MS = Number(process.env['FAULT_MINUTES'] ?? 0.5) * 60_000
const STORM_SHARE = 0.3
const LIMIT = 3
/** So many images wait or sync at any time of the storm. */
const CROWD = 24
const DEADLINE_MS = 120_000
/** Long enough that the lead is not lost by errors alone: that is the matter of other tests. */
const LEASE = { LEASE_DURATION: '10s', LEASE_RENEW_DEADLINE: '8s', LEASE_RETRY_PERIOD: '300ms' }

const WATCH_FAULTS: readonly Fault[] = [
  { type: 'answer', status: 429, retryAfterSeconds: 1 },
  { type: 'answer', status: 500 },
  { type: 'reset' },
  { type: 'interrupt', how: 'cut' },
]
const FAULTS: readonly Fault[] = [
  { type: 'answer', status: 409, body: { kind: 'Status', code: 409, reason: 'Conflict', message: 'made up' } },
  { type: 'answer', status: 429, retryAfterSeconds: 1 },
  { type: 'answer', status: 500 },
  { type: 'answer', status: 503 },
  { type: 'answer', status: 504 },
  { type: 'reset' },
  { type: 'lose' },
  { type: 'delay', ms: 500 },
]

describe('an API server in trouble', () => {
  const cluster = useCluster()

  it(
    `that answers ${STORM_SHARE * 100} % of all requests with errors for ${STORM_MS / 1_000} s fails no sync`,
    async () => {
      await using world = await World.start(cluster(), { policy: { concurrency: String(LIMIT) }, idle: true })
      await using proxy = await FaultProxy.start(cluster())
      await using operator = operatorBehind(world, proxy)
      const struck: ProxiedRequest[] = []
      proxy.rule = storm(struck)
      const names = await keepBusy(world)
      proxy.rule = undefined
      for (const name of names) expectOneDownload(world, await world.untilSynced(name, DEADLINE_MS))
      expect(operator.lines.join('\n')).not.toMatch(/"level":"error"/)
      expect(struck.length).toBeGreaterThan(proxy.seen.length / 20)
      await world.finish({ isOrderChecked: false })
      // The order is that of the images whose way into the queue met no error.
      const delayed = new Set(
        struck.filter(({ resource }) => resource.startsWith('vmdiskimages')).map(({ name }) => name),
      )
      expect(delayed.size).toBeLessThan(names.length)
      const isCounted = ({ kind, object }: (typeof world.mirror.history)[number]) =>
        kind !== 'VMDiskImage' || !delayed.has(object.metadata.name)
      checkOrder(world.mirror.history.filter(isCounted), world.operatorNamespace)
    },
    STORM_MS + 2 * DEADLINE_MS,
  )

  it.each(['API server', 'etcd'] as const)('that loses its %s for a moment is used again', async (server) => {
    await using world = await World.start(cluster(), { policy: { concurrency: String(LIMIT) }, idle: true })
    await using proxy = await FaultProxy.start(cluster())
    await using _operator = operatorBehind(world, proxy)
    const { controlPlane } = cluster()
    const names = Array.from({ length: 20 }, (_, at) => `image-${at}`)
    const release = world.gate.hold(world.urlOf('image-4'))
    for (const name of names) await world.createImage(name)
    await world.untilDownloading('image-4')
    if (server === 'etcd') await controlPlane.killEtcd()
    else await controlPlane.killApiServer()
    const before = starts(world).length
    release()
    if (server === 'etcd') await controlPlane.startEtcd()
    else await controlPlane.startApiServer()
    const backAt = performance.now()
    await world.until('somebody is admitted again', () => starts(world).length > before, DEADLINE_MS)
    const waited = Math.round(performance.now() - backAt)
    process.stdout.write(`admitted again ${waited} ms after the ${server} was back\n`)
    for (const name of names) expectOneDownload(world, await world.untilSynced(name, DEADLINE_MS))
    await world.finish({ isOrderChecked: false })
  })
})

function operatorBehind(world: World, proxy: FaultProxy): OperatorProcess {
  const options = { kubeconfig: proxy.kubeconfigPath, entry: inject('operatorBundle'), lease: LEASE }
  return new OperatorProcess(world, 'operator', options)
}

/** No failed sync, and no download twice. */
function expectOneDownload(world: World, { metadata, status }: Image): void {
  const { name } = metadata
  expect(status?.attempts, name).toMatchObject([{ outcome: 'Succeeded', number: 1, downloads: 1 }])
  expect(status?.budget?.downloads, name).toBe(0)
  expect(world.downloads(name), name).toBe(1)
}

/** Creates images until the storm is over, each as soon as another one is synced. Returns all names. */
async function keepBusy(world: World): Promise<string[]> {
  const names: string[] = []
  const end = performance.now() + STORM_MS
  const isDone = (name: string) => world.getImage(name)?.status?.phase === 'Succeeded'
  while (performance.now() < end) {
    const name = `image-${names.length}`
    await world.createImage(name)
    names.push(name)
    const isCrowded = () => names.filter((one) => !isDone(one)).length >= CROWD
    await world.until('room for one more', () => !isCrowded() || performance.now() >= end, STORM_MS + DEADLINE_MS)
  }
  return names
}

/** Strikes at random; a fixed seed makes the shares the same, the moments are the machine's. */
function storm(struck: ProxiedRequest[]): Rule {
  let state = 4
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return (request) => {
    if (random() >= STORM_SHARE) return undefined
    struck.push(request)
    const faults = request.verb === 'watch' ? WATCH_FAULTS : FAULTS
    return faults[Math.floor(random() * faults.length)]
  }
}
