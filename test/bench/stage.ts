import type { VMDiskImageSpecInput, WorkspaceSpecInput } from '@open-terrain/constructs'
import { POLICY_NAME, type PowerState } from '@open-terrain/constructs/operator'
import { systemClock } from '../../operator/base/clock.ts'
import { DATA_SYNC } from '../../operator/controllers/data-sync/caches.ts'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE, STORAGE_CLASS, VOLUME_SNAPSHOT_CLASS } from '../../operator/kube/resource-types.ts'
import { type Cluster, OPERATOR_NAMESPACE, startCluster } from '../../sandbox/control-plane/cluster.ts'
import type { Flags } from '../../sandbox/control-plane/flags.ts'
import { inParallel } from '../harness/in-parallel.ts'
import type { BareList, BareListPlan } from './bare-list-child.ts'
import { BundledOperator } from './bundled-operator.ts'
import { Child } from './child.ts'
import { Observer } from './observer.ts'
import { type SimulatorPlan, SimulatorsProcess } from './simulators-process.ts'
import { Yardstick } from './yardstick.ts'
import type { YardstickPlan } from './yardstick-child.ts'

const CONNECTIONS = 32
const GIB = 1024 ** 3

export interface StageOptions {
  readonly policy: Readonly<Record<string, string>>
  /** Number of namespaces that the images are spread over. Default 1. */
  readonly spread?: number
  readonly apiServerFlags?: Flags
}

/** A control plane for one measurement, with everything around the operator. Disposal ends what was started here, the last one first. */
export class Stage implements AsyncDisposable {
  readonly client: HttpKubeClient
  readonly namespaces: readonly string[]
  readonly #cluster: Cluster
  readonly #connection: Connection
  readonly #started = new AsyncDisposableStack()

  private constructor(cluster: Cluster, spread: number) {
    this.#cluster = cluster
    this.#connection = Connection.fromEnvironment(CONNECTIONS, cluster.controlPlane.kubeconfigPath)
    const watchConnection = Connection.fromEnvironment(null, cluster.controlPlane.kubeconfigPath)
    this.client = new HttpKubeClient({ connection: this.#connection, watchConnection, userAgent: 'open-terrain-bench' })
    this.namespaces = Array.from({ length: spread }, (_, at) => `images-${at}`)
    this.#started.use(cluster)
    this.#started.defer(() => this.#connection.close())
    this.#started.defer(() => watchConnection.close())
  }

  static async start({ policy, spread = 1, apiServerFlags = {} }: StageOptions): Promise<Stage> {
    const stage = new Stage(await startCluster({ apiServerFlags }), spread)
    try {
      for (const name of stage.namespaces) await stage.#create(NAMESPACE, { metadata: { name } })
      const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
      await stage.#create(STORAGE_CLASS, {
        metadata: { name: 'fast', annotations },
        provisioner: 'sandbox.example.com',
      })
      const snapshotClass = { driver: 'sandbox.example.com', deletionPolicy: 'Delete' }
      await stage.#create(VOLUME_SNAPSHOT_CLASS, { metadata: { name: 'snap' }, ...snapshotClass })
      await stage.setPolicy(policy)
      return stage
    } catch (error) {
      await stage[Symbol.asyncDispose]()
      throw error
    }
  }

  get kubeconfig(): string {
    return this.#cluster.controlPlane.kubeconfigPath
  }

  get controlPlane(): Cluster['controlPlane'] {
    return this.#cluster.controlPlane
  }

  async observe(): Promise<Observer> {
    return this.#started.use(await Observer.start(this.client, OPERATOR_NAMESPACE))
  }

  async startSimulators(plan: Partial<SimulatorPlan> = {}): Promise<SimulatorsProcess> {
    const { kubeconfig } = this
    return this.#started.use(await SimulatorsProcess.start({ kubeconfig, durationMs: 1_000, sizeBytes: GIB, ...plan }))
  }

  /** Starts a bare client beside the operator. @param limit number of slots */
  async startYardstick(limit: number): Promise<Yardstick> {
    const plan: YardstickPlan = { kubeconfig: this.kubeconfig, slots: limit }
    const child = this.#started.use(await Child.start('yardstick-child.ts', plan))
    return new Yardstick(() => child.ask<number>(), systemClock)
  }

  /** Reads the objects that the operator would read at its start, in a new process that does nothing else. */
  async readBare(): Promise<BareList> {
    const plan: BareListPlan = { kubeconfig: this.kubeconfig }
    await using child = await Child.start('bare-list-child.ts', plan)
    return await child.ask<BareList>()
  }

  async startOperator(name?: string, env?: Readonly<Record<string, string>>): Promise<BundledOperator> {
    const options = { kubeconfig: this.kubeconfig, namespace: OPERATOR_NAMESPACE }
    return this.#started.use(
      await BundledOperator.start({
        ...options,
        ...(name !== undefined && { name }),
        ...(env !== undefined && { env }),
      }),
    )
  }

  /** Starts an operator, and resolves when it leads. */
  async startLeader(name?: string): Promise<BundledOperator> {
    const operator = await this.startOperator(name)
    await operator.untilLeading()
    return operator
  }

  /** Changes these keys, and leaves the others as they are. */
  async setPolicy(data: Readonly<Record<string, string>>): Promise<void> {
    const metadata = { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }
    try {
      await this.client.mergePatch(CONFIG_MAP, metadata, { data })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
      await this.#create(CONFIG_MAP, { metadata, data })
    }
  }

  /** Creates images named `<prefix>-0` and so on, spread over the namespaces, several at a time. */
  async createImages(prefix: string, count: number, spec: Partial<VMDiskImageSpecInput> = {}): Promise<void> {
    await inParallel(count, async (at) => {
      await this.client.create(IMAGE, this.image(`${prefix}-${at}`, at, spec))
    })
  }

  /** Creates machines named `<prefix>-0` and so on, spread over the namespaces, several at a time. Each uses an image in its own namespace. */
  async createMachines(prefix: string, count: number, imageOf: (at: number) => string): Promise<void> {
    await inParallel(count, async (at) => {
      await this.client.create(MACHINE, this.machine(`${prefix}-${at}`, imageOf(at), at))
    })
  }

  /** Creates DataSyncs of `vms` vms, named `<prefix>-0` and so on, spread over the namespaces. Those with the same number share their images. */
  async createDataSyncs(prefix: string, count: number, vms: number): Promise<void> {
    await inParallel(count, async (at) => {
      await this.client.create(DATA_SYNC, this.#dataSync(`${prefix}-${at}`, at, vms))
    })
  }

  /** Creates Workspaces named `<prefix>-0` and so on, several at a time. */
  async createWorkspaces(prefix: string, count: number, imageOf: (at: number) => string): Promise<void> {
    await inParallel(count, (at) => this.createWorkspace(`${prefix}-${at}`, imageOf(at)))
  }

  /** Creates a Workspace with two machines, two container clusters, two networks, two volumes, and roles for Ansible. */
  async createWorkspace(name: string, image: string): Promise<void> {
    const spec = workspaceSpec(image)
    await this.client.create(WORKSPACE, {
      apiVersion: apiVersionOf(WORKSPACE),
      kind: WORKSPACE.kind,
      metadata: { name },
      spec,
    } as KubeObject)
  }

  async switchWorkspaces(prefix: string, count: number, powerState: PowerState): Promise<void> {
    await inParallel(count, async (at) => {
      await this.client.mergePatch(WORKSPACE, { name: `${prefix}-${at}` }, { spec: { powerState } })
    })
  }

  async deleteWorkspaces(prefix: string, count: number): Promise<void> {
    await inParallel(count, async (at) => {
      await this.client.delete(WORKSPACE, { name: `${prefix}-${at}` })
    })
  }

  machine(name: string, image: string, at = 0): KubeObject {
    const namespace = this.namespaces[at % this.namespaces.length] ?? ''
    const spec = { resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: image } }
    return { apiVersion: apiVersionOf(MACHINE), kind: MACHINE.kind, metadata: { namespace, name }, spec } as KubeObject
  }

  image(name: string, at = 0, spec: Partial<VMDiskImageSpecInput> = {}): KubeObject {
    const namespace = this.namespaces[at % this.namespaces.length] ?? ''
    const url = `https://images.example.com/${namespace}/${name}.qcow2`
    const defaults = { sourceType: 'http', url, diskSize: '1Gi', storageClass: 'fast', snapshotClass: 'snap' }
    const metadata = { namespace, name }
    return { apiVersion: apiVersionOf(IMAGE), kind: IMAGE.kind, metadata, spec: { ...defaults, ...spec } } as KubeObject
  }

  #dataSync(name: string, at: number, vms: number): KubeObject {
    const namespace = this.namespaces[at % this.namespaces.length] ?? ''
    const vm = (_: unknown, number: number) => {
      return { name: `vm-${number}`, url: `https://images.example.com/${namespace}/${at}/${number}.qcow2` }
    }
    const shared = { sourceType: 'http', diskSize: '1Gi', storageClass: 'fast', snapshotClass: 'snap' }
    const spec = { workspaceId: `workspace-${at}`, ...shared, vms: Array.from({ length: vms }, vm) }
    return {
      apiVersion: apiVersionOf(DATA_SYNC),
      kind: DATA_SYNC.kind,
      metadata: { namespace, name },
      spec,
    } as KubeObject
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync()
  }

  async #create(type: Parameters<HttpKubeClient['create']>[0], object: object): Promise<void> {
    await this.client.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, ...object } as KubeObject)
  }
}

function workspaceSpec(image: string): WorkspaceSpecInput {
  const interfaces = (at: number) => [
    { network: 'inside', ipAddress: `10.10.0.${at}/24` },
    { network: 'outside', ipAddress: `10.10.1.${at}/24` },
  ]
  const ansible = { roles: { deploy: [{ role: 'router', variables: { nat: true } }] } }
  const vm = (at: number) => {
    const resources = { cpu: '1', memory: '1Gi' }
    return { name: `vm-${at}`, backingVMDiskImage: image, resources, interfaces: interfaces(10 + at), ansible }
  }
  const cluster = (at: number) => {
    const volumeMounts = [{ name: `volume-${at}`, containerPath: '/data' }]
    const containers = [{ name: 'app', image: 'registry.example.com/app:1', volumeMounts }]
    return { name: `app-${at}`, interfaces: interfaces(20 + at), containers }
  }
  return {
    vms: [vm(0), vm(1)],
    containerClusters: [cluster(0), cluster(1)],
    volumes: [0, 1].map((at) => ({ name: `volume-${at}`, size: '1Gi' })),
    networks: [
      { name: 'inside', cidr: '10.10.0.0/24' },
      { name: 'outside', cidr: '10.10.1.0/24' },
    ],
  }
}
