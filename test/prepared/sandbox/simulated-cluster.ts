import { createHash } from 'node:crypto'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  LEASE,
  NAMESPACE,
  NETWORK_ATTACHMENT_DEFINITION,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  STORAGE_CLASS,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../../operator/kube/resource-types.ts'
import { MemoryCluster, SERVED_TYPES, SimulatedProcess, VirtualTime } from '../../../sandbox/memory-cluster/index.ts'
import {
  type SimulatorOptions,
  type Simulators,
  startSimulators,
  timedTransfer,
} from '../../../sandbox/simulators/index.ts'
import type { Instance, InstanceSpec, Machine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { Claim, Condition, DataVolume, Pod, VolumeSnapshot } from '../../../sandbox/simulators/models.ts'

export const TEAM = 'team'
export const FARM = 'farm'
export const DRIVER = 'sandbox.example.com'
/** NetworkAttachmentDefinitions of the team. */
export const NETWORKS = ['net', 'control-net', 'net-0', 'net-1', 'net-2']
const PATIENCE_MS = 600_000
/** In a URL: the download takes an hour, and makes progress all the time. */
export const HOUR_LONG = '/an-hour/'
const AN_HOUR = { durationMs: 3_600_000, steps: 1_800 }
/** In a URL: the download takes as many minutes as it says, such as `/minutes-7/`. */
const MINUTES_LONG = /\/minutes-(\d+)\//

function transferOf(url: string): { durationMs: number; steps?: number } {
  if (url.includes(HOUR_LONG)) return AN_HOUR
  const [, minutes] = MINUTES_LONG.exec(url) ?? []
  return { durationMs: minutes === undefined ? 100 : Number(minutes) * 60_000 }
}

/** An in-memory cluster with only the simulators. They react in virtual time to what a test writes as administrator. */
export class SimulatedCluster {
  readonly time = new VirtualTime()
  readonly cluster: MemoryCluster
  /** What each virtual machine (printableStatus) and DataVolume (phase) showed, in order, by `namespace/name`. */
  readonly shown = new Map<string, string[]>()
  readonly #random = digits()
  #simulators: Simulators | undefined
  #process: SimulatedProcess | undefined

  private constructor() {
    this.cluster = new MemoryCluster({ time: this.time, random: this.#random, types: SERVED_TYPES })
    this.cluster.onCommit(({ resource, object }) => {
      if (resource === KUBEVIRT_VIRTUAL_MACHINE) this.#note(object, (object as Machine).status?.printableStatus)
      if (resource === DATA_VOLUME) this.#note(object, (object as DataVolume).status?.phase)
    })
  }

  static async start(options: Partial<SimulatorOptions> = {}): Promise<SimulatedCluster> {
    const world = new SimulatedCluster()
    for (const name of [TEAM, FARM]) world.create(NAMESPACE, { name })
    world.createNetworks()
    world.create(STORAGE_CLASS, { name: 'fast' }, { provisioner: DRIVER, allowVolumeExpansion: true })
    world.create(STORAGE_CLASS, { name: 'fixed' }, { provisioner: DRIVER })
    world.create(STORAGE_CLASS, { name: 'other' }, { provisioner: 'other.example.com' })
    const late = { provisioner: DRIVER, volumeBindingMode: 'WaitForFirstConsumer' }
    world.create(STORAGE_CLASS, { name: 'late' }, late)
    world.create(VOLUME_SNAPSHOT_CLASS, { name: 'snap' }, { driver: DRIVER })
    await world.startSimulators(options)
    return world
  }

  get simulators(): Simulators {
    if (this.#simulators === undefined) throw new Error('the simulators have not started yet')
    return this.#simulators
  }

  /** The process in which all simulators run. */
  get simulatorsProcess(): SimulatedProcess {
    if (this.#process === undefined) throw new Error('the simulators have not started yet')
    return this.#process
  }

  /** Kills the current simulators and starts new ones in their place. */
  async startSimulators(options: Partial<SimulatorOptions> = {}): Promise<void> {
    this.#process?.kill()
    this.#process = new SimulatedProcess(this.time, 'simulators')
    this.#simulators = undefined
    const client = this.cluster.connect({ process: this.#process })
    const { clock } = this.#process
    const transfer = timedTransfer(clock, ({ url }) => transferOf(url))
    void startSimulators({ client, clock, random: this.#random, transfer, options }).then((simulators) => {
      this.#simulators = simulators
    })
    await this.until('the simulators', () => this.#simulators !== undefined)
  }

  /** Advances time until `holds` returns true. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const untilMs = this.time.elapsedMs + PATIENCE_MS
    if (holds() || (await this.time.run({ untilMs, isDone: holds }))) return
    throw new Error(`waited in vain for ${what}; shown: ${JSON.stringify([...this.shown])}`)
  }

  async pass(ms: number): Promise<void> {
    await this.time.run({ untilMs: this.time.elapsedMs + ms })
  }

  create<T extends KubeObject>(type: ResourceType, metadata: KubeObject['metadata'], rest: object = {}): T {
    const object = { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest }
    return this.cluster.admin.create(type, object) as T
  }

  createNetworks(): void {
    for (const name of NETWORKS) this.createNetwork(name)
  }

  /** Creates a network for virtual machines: without addresses. */
  createNetwork(
    name: string,
    config = '{"cniVersion":"1.0.0","name":"lab","type":"bridge","bridge":"lab0","ipam":{}}',
  ): void {
    this.create(NETWORK_ATTACHMENT_DEFINITION, { namespace: TEAM, name }, { spec: { config } })
  }

  deleteNetwork(name: string): void {
    this.cluster.admin.delete(NETWORK_ATTACHMENT_DEFINITION, { namespace: TEAM, name })
  }

  /** Creates a virtual machine with one disk. */
  createMachine(name: string, disk: string, spec: Partial<InstanceSpec> = {}, runStrategy = 'Always'): Machine {
    const template: InstanceSpec = {
      domain: {
        cpu: { sockets: 2 },
        memory: { guest: '2048Mi' },
        devices: { interfaces: [{ name: 'net', macAddress: '02:1A:2b:3c:4d:01' }] },
      },
      networks: [{ name: 'net', multus: { networkName: 'team/net' } }],
      volumes: [{ name: 'root', dataVolume: { name: disk } }],
      ...spec,
    }
    const labels = { 'example.com/app': 'demo' }
    return this.create(
      KUBEVIRT_VIRTUAL_MACHINE,
      { namespace: TEAM, name },
      { spec: { runStrategy, template: { metadata: { labels }, spec: template } } },
    )
  }

  /** Creates the virtual machine `vm` with the filled disk `root`, and waits until it runs. */
  async runMachine(): Promise<void> {
    this.createClaim('root')
    this.createMachine('vm', 'root')
    await this.untilStatus('vm', 'Running')
  }

  /** Creates a claim that the provisioner binds. */
  createClaim(
    name: string,
    namespace = TEAM,
    storage = '1Gi',
    rest: object = {},
    annotations: Readonly<Record<string, string>> = {},
  ): void {
    const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage } } }
    this.create(PERSISTENT_VOLUME_CLAIM, { namespace, name, annotations }, { spec: { ...spec, ...rest } })
  }

  /** Creates a snapshot of a claim that stays, and waits until it can be cloned. */
  async createSnapshot(name: string, storage = '1Gi', rest: object = {}): Promise<void> {
    this.createClaim(`${name}-claim`, FARM, storage, rest)
    const spec = { source: { persistentVolumeClaimName: `${name}-claim` }, volumeSnapshotClassName: 'snap' }
    this.create(VOLUME_SNAPSHOT, { namespace: FARM, name }, { spec })
    await this.until('the snapshot', () => this.snapshot(name)?.status?.readyToUse === true)
  }

  /** Creates a clone of a snapshot in the farm, by default for the team. */
  createClone(name: string, snapshot: string, storage: object = {}, namespace = TEAM): DataVolume {
    const spec = {
      source: { snapshot: { namespace: FARM, name: snapshot } },
      storage: { storageClassName: 'fast', ...storage },
    }
    return this.create(DATA_VOLUME, { namespace, name, labels: { 'example.com/app': 'demo' } }, { spec })
  }

  /** Sets the status of a DataVolume that no populator serves. */
  setDataVolume(name: string, phase: string, running?: Condition): void {
    const found = this.dataVolume(name)
    if (found === undefined) throw new Error(`there is no DataVolume ${name}`)
    const status = { phase, conditions: running === undefined ? [] : [running] }
    this.cluster.admin.replaceStatus(DATA_VOLUME, { ...found, status })
  }

  /** Creates a DataVolume that only {@link setDataVolume} changes. */
  createScriptedDataVolume(name: string): void {
    this.create(DATA_VOLUME, { namespace: TEAM, name }, { spec: { source: { upload: {} }, storage: {} } })
  }

  machine(name: string): Machine | undefined {
    return this.#find<Machine>(KUBEVIRT_VIRTUAL_MACHINE, name)
  }

  instance(name: string): Instance | undefined {
    return this.#find<Instance>(VIRTUAL_MACHINE_INSTANCE, name)
  }

  /** When a controller last renewed its Lease. */
  renewTime(namespace: string, name: string): string {
    const lease = this.cluster.admin.get<KubeObject & { spec: { renewTime: string } }>(LEASE, { namespace, name })
    return lease.spec.renewTime
  }

  dataVolume(name: string, namespace = TEAM): DataVolume | undefined {
    return this.#find<DataVolume>(DATA_VOLUME, name, namespace)
  }

  claim(name: string, namespace = TEAM): Claim | undefined {
    return this.#find<Claim>(PERSISTENT_VOLUME_CLAIM, name, namespace)
  }

  snapshot(name: string): VolumeSnapshot | undefined {
    return this.#find<VolumeSnapshot>(VOLUME_SNAPSHOT, name, FARM)
  }

  pods(namespace = TEAM): readonly Pod[] {
    return this.cluster.admin.list<Pod>(POD, { namespace }).items
  }

  claims(namespace = TEAM): readonly Claim[] {
    return this.cluster.admin.list<Claim>(PERSISTENT_VOLUME_CLAIM, { namespace }).items
  }

  deleteInstance(name: string): void {
    this.cluster.admin.delete(VIRTUAL_MACHINE_INSTANCE, { namespace: TEAM, name })
  }

  async untilStatus(name: string, printableStatus: string): Promise<Machine> {
    const found = () => this.machine(name)?.status?.printableStatus
    await this.until(`${name} to be ${printableStatus}`, () => found() === printableStatus)
    return this.machine(name) as Machine
  }

  async untilPhase(name: string, phase: string): Promise<DataVolume> {
    await this.until(`${name} to be ${phase}`, () => this.dataVolume(name)?.status?.phase === phase)
    return this.dataVolume(name) as DataVolume
  }

  #find<T extends KubeObject>(type: ResourceType, name: string, namespace = TEAM): T | undefined {
    return this.cluster.admin.list<T>(type, { namespace }).items.find(({ metadata }) => metadata.name === name)
  }

  #note({ metadata }: KubeObject, value: string | undefined): void {
    const key = `${metadata.namespace}/${metadata.name}`
    const values = this.shown.get(key) ?? []
    if (value !== undefined && values.at(-1) !== value) this.shown.set(key, [...values, value])
  }
}

/** Returns a condition in short, `status/reason/message`. */
export function short(object: Machine | Instance | DataVolume | Pod | undefined, type: string): string | undefined {
  const found = object?.status?.conditions?.find((condition: Condition) => condition.type === type)
  return found && [found.status, found.reason, found.message].filter((part) => part).join('/')
}

/** Returns a source of pseudo-random numbers that are the same in each run. */
function digits(): () => number {
  let count = 0
  return () => {
    count += 1
    return createHash('sha256').update(String(count)).digest().readUInt32BE() / 2 ** 32
  }
}
