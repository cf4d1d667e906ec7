import { type Clock, systemClock } from '../../operator/base/clock.ts'
import { DATA_SYNC } from '../../operator/controllers/data-sync/caches.ts'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { WORKSPACE } from '../../operator/controllers/workspace/caches.ts'
import { WORKSPACE_SNAPSHOT } from '../../operator/controllers/workspace-snapshot/caches.ts'
import type { KubeClient, Selection } from '../../operator/kube/kube-client.ts'
import { compareResourceVersions, type KubeObject, keyOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  POD,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import type { Logger } from '../../operator/runtime/log.ts'
import { Reflector } from '../../operator/runtime/reflector.ts'
import { Store } from '../../operator/runtime/store.ts'
import { OPERATOR_NAMESPACE } from '../control-plane/cluster.ts'
import {
  type ConfigMapFact,
  configMapFact,
  type DataSourceFact,
  type DataSyncFact,
  type DataVolumeFact,
  type DiskFact,
  dataSourceFact,
  dataSyncFact,
  dataVolumeFact,
  type Entry,
  type Fact,
  type ImageFact,
  imageFact,
  type KubeVirtFact,
  kubevirtFact,
  LEDGER_NAME,
  type Ledger,
  ledgerOf,
  type MachineFact,
  machineFact,
  type PodFact,
  type PointFact,
  podFact,
  pointFact,
  type SnapshotFact,
  snapshotFact,
  type WorkspaceFact,
  workspaceFact,
} from './facts.ts'

/** Also keeps every observed state, not only the last one. */
class JournalStore<F extends Fact> extends Store<F> {
  readonly #write: (fact: F, isDeleted: boolean, before: F | undefined) => void

  constructor(write: (fact: F, isDeleted: boolean, before: F | undefined) => void) {
    super()
    this.#write = write
  }

  override put(fact: F): void {
    this.#write(fact, false, this.get(keyOf(fact.metadata)))
    super.put(fact)
  }

  override remove(fact: F): void {
    this.#write(fact, true, this.get(keyOf(fact.metadata)))
    super.remove(fact)
  }

  override replaceAll(facts: readonly F[], version: string): void {
    for (const fact of facts) this.#write(fact, false, this.get(keyOf(fact.metadata)))
    super.replaceAll(facts, version)
  }
}

type EntryListener = (entry: Entry, before: Fact | undefined) => void

interface Waiter {
  readonly what: string
  readonly holds: () => boolean
  readonly resolve: () => void
}

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
} as unknown as Logger

/** Observes the cluster through its own watches. It knows nothing of the operator except the objects that the operator writes. */
export class Observer {
  readonly images: Store<ImageFact>
  readonly machines: Store<MachineFact>
  readonly dataSyncs: Store<DataSyncFact>
  readonly workspaces: Store<WorkspaceFact>
  readonly points: Store<PointFact>
  readonly kubevirt: Store<KubeVirtFact>
  readonly dataVolumes: Store<DataVolumeFact | DiskFact>
  readonly pods: Store<PodFact>
  readonly configMaps: Store<ConfigMapFact>
  readonly snapshots: Store<SnapshotFact>
  readonly dataSources: Store<DataSourceFact>
  readonly #client: KubeClient
  readonly #clock: Clock
  readonly #entries: Entry[] = []
  readonly #reflectors: { run(signal: AbortSignal): Promise<void>; readonly synced: Promise<void> }[] = []
  readonly #waiters = new Set<Waiter>()
  readonly #listeners: (() => void)[] = []
  readonly #entryListeners: EntryListener[] = []
  readonly #stopping = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(client: KubeClient, clock: Clock = systemClock) {
    this.#client = client
    this.#clock = clock
    this.images = this.#watch(IMAGE, imageFact)
    this.machines = this.#watch(MACHINE, machineFact)
    this.dataSyncs = this.#watch(DATA_SYNC, dataSyncFact)
    this.workspaces = this.#watch(WORKSPACE, workspaceFact)
    this.points = this.#watch(WORKSPACE_SNAPSHOT, pointFact)
    this.kubevirt = this.#watch(KUBEVIRT_VIRTUAL_MACHINE, kubevirtFact)
    this.dataVolumes = this.#watch(DATA_VOLUME, dataVolumeFact)
    this.pods = this.#watch(POD, podFact)
    this.configMaps = this.#watch(CONFIG_MAP, configMapFact, { namespace: OPERATOR_NAMESPACE })
    this.snapshots = this.#watch(VOLUME_SNAPSHOT, snapshotFact)
    this.dataSources = this.#watch(DATA_SOURCE, dataSourceFact)
  }

  /** Resolves when all existing objects are observed. */
  async start(): Promise<void> {
    this.#running = Promise.all(this.#reflectors.map((reflector) => reflector.run(this.#stopping.signal)))
    await Promise.all(this.#reflectors.map(({ synced }) => synced))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** Returns everything that was observed, in the order in which it happened. */
  journal(): Entry[] {
    return this.#entries.toSorted((a, b) => compareResourceVersions(a.revision, b.revision))
  }

  /** The slot ledger as last observed. */
  get ledger(): Ledger {
    const found = this.configMaps.get(`${OPERATOR_NAMESPACE}/${LEDGER_NAME}`)
    return (found && ledgerOf(found)) ?? { limit: 0, holders: [] }
  }

  /** The revision of etcd at which the ledger was last written. */
  get ledgerRevision(): string {
    return this.configMaps.get(`${OPERATOR_NAMESPACE}/${LEDGER_NAME}`)?.metadata.resourceVersion ?? '0'
  }

  image(name: string): ImageFact | undefined {
    return this.images.get(`default/${name}`)
  }

  machine(name: string): MachineFact | undefined {
    return this.machines.get(`default/${name}`)
  }

  dataSync(name: string): DataSyncFact | undefined {
    return this.dataSyncs.get(`default/${name}`)
  }

  workspace(name: string): WorkspaceFact | undefined {
    return this.workspaces.get(name)
  }

  /** Returns the DataVolumes that may be downloading. */
  unfinished(): DataVolumeFact[] {
    const downloads = [...this.dataVolumes.values()].filter((fact) => fact.kind === 'dataVolume')
    return downloads.filter(({ phase }) => phase !== 'Succeeded')
  }

  /** Returns the DataVolume that downloads an image now. */
  downloadOf({ metadata }: Pick<ImageFact, 'metadata'>): DataVolumeFact | undefined {
    return this.unfinished().find(({ imageUid }) => imageUid === metadata.uid)
  }

  /** Calls `listener` after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Calls `listener` for each observed state, with the previous state of the same object. */
  onEntry(listener: EntryListener): void {
    this.#entryListeners.push(listener)
  }

  /** Resolves as soon as `holds` returns true. Rejects with the signal's reason if the signal aborts first. */
  async until(what: string, signal: AbortSignal, holds: () => boolean): Promise<void> {
    signal.throwIfAborted()
    if (holds()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { what, holds, resolve }
    const onAbort = () => reject(signal.reason as Error)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await promise
      this.#waiters.delete(waiter)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** What is still pending, or was when a signal ended the wait. */
  get pending(): string[] {
    return [...this.#waiters].map(({ what }) => what)
  }

  #watch<F extends Fact>(type: ResourceType, project: (object: KubeObject) => F, selection?: Selection): Store<F> {
    const store = new JournalStore<F>((...seen) => this.#write(...seen))
    store.onChange(() => this.#onChange())
    const reflector = new Reflector({
      client: this.#client,
      type,
      store,
      project,
      clock: this.#clock,
      random: Math.random,
      log: silent,
      ...(selection !== undefined && { selection }),
    })
    this.#reflectors.push(reflector)
    return store
  }

  #write(fact: Fact, isDeleted: boolean, before: Fact | undefined): void {
    const revision = fact.metadata.resourceVersion ?? '0'
    const entry = { revision, at: this.#clock.monotonic(), isDeleted, fact }
    this.#entries.push(entry)
    for (const listener of this.#entryListeners) listener(entry, before)
  }

  #onChange(): void {
    for (const waiter of this.#waiters) if (waiter.holds()) waiter.resolve()
    for (const listener of this.#listeners) listener()
  }
}
