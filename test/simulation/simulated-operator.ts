import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import { POLICY_NAME } from '@open-terrain/constructs/operator'
import { onTestFinished } from 'vitest'
import type { KubeObject, ObjectKey, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_VOLUME,
  EVENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../operator/kube/resource-types.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import type { Commit, Fate, RequestInfo } from '../../sandbox/memory-cluster/index.ts'
import type { SimulatorOptions } from '../../sandbox/simulators/index.ts'
import { conditionOf, IMAGE, type Image, MACHINE, type Machine, reasonOf } from '../harness/kinds.ts'
import { FARM, SimulatedCluster, TEAM } from '../prepared/sandbox/simulated-cluster.ts'
import { isOperator, OPERATOR_NAMESPACE } from './chronicle.ts'
import { Disturbances } from './disturbances.ts'
import { Network } from './network.ts'
import { PASSWORD } from './oracle/secrets.ts'
import { find } from './people.ts'
import { randomFrom } from './random.ts'
import { Replica } from './replica.ts'

export { FARM, TEAM } from '../prepared/sandbox/simulated-cluster.ts'

/** Seed of latencies, and of the operator's random choices, unless a test has its own. */
const SEED = 1

/** Operator and simulators in one in-memory cluster, in virtual time. A test decides step by step what happens. */
export class SimulatedOperator {
  readonly simulated: SimulatedCluster
  /** `<verb of the commit> <kind> <namespace>/<name>` of everything that the operator wrote, except for its Lease and Events. */
  readonly written: string[] = []
  readonly logged: string[] = []
  /** Called for each commit of the operator, except for its Lease and Events. */
  onOperatorCommit: (commit: Commit) => void = () => undefined
  /** Decides what happens to a request of the operator; undefined: the network decides. */
  fateOf: (request: RequestInfo) => Fate | undefined = () => undefined
  readonly disturbances: Disturbances
  readonly network: Network
  readonly replicas: readonly Replica[]

  private constructor(simulated: SimulatedCluster, seed: number) {
    this.simulated = simulated
    const { time, cluster } = simulated
    this.disturbances = new Disturbances(() => time.elapsedMs)
    this.network = new Network(randomFrom(seed), this.disturbances, (delayMs) => {
      time.schedule(delayMs, () => cluster.compact())
    })
    const network: Pick<Network, 'fateOf' | 'passageOf' | 'viewOf'> = {
      fateOf: (request) => this.fateOf(request) ?? this.network.fateOf(request),
      passageOf: (event, request) => this.network.passageOf(event, request),
      viewOf: () => this.network.viewOf(),
    }
    const log = this.#log()
    this.replicas = [new Replica({ time, cluster, network, seed, number: 0, log })]
    cluster.onCommit((commit) => {
      if (!isOperator(commit.actor)) return
      const { type, resource, object } = commit
      if (resource.kind === 'Lease' || resource.kind === 'Event') return
      this.written.push(`${type} ${resource.kind} ${object.metadata.namespace}/${object.metadata.name}`)
      this.onOperatorCommit(commit)
    })
  }

  /** It stops with the test that starts it. */
  static async start(
    policy: Record<string, string> = {},
    { seed = SEED, ...options }: Partial<SimulatorOptions> & { readonly seed?: number } = {},
  ): Promise<SimulatedOperator> {
    const simulated = await SimulatedCluster.start(options)
    const world = new SimulatedOperator(simulated, seed)
    onTestFinished(() => world.stop())
    simulated.create(NAMESPACE, { name: OPERATOR_NAMESPACE })
    const data = { defaultStorageClass: 'fast', defaultSnapshotClass: 'snap', ...policy }
    simulated.create(CONFIG_MAP, { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }, { data })
    world.startOperator()
    return world
  }

  /** Starts a world with one machine, which runs. */
  static async running(
    policy: Record<string, string> = {},
    spec: Partial<VirtualMachineSpecInput> = {},
    options: { readonly seed?: number } = {},
  ): Promise<SimulatedOperator> {
    const world = await SimulatedOperator.start(policy, options)
    world.create('vm', spec)
    await world.untilReady('vm')
    return world
  }

  startOperator(): void {
    for (const replica of this.replicas) replica.start()
  }

  /**
   * Kills the operator right after one of its writes, and starts it again later. The writes are counted from now.
   * @param at number of the write, from 0; absent: it is not killed
   * @returns whether it was killed, when that is read
   */
  crashAtWrite(at: number | undefined, restartMs: number): { readonly hasCrashed: boolean } {
    const crash = { hasCrashed: false }
    this.written.length = 0
    this.onOperatorCommit = () => {
      if (this.written.length - 1 !== at || crash.hasCrashed) return
      crash.hasCrashed = true
      this.killOperator()
      this.simulated.time.schedule(restartMs, () => this.startOperator())
    }
    return crash
  }

  /** SIGKILL: requests that it has sent are still carried out. */
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

  async syncImage(name: string): Promise<void> {
    this.createImage(name)
    await this.until(`image ${name}`, () => this.image(name)?.status?.phase === 'Succeeded')
  }

  patch(type: ResourceType, key: ObjectKey, patch: object): void {
    this.simulated.cluster.admin.mergePatch(type, key, patch)
  }

  delete(type: ResourceType, namespace: string, name: string): void {
    this.simulated.cluster.admin.delete(type, { namespace, name }, { propagationPolicy: 'Background' })
  }

  find<T extends KubeObject>(type: ResourceType, namespace: string, name: string): T | undefined {
    return find<T>(this.simulated, type, { namespace, name })
  }

  vm(name: string): Machine | undefined {
    return this.find<Machine>(MACHINE, TEAM, name)
  }

  image(name: string): Image | undefined {
    return this.find<Image>(IMAGE, FARM, name)
  }

  reason(name: string): string | undefined {
    return reasonOf(this.vm(name))
  }

  condition(name: string, type: string) {
    return conditionOf(this.vm(name), type)
  }

  /** A condition as people read it: status, reason and message in one line. */
  toldBy(name: string, type: string): string {
    const { status = '', reason = '', message = '' } = this.condition(name, type) ?? {}
    return `${status} ${reason}: ${message}`
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

  /** Everything in the namespace of the kinds that machines and their children have, whoever created it, as `<kind>/<name>`. */
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
