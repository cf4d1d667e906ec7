import { expect, inject } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { type Fault, FaultProxy, type Rule } from '../harness/fault-proxy.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

export const NAMES = Array.from({ length: 8 }, (_, at) => `image-${at}`)
export const LIMIT = 2
const LEASE = 'sync-operator'

/** An operator process with its own proxy to the API server. */
export class Replica implements AsyncDisposable {
  readonly proxy: FaultProxy
  readonly process: OperatorProcess

  private constructor(proxy: FaultProxy, process: OperatorProcess) {
    this.proxy = proxy
    this.process = process
  }

  static async start(world: World, name: string, rule?: Rule): Promise<Replica> {
    const proxy = await FaultProxy.start(world.cluster, { kubeconfig: world.operatorKubeconfig })
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

export function startWorld(cluster: Cluster): Promise<World> {
  return World.start(cluster, { policy: { concurrency: String(LIMIT) }, idle: true })
}

/** Two replicas, of which `one` leads, in a world where downloads are held until `release`. */
export class Pair implements AsyncDisposable {
  readonly world: World
  readonly one: Replica
  readonly two: Replica
  readonly release: () => void
  readonly #end: AsyncDisposableStack

  private constructor(parts: Pick<Pair, 'world' | 'one' | 'two' | 'release'>, end: AsyncDisposableStack) {
    this.world = parts.world
    this.one = parts.one
    this.two = parts.two
    this.release = parts.release
    this.#end = end
  }

  static async start(cluster: Cluster): Promise<Pair> {
    await using stack = new AsyncDisposableStack()
    const world = stack.use(await startWorld(cluster))
    const release = world.gate.hold('https://images.example.com/')
    const one = stack.use(await Replica.start(world, 'one'))
    await untilLeader(world, 'one')
    const two = stack.use(await Replica.start(world, 'two'))
    return new Pair({ world, one, two, release }, stack.move())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end.disposeAsync()
  }
}

/** Creates an image, freezes the leader at its first `write`, and applies `fault` to that write. */
export async function freezeAt(world: World, { proxy, process }: Replica, write: string, fault: Fault): Promise<void> {
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

export function isSynced(world: World, name: string): boolean {
  return world.getImage(name)?.status?.phase === 'Succeeded'
}

export async function untilLeader(world: World, name: string): Promise<void> {
  await world.until(`${name} leads`, () =>
    world.mirror.leases.get(`${world.operatorNamespace}/${LEASE}`)?.spec?.holderIdentity?.startsWith(name),
  )
}

export async function untilLeft(world: World, { process }: Replica): Promise<void> {
  await world.until('the old leader has left', () =>
    process.lines.some((line) => line.includes('not leading any more')),
  )
}

/** Checks that all images are synced with one download each, and that no invariant was violated. */
export async function finish(world: World): Promise<void> {
  for (const name of NAMES) await world.untilSynced(name)
  for (const name of NAMES) expect(world.downloads(name), name).toBe(1)
  await world.finish()
}

/** Answers Lease requests in place of the API server: each replica that asks holds the Lease, forever. */
export function forgedLease(): Rule {
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
