import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { FaultProxy } from '../harness/fault-proxy.ts'
import type { Image } from '../harness/kinds.ts'
import { type LeaseEnvironment, OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

export interface FaultStageOptions {
  /** The bundle to run. */
  readonly entry: string
  readonly concurrency: number
  /** Default: about two seconds. */
  readonly lease?: LeaseEnvironment
}

/** An operator process in its own world, with a proxy to the API server that can cause faults. */
export class FaultStage implements AsyncDisposable {
  readonly world: World
  readonly proxy: FaultProxy
  readonly operator: OperatorProcess

  private constructor(world: World, proxy: FaultProxy, operator: OperatorProcess) {
    this.world = world
    this.proxy = proxy
    this.operator = operator
  }

  static async start(cluster: Cluster, { entry, concurrency, lease }: FaultStageOptions): Promise<FaultStage> {
    const world = await World.start(cluster, { policy: { concurrency: String(concurrency) }, idle: true })
    const proxy = await FaultProxy.start(cluster, { kubeconfig: world.operatorKubeconfig })
    const options = { kubeconfig: proxy.kubeconfigPath, entry, ...(lease && { lease }) }
    return new FaultStage(world, proxy, new OperatorProcess(world, 'operator', options))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.operator[Symbol.asyncDispose]()
    await this.proxy[Symbol.asyncDispose]()
    await this.world[Symbol.asyncDispose]()
  }
}

/** Throws if an attempt failed, an image was downloaded twice, or a download counted against the budget. */
export function assertOneDownload(world: World, { metadata: { name }, status }: Image): void {
  const attempts = (status?.attempts ?? []).map(({ number, outcome, downloads }) => `${number} ${outcome} ${downloads}`)
  const paid = status?.budget?.downloads
  const begun = world.downloads(name)
  if (attempts.join() === '1 Succeeded 1' && paid === 0 && begun === 1) return
  const told = `${status?.message}; attempts: ${attempts.join(', ') || 'none'}; paid: ${paid}; downloads begun: ${begun}`
  throw new Error(`image ${name} was to be downloaded once, at the first attempt (${told})`)
}
