import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { systemClock } from '../../operator/runtime/clock.ts'
import { ControlPlane } from '../../sandbox/control-plane/control-plane.ts'
import { foreignCrds } from '../../sandbox/control-plane/foreign-crds.ts'
import { type Simulators, startSimulators } from '../../sandbox/simulators/index.ts'
import { timedTransfer } from '../../sandbox/simulators/timed-transfer.ts'

/**
 * A cluster as a platform engineer finds it: CDI, KubeVirt, snapshots, a node that runs pods, and nothing of ours. Pods are only marked as
 * running.
 */
export class Environment {
  readonly controlPlane: ControlPlane
  readonly client: HttpKubeClient
  readonly #connection: Connection
  readonly #simulators: Simulators

  private constructor(
    controlPlane: ControlPlane,
    connection: Connection,
    client: HttpKubeClient,
    simulators: Simulators,
  ) {
    this.controlPlane = controlPlane
    this.client = client
    this.#connection = connection
    this.#simulators = simulators
  }

  static async start(): Promise<Environment> {
    const { crds } = await foreignCrds()
    const controlPlane = new ControlPlane({ crds })
    await controlPlane.start()
    const connection = Connection.fromEnvironment(null, controlPlane.kubeconfigPath)
    const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-rollout' })
    const transfer = timedTransfer(systemClock, () => ({ durationMs: 0 }))
    const simulators = await startSimulators({ client, clock: systemClock, random: Math.random, transfer })
    return new Environment(controlPlane, connection, client, simulators)
  }

  get kubeconfig(): string {
    return this.controlPlane.kubeconfigYaml
  }

  /** The object, or undefined where there is none. */
  async find<T extends KubeObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    const { items } = await this.client.list<T>(type, {
      fieldSelector: `metadata.name=${name}`,
      ...(namespace === undefined ? {} : { namespace }),
    })
    return items[0]
  }

  async stop(): Promise<void> {
    await this.#simulators.stop()
    await this.#connection.close()
    await this.controlPlane.stop()
  }
}
