import { describe, expect, inject, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { useCluster } from '../harness/cluster.ts'
import { type Fault, FaultProxy, type Rule } from '../harness/fault-proxy.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

const NAMES = Array.from({ length: 8 }, (_, at) => `image-${at}`)
const LIMIT = 2
const LEASE = 'sync-operator'

/** An operator process with a way to the API server of its own. */
class Replica implements AsyncDisposable {
  readonly proxy: FaultProxy
  readonly process: OperatorProcess

  private constructor(proxy: FaultProxy, process: OperatorProcess) {
    this.proxy = proxy
    this.process = process
  }

  static async start(world: World, name: string, rule?: Rule): Promise<Replica> {
    const proxy = await FaultProxy.start(world.cluster)
    proxy.rule = rule
    const options = { kubeconfig: proxy.kubeconfigPath, entry: inject('operatorBundle') }
    return new Replica(proxy, new OperatorProcess(world, name, options))
  }

  get claims(): number {
    return this.proxy.countOf('update', 'configmaps')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]()
    await this.proxy[Symbol.asyncDispose]()
  }
}

describe('two replicas', () => {
  const cluster = useCluster()

  const start = () => World.start(cluster(), { policy: { concurrency: String(LIMIT) }, idle: true })

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'hand over when the leader gets %s, and no download notices',
    async (signal) => {
      await using world = await start()
      const release = world.gate.hold('https://images.example.com/')
      await using one = await Replica.start(world, 'one')
      await untilLeader(world, 'one')
      await using _two = await Replica.start(world, 'two')
      for (const name of NAMES) await world.createImage(name)
      await world.untilDownloading('image-1')
      if (signal === 'SIGTERM') expect(await one.process.terminate()).toBe(0)
      else await one.process.kill()
      await untilLeader(world, 'two')
      release()
      await finish(world)
    },
  )

  it('stay within the limit when a frozen leader wakes up beside its successor, and it leaves', async () => {
    await using world = await start()
    const release = world.gate.hold('https://images.example.com/')
    await using one = await Replica.start(world, 'one')
    await untilLeader(world, 'one')
    await using two = await Replica.start(world, 'two')
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('image-1')
    one.process.freeze()
    await untilLeader(world, 'two')
    release()
    await world.untilSynced('image-3')
    one.process.thaw()
    await untilLeft(world, one)
    const claims = one.claims
    await finish(world)
    expect(one.claims).toBe(claims)
    expect(two.claims).toBeGreaterThan(0)
  })

  it('stay within the limit when the leader freezes between its claim and the answer, and its slot goes to another', async () => {
    await using world = await start()
    const release = world.gate.hold('https://images.example.com/')
    await using one = await Replica.start(world, 'one')
    await untilLeader(world, 'one')
    await using _two = await Replica.start(world, 'two')
    const later = Promise.withResolvers<void>()
    await freezeAt(world, one, 'update configmaps', { type: 'withhold', until: () => later.promise })
    await untilLeader(world, 'two')
    await world.patchImage('image-0', { spec: { suspend: true } })
    for (const name of NAMES.slice(1)) await world.createImage(name)
    await world.until('the slot went on', () => !world.holds('image-0') && world.ledger?.holders.length === LIMIT)
    later.resolve()
    one.process.thaw()
    await untilLeft(world, one)
    release()
    await world.patchImage('image-0', { spec: { suspend: false } })
    await finish(world)
    expect(one.proxy.countOf('create', 'datavolumes')).toBe(0)
  })

  it('stay within the limit when the leader freezes with the request for a DataVolume on its way', async () => {
    await using world = await start()
    const release = world.gate.hold('https://images.example.com/')
    await using one = await Replica.start(world, 'one')
    await untilLeader(world, 'one')
    await using _two = await Replica.start(world, 'two')
    const later = Promise.withResolvers<void>()
    await freezeAt(world, one, 'create datavolumes', {
      type: 'hold',
      until: () => later.promise.then(() => 'forward' as const),
    })
    for (const name of NAMES.slice(1)) await world.createImage(name)
    await untilLeader(world, 'two')
    // On its way for a few seconds: the slots are safe from requests that take up to ten.
    later.resolve()
    one.process.thaw()
    await untilLeft(world, one)
    release()
    await finish(world)
  })

  it('stay within the limit while both believe that they lead', async () => {
    await using world = await start()
    await using forged = await Replica.start(world, 'forged', forgedLease())
    await using honest = await Replica.start(world, 'honest')
    await untilLeader(world, 'honest')
    await world.until('the other leads as well', () => forged.process.lines.some((line) => line.includes('"leading"')))
    // With the same news they decide the same: one of them lives in the past.
    for (const watch of forged.proxy.watches) watch.delayMs = 300
    for (const name of NAMES) await world.createImage(name)
    await world.until('most are synced', () => NAMES.filter((name) => isSynced(world, name)).length >= 6, 90_000)
    expect(Math.min(honest.claims, forged.claims)).toBeGreaterThan(0)
    await forged.process.kill()
    await finish(world)
  })
})

/** Freezes a leader at the first of these writes, made for an image that is created now, and does this to the write. */
async function freezeAt(world: World, { proxy, process }: Replica, write: string, fault: Fault): Promise<void> {
  const struck = Promise.withResolvers<void>()
  proxy.rule = ({ verb, resource }) => {
    if (`${verb} ${resource}` !== write) return undefined
    proxy.rule = undefined
    process.freeze()
    struck.resolve()
    return fault
  }
  await world.createImage('image-0')
  await struck.promise
}

function isSynced(world: World, name: string): boolean {
  return world.getImage(name)?.status?.phase === 'Succeeded'
}

async function untilLeader(world: World, name: string): Promise<void> {
  await world.until(`${name} leads`, () =>
    world.mirror.leases.get(`${world.operatorNamespace}/${LEASE}`)?.spec?.holderIdentity?.startsWith(name),
  )
}

async function untilLeft(world: World, { process }: Replica): Promise<void> {
  await world.until('the old leader has left', () =>
    process.lines.some((line) => line.includes('not leading any more')),
  )
}

/** All images are synced with one download each, and no invariant was broken on the way. */
async function finish(world: World): Promise<void> {
  for (const name of NAMES) await world.untilSynced(name, 60_000)
  for (const name of NAMES) expect(world.downloads(name), name).toBe(1)
  await world.finish()
}

/** Answers for the Lease in place of the API server: whoever asks holds it, for ever. */
function forgedLease(): Rule {
  let lease: KubeObject | undefined
  let version = 0
  return ({ verb, resource, body }) => {
    if (resource !== 'leases') return undefined
    if (verb === 'get' && lease === undefined) return { type: 'answer', status: 404 }
    if (body !== undefined) {
      version += 1
      lease = { ...body, metadata: { ...body.metadata, resourceVersion: String(version) } }
    }
    return { type: 'answer', status: verb === 'create' ? 201 : 200, body: lease }
  }
}
