import {
  GROUP,
  POLICY_NAME,
  type VirtualMachineSpecInput,
  type VirtualMachineStatus,
  type VMDiskImageSpecInput,
  type VMDiskImageStatus,
} from '../../../constructs/index.ts'
import { isApiError } from '../../../operator/kube/api-error.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  EVENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Logger } from '../../../operator/runtime/log.ts'
import { type Commit, type Fate, IMAGE, type RequestInfo, SERVED_TYPES } from '../../../sandbox/memory-cluster/index.ts'
import type { SimulatorOptions } from '../../../sandbox/simulators/index.ts'
import { FARM, SimulatedCluster, TEAM } from '../../../sandbox/simulators/simulated-cluster.fixtures.ts'
import { isOperator, OPERATOR_NAMESPACE } from '../chronicle.ts'
import { Disturbances } from '../disturbances.ts'
import { Network } from '../network.ts'
import { randomFrom, seedFor } from '../random.ts'
import { Replica } from '../replica.ts'

export { FARM, TEAM } from '../../../sandbox/simulators/simulated-cluster.fixtures.ts'

/** A canary: it may be in Secrets, and nowhere else. */
export const PASSWORD = 'canary-Kx7-password'

export const MACHINE = SERVED_TYPES.find(
  ({ group, kind }) => group === GROUP && kind === 'VirtualMachine',
) as ResourceType

export interface Machine extends KubeObject {
  readonly spec: VirtualMachineSpecInput
  readonly status?: VirtualMachineStatus
}

interface Image extends KubeObject {
  readonly spec: VMDiskImageSpecInput
  readonly status?: VMDiskImageStatus
}

export interface MachineWorldOptions {
  /** Of latencies, of what the operator leaves to chance, and of which request or event a fault strikes. */
  readonly seed?: number
  readonly replicas?: number
}

/** Operator and simulators in one in-memory cluster, in virtual time. */
export class MachineWorld {
  readonly simulated: SimulatedCluster
  /** `<verb of the commit> <kind> <namespace>/<name>` of all that the operator wrote, but for its Lease and Events. */
  readonly written: string[] = []
  readonly logged: string[] = []
  /** Told of each commit of the operator. */
  onOperatorCommit: (commit: Commit) => void = () => undefined
  /** What becomes of a request of the operator; undefined: what the network does to it. */
  fateOf: (request: RequestInfo) => Fate | undefined = () => undefined
  readonly disturbances: Disturbances
  readonly network: Network
  readonly replicas: readonly Replica[]

  private constructor(simulated: SimulatedCluster, { seed = 1, replicas = 1 }: MachineWorldOptions) {
    this.simulated = simulated
    const { time, cluster } = simulated
    this.disturbances = new Disturbances(() => time.elapsedMs)
    this.network = new Network(randomFrom(seedFor(seed, 'network')), this.disturbances, (delayMs) => {
      time.schedule(delayMs, () => cluster.compact())
    })
    const network: Pick<Network, 'fateOf' | 'passageOf' | 'viewOf'> = {
      fateOf: (request) => this.fateOf(request) ?? this.network.fateOf(request),
      passageOf: (event, request) => this.network.passageOf(event, request),
      viewOf: () => this.network.viewOf(),
    }
    const log = this.#log()
    this.replicas = Array.from(
      { length: replicas },
      (_, number) => new Replica({ time, cluster, network, seed, number, log }),
    )
    cluster.onCommit((commit) => {
      if (!isOperator(commit.actor)) return
      const { type, resource, object } = commit
      if (resource.kind === 'Lease' || resource.kind === 'Event') return
      this.written.push(`${type} ${resource.kind} ${object.metadata.namespace}/${object.metadata.name}`)
      this.onOperatorCommit(commit)
    })
  }

  static async start(
    policy: Record<string, string> = {},
    options: Partial<SimulatorOptions> = {},
    more: MachineWorldOptions = {},
  ): Promise<MachineWorld> {
    const simulated = await SimulatedCluster.start(options)
    const world = new MachineWorld(simulated, more)
    simulated.create(NAMESPACE, { name: OPERATOR_NAMESPACE })
    const data = { defaultStorageClass: 'fast', defaultSnapshotClass: 'snap', ...policy }
    simulated.create(CONFIG_MAP, { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }, { data })
    world.startOperator()
    return world
  }

  startOperator(): void {
    for (const replica of this.replicas) replica.start()
  }

  /** SIGKILL: what it sent is carried out all the same. */
  killOperator(): void {
    for (const replica of this.replicas) replica.crash()
  }

  stop(): void {
    this.killOperator()
  }

  create(name: string, spec: Partial<VirtualMachineSpecInput> = {}): Machine {
    return this.simulated.create<Machine>(MACHINE, { namespace: TEAM, name }, { spec: aSpec(spec) })
  }

  createImage(name: string, spec: object = {}): KubeObject {
    return this.simulated.create(IMAGE, { namespace: FARM, name }, { spec: { ...TEMPLATE, ...spec } })
  }

  patch(type: ResourceType, key: ObjectKey, patch: object): void {
    this.simulated.cluster.admin.mergePatch(type, key, patch)
  }

  delete(type: ResourceType, namespace: string, name: string): void {
    this.simulated.cluster.admin.delete(type, { namespace, name }, { propagationPolicy: 'Background' })
  }

  find<T extends KubeObject>(type: ResourceType, namespace: string, name: string): T | undefined {
    try {
      return this.simulated.cluster.admin.get<T>(type, { namespace, name })
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }

  namespace(name: string): KubeObject | undefined {
    return this.simulated.cluster.admin.list(NAMESPACE).items.find(({ metadata }) => metadata.name === name)
  }

  vm(name: string): Machine | undefined {
    return this.find<Machine>(MACHINE, TEAM, name)
  }

  image(name: string): Image | undefined {
    return this.find<Image>(IMAGE, FARM, name)
  }

  reason(name: string): string | undefined {
    return this.vm(name)?.status?.conditions?.find(({ type }) => type === 'Reconciling')?.reason
  }

  condition(name: string, type: string) {
    return this.vm(name)?.status?.conditions?.find((one) => one.type === type)
  }

  async untilReady(name: string): Promise<Machine> {
    await this.untilPhase(name, 'Ready')
    return this.vm(name) as Machine
  }

  untilPhase(name: string, phase: string): Promise<void> {
    return this.simulated.until(`${name} to be ${phase}`, () => this.vm(name)?.status?.phase === phase)
  }

  untilReason(name: string, reason: string): Promise<void> {
    return this.simulated.until(`${name} to say ${reason}`, () => this.reason(name) === reason)
  }

  until(what: string, holds: () => boolean): Promise<void> {
    return this.simulated.until(what, holds)
  }

  pass(ms: number): Promise<void> {
    return this.simulated.pass(ms)
  }

  /** Everything that the team's namespace has of the operator's, as `<kind>/<name>`. */
  leftIn(namespace: string): string[] {
    const types = [MACHINE, KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE, DATA_VOLUME, SECRET]
    return types.flatMap((type) =>
      this.simulated.cluster.admin
        .list(type, { namespace })
        .items.map(({ kind, metadata }) => `${kind}/${metadata.name}`),
    )
  }

  events(name: string): string[] {
    const { items } = this.simulated.cluster.admin.list<
      KubeObject & { regarding?: { name: string }; involvedObject?: { name: string }; reason: string }
    >(EVENT, { namespace: TEAM })
    return items.filter((event) => (event.regarding ?? event.involvedObject)?.name === name).map(({ reason }) => reason)
  }

  #log(): Logger {
    const note =
      (level: string) =>
      (...args: unknown[]) =>
        void this.logged.push(`${level} ${JSON.stringify(args)}`)
    const log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') }
    return { ...log, child: () => log } as unknown as Logger
  }
}

export const TEMPLATE = {
  url: 'https://images.example.com/vm.qcow2',
  sourceType: 'http',
  diskSize: '1Gi',
  storageClass: 'fast',
  snapshotClass: 'snap',
} as const

export function aSpec(more: Partial<VirtualMachineSpecInput> = {}): VirtualMachineSpecInput {
  return {
    name: 'demo-vm',
    users: [{ name: 'demo', plain_text_passwd: PASSWORD, lock_passwd: false }],
    resources: { cpu: '2', memory: '2Gi' },
    interfaces: [{ network: 'control-net', ipAddress: '10.10.0.161/24' }],
    vmDiskImageRef: { name: 'golden', namespace: FARM },
    vmDiskImageTemplate: TEMPLATE,
    ...more,
  }
}
