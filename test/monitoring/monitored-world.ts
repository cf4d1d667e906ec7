import { POLICY_NAME } from '@open-terrain/constructs/operator'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE, PERSISTENT_VOLUME_CLAIM, SECRET } from '../../operator/kube/resource-types.ts'
import { OperatorReplica } from '../../operator/operator.ts'
import { RuntimeMetrics } from '../../operator/runtime/metrics.ts'
import { type Fate, type RequestInfo, SimulatedProcess } from '../../sandbox/memory-cluster/index.ts'
import { IMAGE, MACHINE, WORKSPACE } from '../harness/kinds.ts'
import { fakeLog } from '../prepared/runtime/fake-log.ts'
import { FARM, SimulatedCluster, TEAM } from '../prepared/sandbox/simulated-cluster.ts'
import { type History, samplesOf } from './history.ts'

const OPERATOR_NAMESPACE = 'sync-operator'
const MINUTE_MS = 60_000
/** How often all is scraped. */
const SCRAPE_MS = MINUTE_MS
const LEASE = { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 }
/** Key of the label of the class of a lab. */
const CLASS = 'course'
const STORAGE = { storageClass: 'fast', snapshotClass: 'snap' }
const RESOURCES = { cpu: '1', memory: '1Gi' }

/** One replica of the operator, with everything that it measures. */
interface MonitoredReplica {
  readonly pod: string
  readonly process: SimulatedProcess
  readonly metrics: RuntimeMetrics
  readonly stopping: AbortController
}

/**
 * Some hours of a cluster in which everything that the dashboard asks about happens, in virtual time: a class begins, more images are wanted than there
 * are slots, some downloads fail, CDI is away, machines become outdated, labs end, and another replica leads. What is scraped is what the operator serves.
 */
export class MonitoredWorld {
  readonly #simulated: SimulatedCluster
  readonly #replicas: MonitoredReplica[] = []
  readonly #lines: string[] = []
  readonly #begunMs: number
  #requests = 0

  private constructor(simulated: SimulatedCluster) {
    this.#simulated = simulated
    this.#begunMs = simulated.time.epochMs + simulated.time.elapsedMs
  }

  /** Runs it to its end, and returns what was scraped. */
  static async run(): Promise<History> {
    const world = new MonitoredWorld(await SimulatedCluster.start({ bootMs: 40_000, cloneMs: 20_000 }))
    return await world.#run()
  }

  async #run(): Promise<History> {
    this.#create(NAMESPACE, { name: OPERATOR_NAMESPACE })
    this.#create(CONFIG_MAP, { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }, { data: POLICY })
    this.#startReplica('operator-a')
    await this.#pass(5)
    this.#startReplica('operator-b')
    await this.#pass(5)
    await this.#beginClass()
    await this.#loseNeighbour()
    await this.#changeWhatRuns()
    await this.#replaceLeader()
    for (const { process } of this.#replicas) process.kill()
    return { begunMs: this.#begunMs, endedMs: this.#nowMs, lines: this.#lines }
  }

  /** More images than slots; sources that fail; one that waits for a Secret. */
  async #beginClass(): Promise<void> {
    const { cdi } = this.#simulated.simulators
    const missing = 'expected status code 200, got 404. Status: 404 Not Found'
    cdi.script({ image: urlOf('gone', 2) }, { type: 'error', message: missing })
    cdi.script({ image: urlOf('flaky', 6) }, { type: 'oomKilled' }, { times: 1 })
    cdi.script({ image: urlOf('broken', 4) }, { type: 'checksumMismatch' })
    for (const [name, minutes] of Object.entries(IMAGES)) this.#createImage(name, minutes)
    this.#createImage('old', 3, { reclaimPolicy: 'Delete' })
    this.#createImage('private', 5, { secretRef: 'login' })
    for (const [at, image] of ['debian', 'debian', 'windows', 'kali'].entries()) this.#createMachine(`vm-${at}`, image)
    for (const name of ['alice', 'bob', 'carol']) this.#createLab(name)
    await this.#pass(25)
    this.#create(SECRET, { namespace: FARM, name: 'login' }, { data: { accessKeyId: 'YQ==', secretKey: 'Yg==' } })
    await this.#pass(35)
  }

  /** CDI and KubeVirt stop, and come back. */
  async #loseNeighbour(): Promise<void> {
    this.#simulated.simulatorsProcess.freeze()
    for (const [name, minutes] of Object.entries(MORE_IMAGES)) this.#createImage(name, minutes)
    await this.#pass(10)
    this.#simulated.simulatorsProcess.thaw()
    await this.#pass(20)
  }

  /** Specs change, data is lost, labs end. */
  async #changeWhatRuns(): Promise<void> {
    const { admin } = this.#simulated.cluster
    for (const name of ['alice', 'bob']) {
      const { spec } = admin.get<KubeObject & { spec: { vms: object[] } }>(WORKSPACE, { name })
      const vms = spec.vms.map((vm) => ({ ...vm, resources: { cpu: '2', memory: '2Gi' }, startupScript: 'echo hello' }))
      admin.mergePatch(WORKSPACE, { name }, { spec: { vms } })
    }
    admin.mergePatch(MACHINE, { namespace: TEAM, name: 'vm-0' }, { spec: { resources: { cpu: '3', memory: '3Gi' } } })
    const [claim] = admin.list(PERSISTENT_VOLUME_CLAIM, { namespace: 'carol' }).items.filter(isVolume)
    if (claim !== undefined)
      admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: 'carol', name: claim.metadata.name ?? '' })
    admin.delete(MACHINE, { namespace: TEAM, name: 'vm-3' })
    this.#createLab('dave', { expiresAt: this.#inMinutes(30), onExpiry: 'Halt' })
    this.#createLab('erin', { expiresAt: this.#inMinutes(50), onExpiry: 'Delete' })
    await this.#pass(40)
  }

  /** As in an upgrade. What is scraped has no mark that a target is gone, so its last figures are those after its end. */
  async #replaceLeader(): Promise<void> {
    this.#replicas[0]?.stopping.abort()
    await this.#pass(2)
    this.#replicas.shift()?.process.kill()
    this.#startReplica('operator-c')
    await this.#pass(35)
  }

  get #nowMs(): number {
    return this.#simulated.time.epochMs + this.#simulated.time.elapsedMs
  }

  #inMinutes(minutes: number): string {
    return new Date(this.#nowMs + minutes * MINUTE_MS).toISOString().replace(/[.]\d+Z$/, 'Z')
  }

  #startReplica(pod: string): void {
    const { time, cluster } = this.#simulated
    const process = new SimulatedProcess(time, pod)
    const metrics = new RuntimeMetrics()
    metrics.observeProcess()
    const client = cluster.connect({ process, fateOf: (request) => this.#fateOf(request, metrics) })
    const operator = new OperatorReplica({
      client,
      leaseClient: cluster.connect({ process }),
      clock: process.clock,
      serverNow: () => this.#nowMs,
      random: () => 0.5,
      log: fakeLog(),
      namespace: OPERATOR_NAMESPACE,
      identity: pod,
      lease: LEASE,
      classLabel: CLASS,
      metrics,
    })
    const stopping = new AbortController()
    void operator.run(stopping.signal)
    this.#replicas.push({ pod, process, metrics, stopping })
  }

  /** Every request is delivered, and now and then one is refused. The HTTP client of the product reports them in the same way. */
  #fateOf({ verb, resource }: RequestInfo, metrics: RuntimeMetrics): Fate {
    this.#requests += 1
    const isRefused = verb !== 'watch' && this.#requests % 97 === 0
    const requestMs = 5 + (this.#requests % 20)
    const method = METHODS[verb]
    const code = isRefused ? '503' : verb === 'create' ? '201' : '200'
    metrics.requested({ verb: method, resource: resource.plural, code, seconds: requestMs / 1_000 })
    if (isRefused) return { kind: 'refuse', status: 503, answerMs: requestMs }
    return { kind: 'deliver', requestMs, answerMs: 1 }
  }

  /** Lets time pass, and scrapes. */
  async #pass(minutes: number): Promise<void> {
    const untilMs = this.#nowMs + minutes * MINUTE_MS
    while (this.#nowMs < untilMs) {
      await this.#simulated.pass(SCRAPE_MS)
      for (const { pod, metrics } of this.#replicas) {
        const labels = { namespace: OPERATOR_NAMESPACE, pod, job: 'sync-operator/open-terrain-operator' }
        this.#lines.push(...samplesOf(await metrics.render(), labels, this.#nowMs))
      }
    }
  }

  #create(type: ResourceType, metadata: KubeObject['metadata'], rest: object = {}): void {
    this.#simulated.create(type, metadata, rest)
  }

  #createImage(name: string, minutes: number, more: object = {}): void {
    const spec = { url: urlOf(name, minutes), sourceType: 'http', diskSize: `${minutes}Gi`, ...STORAGE, ...more }
    this.#create(IMAGE, { namespace: FARM, name }, { spec })
  }

  #createMachine(name: string, image: string): void {
    const spec = {
      name,
      users: [{ name: 'demo', plain_text_passwd: 'x', lock_passwd: false }],
      resources: RESOURCES,
      vmDiskImageRef: { namespace: FARM, name: image },
    }
    this.#create(MACHINE, { namespace: TEAM, name }, { spec })
  }

  #createLab(name: string, more: object = {}): void {
    const vm = { name: 'router', backingVMDiskImage: 'debian', resources: RESOURCES }
    const template = {
      url: urlOf('debian', IMAGES.debian),
      sourceType: 'http',
      diskSize: `${IMAGES.debian}Gi`,
      ...STORAGE,
    }
    const container = {
      name: 'web',
      image: 'registry.example/web:1',
      volumeMounts: [{ name: 'www', containerPath: '/www' }],
    }
    const spec = {
      ansible: { image: 'registry.example/ansible:1' },
      secrets: [{ name: 'logins', generate: [{ key: 'ansible' }] }],
      volumes: [{ name: 'www', size: '1Gi', storageClass: 'fast' }],
      vms: [
        {
          ...vm,
          vmDiskImageTemplate: template,
          users: [{ name: 'ansible', lock_passwd: false, passwordSecretRef: { name: 'logins', key: 'ansible' } }],
          ansible: { roles: { build: [{ role: 'router' }] } },
        },
        { ...vm, name: 'desk', vmDiskImageTemplate: template },
      ],
      containerClusters: [{ name: 'web', containers: [container] }],
      ...more,
    }
    this.#create(WORKSPACE, { name, labels: { [CLASS]: 'net-1' } }, { spec })
  }
}

const METHODS: Readonly<Record<RequestInfo['verb'], string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  replace: 'PUT',
  replaceStatus: 'PUT',
  mergePatch: 'PATCH',
  delete: 'DELETE',
}

const POLICY = {
  concurrency: '2',
  retryLimit: '2',
  retryBackoffDuration: '3m',
  imageNamespace: FARM,
  defaultStorageClass: 'fast',
  defaultSnapshotClass: 'snap',
  unreferencedTTL: '30m',
}
/** How many minutes the download of each image takes. */
const IMAGES = { debian: 4, windows: 14, kali: 9, ubuntu: 6, fedora: 7, gone: 2, flaky: 6, broken: 4, router: 3 }
const MORE_IMAGES = { alpine: 2, rocky: 8, opnsense: 5 }

function urlOf(name: string, minutes: number): string {
  return `https://images.example.com/minutes-${minutes}/${name}.qcow2`
}

function isVolume({ metadata }: KubeObject): boolean {
  return metadata.name?.includes('www') ?? false
}
