import type { VMDiskImageSpecInput } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs/operator'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { RequestReport } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_SOURCE, EVENT, LEASE, NAMESPACE, SECRET } from '../../operator/kube/resource-types.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { ImageServer } from '../../sandbox/image-server/image-server.ts'
import type { SimulatorOptions, Simulators } from '../../sandbox/simulators/index.ts'
import { describeWorld } from './describe-world.ts'
import { EtcdHistory } from './etcd-history.ts'
import { Gate } from './gate.ts'
import { Grounds, ignoreNotFound, newNames, SNAPSHOTS, STORAGE, type WorldNames } from './grounds.ts'
import { type DataSource, type DataVolume, IMAGE, type Image, isFinished, isSynced, reasonOf } from './kinds.ts'
import { withLateWatches } from './late-watches.ts'
import { checkLedger, checkOrder, type OrderOptions } from './ledger-check.ts'
import { LogBook } from './log.ts'
import { Mirror } from './mirror.ts'
import { isKept, keptAccount, operatorAccount } from './operator-account.ts'
import { OperatorInProcess } from './operator-in-process.ts'
import { inNamespaces, leftovers } from './own-objects.ts'
import { persist } from './persist.ts'
import { checkRights, checkSchemas } from './request-checks.ts'
import { simulatorsFor } from './simulators.ts'

const IMAGE_BYTES = 128 * 1024

export { SNAPSHOTS, STORAGE }

/** Options of a world whose operator runs one download at a time. */
export const ONE_AT_A_TIME = { policy: { concurrency: '1' } }

/** An operator that has only filled its caches has sent more. */
const FEWEST_REQUESTS = 20

export type SpecInput = Partial<VMDiskImageSpecInput>

export interface WorldOptions {
  /**
   * Names of the namespaces. Default: names that no other world has. A cluster that test files share keeps the operator's namespace, empty, and
   * its rights.
   */
  readonly names?: WorldNames
  readonly policy?: Readonly<Record<string, string>>
  /** Do not start an operator. The test starts it. */
  readonly idle?: boolean
  /** The most downloads at once that the test ever allows, for the check at the end. Default: `concurrency` of `policy`, or 4. */
  readonly mostDownloads?: number
  /** Durations of the simulators that are not to be as short as possible. */
  readonly pace?: Partial<SimulatorOptions>
}

export interface FinishOptions extends OrderOptions {
  readonly isOrderChecked?: boolean
  readonly isLedgerChecked?: boolean
  /** An API server that has just started knows no permissions for a moment. */
  readonly areRightsChecked?: boolean
  /** Namespaces where somebody creates objects that only look like downloads of the operator. Their events are not checked. */
  readonly forgers?: readonly string[]
}

/**
 * The environment of one test: its own namespaces, simulators, an image server and, unless `idle`, an operator in this process.
 * {@link finish} ends a test that went well: it removes all images while the operator runs, and checks that nothing is left and
 * that no invariant was violated.
 */
export class World extends Grounds implements AsyncDisposable {
  readonly mirror: Mirror
  /** Every revision of the objects that the checks need. */
  readonly history: EtcdHistory
  readonly imageServer: ImageServer
  readonly gate: Gate
  readonly logs = new LogBook()
  /** Kubeconfig of the operator's ServiceAccount, which has the permissions of an installation and no others. */
  operatorKubeconfig = ''
  simulators: Simulators
  /** The last one that was started. */
  operator: OperatorInProcess | undefined
  mostDownloads: number
  readonly #operators: OperatorInProcess[] = []
  /** Requests of people and of simulators for which the API server returned a warning. */
  readonly #warned: readonly RequestReport[]
  readonly #connection: Connection

  private constructor(parts: {
    cluster: Cluster
    connection: Connection
    client: HttpKubeClient
    mirror: Mirror
    history: EtcdHistory
    imageServer: ImageServer
    gate: Gate
    simulators: Simulators
    names: WorldNames
    mostDownloads: number
    warned: readonly RequestReport[]
  }) {
    super(parts)
    this.#connection = parts.connection
    this.mirror = parts.mirror
    this.history = parts.history
    // Waits may depend on the history too.
    this.history.onEvent(() => this.mirror.nudge())
    this.imageServer = parts.imageServer
    this.gate = parts.gate
    this.simulators = parts.simulators
    this.mostDownloads = parts.mostDownloads
    this.#warned = parts.warned
  }

  static async start(cluster: Cluster, options: WorldOptions = {}): Promise<World> {
    const connection = Connection.fromEnvironment(null, cluster.controlPlane.kubeconfigPath)
    const warned: RequestReport[] = []
    const onRequest = (report: RequestReport) => report.warning !== undefined && warned.push(report)
    const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-scenario', onRequest })
    const kept = options.names === undefined ? keptAccount(cluster) : undefined
    // Before anything is recorded: this world must not see what the one before left.
    if (kept !== undefined) await clear(client, kept.namespace)
    const names = options.names ?? newNames()
    const imageServer = await ImageServer.start({ defaultSizeBytes: IMAGE_BYTES })
    const gate = new Gate()
    const world = new World({
      cluster,
      connection,
      client,
      history: await EtcdHistory.start(cluster.controlPlane.etcdUrl),
      mirror: await Mirror.start(withLateWatches(client, 'mirror')),
      imageServer,
      gate,
      simulators: await simulatorsFor(client, imageServer, gate, options.pace),
      names: { ...names, operator: kept?.namespace ?? names.operator },
      warned,
      mostDownloads: options.mostDownloads ?? Number(options.policy?.['concurrency'] ?? 4),
    })
    if (kept === undefined) await world.createNamespace(world.operatorNamespace)
    else world.namespaces.push(kept.namespace)
    await world.createNamespace(world.namespace)
    await world.createClasses()
    if (options.policy !== undefined) await world.setPolicy(options.policy)
    world.operatorKubeconfig = kept?.kubeconfig ?? (await operatorAccount(cluster, client, world.operatorNamespace))
    if (!options.idle) world.startOperator()
    return world
  }

  startOperator(): OperatorInProcess {
    this.operator = new OperatorInProcess({
      kubeconfig: this.operatorKubeconfig,
      namespace: this.operatorNamespace,
      log: this.logs.log,
    })
    this.#operators.push(this.operator)
    return this.operator
  }

  // Actions of people

  async createImage(
    name: string,
    spec: SpecInput = {},
    metadata: Partial<KubeObject['metadata']> = {},
  ): Promise<Image> {
    return await this.client.create<Image>(IMAGE, this.image(name, spec, metadata))
  }

  /** Creates an image, and resolves when it is synced. */
  async syncImage(name: string, spec?: SpecInput, metadata?: Partial<KubeObject['metadata']>): Promise<Image> {
    await this.createImage(name, spec, metadata)
    return await this.untilSynced(name)
  }

  /** Creates an image, and resolves when it waits in the queue. */
  async queueImage(name: string): Promise<Image> {
    await this.createImage(name)
    return await this.untilReason(name, 'Queued')
  }

  /** Creates an image as soon as the API server accepts it: a replaced schema takes effect a moment later. */
  async createWhenTaken(name: string, spec: SpecInput): Promise<Image> {
    return await persist(`image ${name} is taken`, ['Rejected'], () => this.createImage(name, spec))
  }

  /** An image with an http source and a snapshot. `spec` overrides fields; undefined removes one. */
  image(name: string, spec: SpecInput = {}, metadata: Partial<KubeObject['metadata']> = {}): Image {
    const namespace = metadata.namespace ?? this.namespace
    const defaults = { sourceType: 'http', url: this.urlOf(name), diskSize: '16Mi', storageClass: STORAGE }
    const merged = Object.entries({ ...defaults, snapshotClass: SNAPSHOTS, ...spec })
    return {
      apiVersion: apiVersionOf(IMAGE),
      kind: 'VMDiskImage',
      metadata: { namespace, ...metadata, name },
      spec: Object.fromEntries(merged.filter(([, value]) => value !== undefined)),
    }
  }

  urlOf(name: string, namespace = this.namespace): string {
    return `https://images.example.com/${namespace}/${name}.qcow2`
  }

  async patchImage(name: string, patch: object, namespace = this.namespace): Promise<Image> {
    return await this.client.mergePatch<Image>(IMAGE, { namespace, name }, patch)
  }

  async annotate(name: string, annotations: Readonly<Record<string, string>>): Promise<Image> {
    return await this.patchImage(name, { metadata: { annotations } })
  }

  async deleteImage(name: string, namespace = this.namespace): Promise<void> {
    await this.client.delete(IMAGE, { namespace, name })
  }

  // Observations

  getImage(name: string, namespace = this.namespace): Image | undefined {
    return this.mirror.images.get(`${namespace}/${name}`)
  }

  childrenOf(name: string): DataVolume[] {
    const uid = this.getImage(name)?.metadata.uid
    return [...this.mirror.dataVolumes.values()].filter(({ metadata }) =>
      metadata.ownerReferences?.some((owner) => owner.uid === uid),
    )
  }

  /** The number of downloads of an image that started. */
  downloads(name: string): number {
    return this.downloadsOf(this.urlOf(name))
  }

  downloadsOf(url: string): number {
    return this.simulators.cdi.observed.image(url).attempts
  }

  /** What the DataSource of an image names, live: it is written before the image says so, and seen by another watch. */
  async sourceOf(name: string): Promise<DataSource['spec']['source']> {
    return (await this.client.get<DataSource>(DATA_SOURCE, { namespace: this.namespace, name })).spec.source
  }

  get ledger(): { limit: number; holders: readonly { uid: string; name: string; attempt: number }[] } | undefined {
    const data = this.mirror.configMaps.get(`${this.operatorNamespace}/sync-operator-slots`)?.data
    if (data === undefined) return undefined
    return { limit: Number(data['limit']), holders: JSON.parse(data['holders'] ?? '[]') }
  }

  holds(name: string): boolean {
    return this.ledger?.holders.some((holder) => holder.name === name) ?? false
  }

  eventsOf(name: string): { type: string; reason: string; message: string }[] {
    return [...this.mirror.events.values()].flatMap(({ involvedObject, type = '', reason = '', message = '' }) =>
      involvedObject?.name === name && (involvedObject.kind === 'VMDiskImage' || involvedObject.kind === 'ConfigMap')
        ? [{ type, reason, message }]
        : [],
    )
  }

  // Waiting

  /** Waits for an Event about an image or the policy: Events are written a moment after the status. */
  async untilEvent(name: string, event: { readonly type?: string; readonly reason: string }): Promise<void> {
    const is = (one: { type: string; reason: string }) =>
      one.reason === event.reason && one.type === (event.type ?? one.type)
    await this.until(`Event ${event.reason} about ${name}`, () => this.eventsOf(name).some(is))
  }

  until<T>(what: string, probe: () => T | undefined | false): Promise<T> {
    return this.mirror.until(what, probe, () => this.describe())
  }

  untilImage(name: string, what: string, holds: (image: Image) => boolean): Promise<Image> {
    return this.until(`image ${name}: ${what}`, () => {
      const image = this.getImage(name)
      return image !== undefined && holds(image) ? image : undefined
    })
  }

  untilPhase(name: string, phase: string): Promise<Image> {
    return this.untilImage(name, `phase ${phase}`, ({ status }) => status?.phase === phase)
  }

  untilSynced(name: string): Promise<Image> {
    return this.untilImage(name, 'Succeeded and up to date', isSynced)
  }

  untilReason(name: string, reason: string): Promise<Image> {
    return this.untilImage(name, `reason ${reason}`, (image) => reasonOf(image) === reason)
  }

  untilGone(name: string, namespace = this.namespace): Promise<true> {
    return this.until(`image ${name} is gone`, () => this.getImage(name, namespace) === undefined || undefined).then(
      () => true as const,
    )
  }

  async untilDefinitionGone(name: string): Promise<void> {
    await this.until(`CustomResourceDefinition ${name} is gone`, () => this.mirror.definitions.get(name) === undefined)
  }

  /** Waits until the importer of this image runs. */
  untilDownloading(name: string, downloads = 1): Promise<true> {
    return this.until(`download ${downloads} of image ${name} runs`, () => {
      const running = this.childrenOf(name).find((one) => !isFinished(one) && one.status?.phase === 'ImportInProgress')
      return (running !== undefined && this.downloads(name) >= downloads) || undefined
    })
  }

  /** Waits for this many renewals of the Lease: a measure of time that shows that the operator is alive. */
  async untilRenewed(times: number): Promise<void> {
    const seen = new Set<string>()
    await this.until(`${times} renewals of the Lease`, () => {
      const renewed = this.mirror.leases.get(`${this.operatorNamespace}/sync-operator`)?.spec?.renewTime
      if (renewed !== undefined) seen.add(renewed)
      return seen.size > times || undefined
    })
  }

  /** Resolves when the operator of this process has sent no write for two renewals of its Lease. What it says of a state, it may say a moment later. */
  async untilQuiet(): Promise<void> {
    for (let times = 0; times < 100; times += 1) {
      const before = this.operator?.writes.length
      await this.untilRenewed(2)
      if (this.operator?.writes.length === before) return
    }
    const last = this.operator?.writes.slice(-5).map(({ verb, resource }) => `${verb} ${resource}`)
    throw new Error(`the operator does not stop writing, at last ${last}`)
  }

  describe(): string {
    return describeWorld(this)
  }

  // The end

  /** Removes all images and checks what must hold after every scenario. Where errors are injected, some checks do not apply. */
  async finish(options: FinishOptions = {}): Promise<void> {
    const { isOrderChecked = true, isLedgerChecked = true, areBatchesChecked = true, areRightsChecked = true } = options
    this.gate.releaseAll()
    for (const { metadata } of inNamespaces(this.mirror.images, this.namespaces)) {
      await this.client.delete(IMAGE, metadata).catch(ignoreNotFound)
    }
    await this.until('nothing is left behind', () => leftovers(this.mirror, this.namespaces).length === 0 || undefined)
    await this.#stopOperators()
    await this.history.catchUp()
    const { forgers } = options
    const events = this.history.events.filter(({ object }) => !forgers?.includes(object.metadata.namespace ?? ''))
    if (isLedgerChecked) checkLedger(events, this.operatorNamespace)
    if (isOrderChecked) checkOrder(events, this.operatorNamespace, { areBatchesChecked })
    const { maxImporting } = this.simulators.cdi.observed
    if (maxImporting > this.mostDownloads) {
      throw new Error(`${maxImporting} downloads ran at once; at most ${this.mostDownloads} were allowed`)
    }
    const requests = this.#operators.flatMap((operator) => operator.requests)
    if (this.#operators.length > 0 && requests.length < FEWEST_REQUESTS) throw new Error('the operator did nothing')
    if (areRightsChecked) checkRights(requests)
    checkSchemas([...this.#warned, ...requests])
  }

  async restartSimulators(): Promise<void> {
    await this.simulators.stop()
    this.simulators = await simulatorsFor(this.client, this.imageServer, this.gate)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.gate.releaseAll()
    await this.#stopOperators()
    await this.#force().catch(() => undefined)
    await this.simulators.stop()
    await this.imageServer.stop()
    await this.mirror.stop()
    await this.history[Symbol.asyncDispose]()
    await this.#connection.close()
  }

  async #stopOperators(): Promise<void> {
    await Promise.all(this.#operators.map((operator) => operator.stop()))
  }

  /** After a failed test, the next one must not find its images. */
  async #force(): Promise<void> {
    for (const image of inNamespaces(this.mirror.images, this.namespaces)) {
      const finalizers = image.metadata.finalizers?.filter((finalizer) => finalizer !== FINALIZERS.vmDiskImage) ?? []
      await this.client.mergePatch(IMAGE, image.metadata, { metadata: { finalizers } }).catch(ignoreNotFound)
      await this.client.delete(IMAGE, image.metadata).catch(ignoreNotFound)
    }
    const own = this.namespaces.filter((name) => !isKept(this.cluster, name))
    for (const name of own) await this.client.delete(NAMESPACE, { name }).catch(ignoreNotFound)
  }
}

/** Removes what operators write down in their namespace, and what people and tests add to that. */
async function clear(client: HttpKubeClient, namespace: string): Promise<void> {
  for (const type of [LEASE, CONFIG_MAP, SECRET, EVENT]) {
    const { items } = await client.list(type, { namespace })
    await Promise.all(items.map(({ metadata }) => client.delete(type, metadata).catch(ignoreNotFound)))
  }
}
