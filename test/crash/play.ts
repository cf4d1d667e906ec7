import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { SeenEvent } from '../harness/etcd-history.ts'
import { FaultProxy, type SeenRequest } from '../harness/fault-proxy.ts'
import { conditionOf, type DataVolume, IMAGE, type Image, isFinished, reasonOf, WORKSPACE } from '../harness/kinds.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import type { SpecInput, World } from '../harness/world.ts'
import { isWrite } from './writes.ts'

const NAME = 'image'
/**
 * Long enough that a leader on a busy machine does not lose it: what a lost leadership repeats would count as writes of the crash. Not longer,
 * because the operator after a crash waits until it has expired. It is renewed seldom: with 150 ms, that took half of the processor time.
 */
const LEASE = { LEASE_DURATION: '5s', LEASE_RENEW_DEADLINE: '4500ms', LEASE_RETRY_PERIOD: '1s' }
/** After this many renewals of the Lease without a write, an operator is idle. */
const QUIET_RENEWALS = 2

export interface Crash {
  /** As `verb resource`, or as `verb resource Reason` for a status with this reason. */
  readonly write: string
  /** The number of this write among them, from 1. */
  readonly nth: number
  /** Before the API server receives the write, or after it has executed it and before the operator knows. */
  readonly when: 'before' | 'after'
}

interface PlayOptions {
  /** `<namespace>` is that of the play. */
  readonly policy: Readonly<Record<string, string>>
  readonly hasWorkspace?: boolean
}

/** The name of the Workspace of a play, and of its namespace. */
export function workspaceOf(namespace: string): string {
  return `${namespace}-lab`
}

/** Reports whether an object belongs to a play. Cluster-scoped objects are shared, except the Workspaces of other plays. */
function seenIn(namespace: string): (object: KubeObject) => boolean {
  const places = [namespace, workspaceOf(namespace)]
  return ({ kind, metadata }) => {
    if (metadata.namespace !== undefined) return places.includes(metadata.namespace)
    return kind !== WORKSPACE.kind || places.includes(metadata.name)
  }
}

/**
 * The life of one image, of a machine with its image, of DataSyncs with their images, or of a Workspace. Its operator process sees only the
 * namespaces of the play, so that many plays can run in one cluster at the same time. All requests of the operator pass a proxy.
 */
export class Play implements AsyncDisposable {
  readonly world: World
  readonly namespace: string
  readonly proxy: FaultProxy
  readonly #bundle: string
  /** Functions that release the downloads of an image, by its name. */
  readonly #held = new Map<string, () => void>()
  readonly #operators: OperatorProcess[] = []
  #restarted: Promise<void> | undefined

  private constructor(parts: { world: World; namespace: string; proxy: FaultProxy; bundle: string }) {
    this.world = parts.world
    this.namespace = parts.namespace
    this.proxy = parts.proxy
    this.#bundle = parts.bundle
  }

  static async start(world: World, id: string, bundle: string, { policy, hasWorkspace }: PlayOptions): Promise<Play> {
    const namespace = `${world.namespace}-${id}`
    await world.createNamespace(namespace)
    const seen = hasWorkspace ? { sees: seenIn(namespace) } : { namespace }
    const play = new Play({ world, namespace, proxy: await FaultProxy.start(world.cluster, seen), bundle })
    await play.setPolicy(policy)
    play.#startOperator('first')
    return play
  }

  urlOf(name = NAME): string {
    return this.world.urlOf(name, this.namespace)
  }

  /** The path on the image server. */
  pathOf(name = NAME): string {
    return new URL(this.urlOf(name)).pathname
  }

  /** Kills the operator at a future write, and starts the next one at once. */
  crashAt(crash: Crash): void {
    let seen = 0
    this.proxy.rule = (request) => {
      if (!isWrite(request, crash.write)) return undefined
      seen += 1
      if (seen !== crash.nth) return undefined
      this.proxy.rule = undefined
      return crash.when === 'before'
        ? { type: 'hold', until: () => this.#restart().then(() => 'drop') }
        : { type: 'lose', after: () => this.#restart() }
    }
  }

  get hasCrashed(): boolean {
    return this.#restarted !== undefined
  }

  // Actions of people

  /** Each of its downloads is held until it is released. */
  async createImage(name = NAME, spec: SpecInput = {}): Promise<void> {
    this.holdDownloads(name)
    await this.world.createImage(name, { url: this.urlOf(name), ...spec }, { namespace: this.namespace })
  }

  holdDownloads(name = NAME): void {
    this.#held.set(name, this.world.gate.hold(this.urlOf(name)))
  }

  async patch(patch: object): Promise<void> {
    await this.world.patchImage(NAME, patch, this.namespace)
  }

  async setPolicy(data: Readonly<Record<string, string>>): Promise<void> {
    const placed = Object.entries(data).map(([key, text]) => [key, text.replaceAll('<namespace>', this.namespace)])
    await this.world.setPolicy(Object.fromEntries(placed), this.namespace)
  }

  async deleteImage(): Promise<void> {
    await this.world.deleteImage(NAME, this.namespace)
  }

  /** Pretends that the artifact in use was published this long ago, so that what is due after that time is due now. */
  async pretendPublished(agoMs: number): Promise<void> {
    const image = await this.world.client.get<Image>(IMAGE, { namespace: this.namespace, name: NAME })
    const publishedAt = new Date(Date.now() - agoMs).toISOString().replace(/\.\d+Z$/, 'Z')
    const artifact = { ...image.status?.artifact, publishedAt }
    await this.world.client.replaceStatus(IMAGE, { ...image, status: { ...image.status, artifact } } as Image)
  }

  /** Releases the download in flight. The next one is held again. */
  letThrough(name = NAME): void {
    const release = this.#held.get(name)
    this.holdDownloads(name)
    release?.()
  }

  // State

  getImage(name = NAME): Image | undefined {
    return this.world.getImage(name, this.namespace)
  }

  get dataVolumes(): DataVolume[] {
    return this.of(this.world.mirror.dataVolumes)
  }

  /** The objects of this play. */
  of<T extends KubeObject>(store: { values(): IterableIterator<T> }): T[] {
    return [...store.values()].filter(seenIn(this.namespace))
  }

  get holders(): readonly { name: string }[] {
    const data = this.world.mirror.configMaps.get(`${this.namespace}/sync-operator-slots`)?.data
    return JSON.parse(data?.['holders'] ?? '[]')
  }

  /** The events of this play. */
  get history(): SeenEvent[] {
    return this.world.history.events.filter(({ object }) => seenIn(this.namespace)(object))
  }

  // Waiting

  async until(what: string, probe: () => boolean): Promise<void> {
    const { mirror } = this.world
    await mirror.until(`${this.namespace}: ${what}`, probe, () => this.describe())
  }

  /** The download has started and the status shows it: the next operator may take longer to start than a download takes. */
  async untilDownloading(download = 1, name = NAME): Promise<void> {
    await this.until(`download ${download} of ${name} runs`, () => {
      const isRunning = this.dataVolumes.some(
        ({ metadata, status }) =>
          status?.phase === 'ImportInProgress' && metadata.ownerReferences?.some((owner) => owner.name === name),
      )
      const begun = this.world.downloadsOf(this.urlOf(name))
      return reasonOf(this.getImage(name)) === 'Syncing' && isRunning && begun >= download
    })
  }

  /** The wanted artifact is in use, and the slot of the image is free. */
  async untilSynced(name = NAME): Promise<void> {
    await this.until(`${name} is Succeeded and up to date`, () => {
      const image = this.getImage(name)
      const { status, metadata } = image ?? {}
      const isObserved = status?.observedGeneration === metadata?.generation
      const isUpToDate = conditionOf(image, 'UpToDate')?.status === 'True'
      const isFree = this.holders.every((holder) => holder.name !== name)
      return status?.phase === 'Succeeded' && isObserved && isUpToDate && isFree
    })
  }

  async untilReason(reason: string, name = NAME): Promise<void> {
    await this.until(`${name} has the reason ${reason}`, () => reasonOf(this.getImage(name)) === reason)
  }

  /** The image is being deleted, and something uses it. */
  async untilBlocked(): Promise<void> {
    await this.until('the deletion of the image is blocked', () => {
      const blocked = conditionOf(this.getImage(), 'DeletionBlocked')
      return blocked?.status === 'True'
    })
  }

  async untilGone(name = NAME): Promise<void> {
    await this.until(`${name} is gone`, () => this.getImage(name) === undefined)
  }

  async untilStopped(): Promise<void> {
    await this.until('nothing downloads', () => this.dataVolumes.every(isFinished) && this.holders.length === 0)
  }

  /** CDI removes the claim that it filled a while after the volume was moved, independent of the operator. */
  async untilCdiIsDone(): Promise<void> {
    const isPrime = ({ metadata }: KubeObject) => metadata.name.startsWith('prime-')
    await this.until(
      'CDI has removed the prime claims of what is finished',
      () => !this.of(this.world.mirror.claims).some(isPrime) || this.dataVolumes.some((one) => !isFinished(one)),
    )
  }

  /** The crash is over, the operator leads, and it has nothing left to do. */
  async untilQuiet(): Promise<void> {
    await this.#restarted
    let since = this.#renewals
    let writes = -1
    await this.until('the operator is quiet', () => {
      const count = this.writes.length
      if (count !== writes) {
        writes = count
        since = this.#renewals
      }
      return this.#renewals - since >= QUIET_RENEWALS
    })
  }

  /** All writes, except those for the Lease. */
  get writes(): SeenRequest[] {
    const isWrite = ({ verb, resource }: SeenRequest) =>
      ['create', 'update', 'patch', 'delete'].includes(verb) && resource !== 'leases'
    return this.proxy.seen.filter(isWrite)
  }

  /** The logs of all operators. */
  get logs(): string[] {
    return this.#operators.flatMap(({ lines }) => lines)
  }

  get #renewals(): number {
    return this.proxy.countOf('update', 'leases')
  }

  describe(): string {
    const { images, machines, dataSyncs, workspaces, kubevirtMachines, instances } = this.world.mirror
    const ours = [images, machines, dataSyncs, workspaces]
      .flatMap<KubeObject & { readonly status?: unknown }>((store) => this.of<KubeObject>(store))
      .map(({ metadata, status }) =>
        JSON.stringify({ finalizers: metadata.finalizers, deleted: metadata.deletionTimestamp, status }),
      )
    const theirs = [...this.of(kubevirtMachines), ...this.of(instances)].map(
      ({ kind, status }) => `${kind}: ${JSON.stringify(status)}`,
    )
    const requests = this.proxy.seen.filter(({ verb }) => !['list', 'watch'].includes(verb)).slice(-12)
    return [
      ...ours,
      ...theirs,
      ...this.dataVolumes.map((one) => `DataVolume ${one.metadata.name}: ${JSON.stringify(one.status)}`),
      `holders: ${JSON.stringify(this.holders)}`,
      ...requests.map((one) => `${one.verb} ${one.resource} ${one.name ?? ''}: ${one.status}`),
      ...this.logs.slice(-8),
    ].join('\n  ')
  }

  #startOperator(name: string): void {
    const { kubeconfigPath } = this.proxy
    const surroundings = { cluster: this.world.cluster, operatorNamespace: this.namespace }
    const options = { kubeconfig: kubeconfigPath, entry: this.#bundle, lease: LEASE }
    this.#operators.push(new OperatorProcess(surroundings, name, options))
  }

  #restart(): Promise<void> {
    this.#restarted ??= this.#replaceOperator()
    return this.#restarted
  }

  async #replaceOperator(): Promise<void> {
    await this.#operators.at(-1)?.kill()
    this.#startOperator('second')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restarted
    await this.#operators.at(-1)?.[Symbol.asyncDispose]()
    for (const release of this.#held.values()) release()
    await this.proxy[Symbol.asyncDispose]()
  }
}
