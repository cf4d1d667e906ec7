import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../operator/base/clock.ts'
import { keyOf } from '../../../operator/kube/kube-object.ts'
import { POD } from '../../../operator/kube/resource-types.ts'
import { Reflector } from '../../../operator/runtime/reflector.ts'
import { Store } from '../../../operator/runtime/store.ts'
import { Watchdog } from '../../control-plane/watchdog.ts'
import { type Node, PodRun } from './pod-run.ts'
import { isOperatorPod, type OperatorPod } from './template.ts'

export type { ContainerImage } from './template.ts'

const DEFAULT_GRACE_SECONDS = 30

export interface OperatorPodsOptions extends Pick<Node, 'client' | 'controlPlane' | 'imageOf' | 'log'> {
  /** Default: 10,000, as in a kubelet. */
  readonly restartBaseMs?: number
  readonly onLine?: Node['onLine']
}

/**
 * The node of our own Deployment: does what a kubelet does with its pods, with an ordinary process for each container. The
 * process has the command, arguments and environment of the template, a token of the pod's ServiceAccount, and a loopback
 * address in place of a pod IP. Its probes decide whether the pod is Ready. A container that ends is restarted. A deleted
 * pod has its grace period. Not simulated: the isolation of a container (file system, user, limits and network).
 */
export class OperatorPods implements AsyncDisposable {
  readonly #runs = new Map<string, { readonly uid: string; readonly run: PodRun; readonly over: Promise<void> }>()
  readonly #stopping = new AbortController()
  readonly #node: Node
  #watching: Promise<void> = Promise.resolve()

  private constructor(node: Node) {
    this.#node = node
  }

  static async start(options: OperatorPodsOptions): Promise<OperatorPods> {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-pods-'))
    const watchdog = new Watchdog(folder)
    const pods = new OperatorPods({
      restartBaseMs: 10_000,
      onLine: () => undefined,
      clock: systemClock,
      ...options,
      folder,
      watchdog,
    })
    await pods.#watch()
    return pods
  }

  /** The node goes down: kills all processes at once, and reports nothing. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#watching
    for (const { run } of this.#runs.values()) run.abandon()
    await Promise.all([...this.#runs.values()].map(({ over }) => over))
    await this.#node.watchdog.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #watch(): Promise<void> {
    const store = new Store<OperatorPod>()
    store.onChange(({ key, before, after }) => this.#changed(key, before, after))
    const reflector = new Reflector<OperatorPod>({
      client: this.#node.client,
      type: POD,
      store,
      project: (object) => object as OperatorPod,
      clock: systemClock,
      random: Math.random,
      log: this.#node.log,
    })
    this.#watching = reflector.run(this.#stopping.signal)
    await reflector.synced
  }

  #changed(key: string, before: OperatorPod | undefined, after: OperatorPod | undefined): void {
    if (!isOperatorPod(after ?? before)) return
    const known = this.#runs.get(key)
    if (known !== undefined && known.uid !== after?.metadata.uid) {
      known.run.abandon()
      this.#runs.delete(key)
    }
    if (after === undefined) return
    const { run } = this.#runs.get(key) ?? this.#begin(after)
    const metadata = after.metadata as { deletionTimestamp?: string; deletionGracePeriodSeconds?: number }
    if (metadata.deletionTimestamp === undefined) return
    run.leave((metadata.deletionGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1_000)
  }

  #begin(pod: OperatorPod): { readonly run: PodRun } {
    const run = new PodRun(this.#node, pod)
    const begun = { uid: pod.metadata.uid ?? '', run, over: run.run() }
    this.#runs.set(keyOf(pod.metadata), begun)
    return begun
  }
}
