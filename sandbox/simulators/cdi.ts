import { isApiError } from '../../operator/kube/api-error.ts'
import { DATA_VOLUME, POD } from '../../operator/kube/resource-types.ts'
import { CdiLease } from './cdi-lease.ts'
import type { CdiOptions } from './cdi-options.ts'
import { ClonePopulator } from './clone.ts'
import { statusIn } from './dv-status.ts'
import { Egress } from './egress.ts'
import type { Fault, FaultScript, ScriptOptions, Target } from './faults.ts'
import { IMPORTERS_AT_ONCE, Kubelet } from './kubelet.ts'
import { type DataVolume, isTerminating, ownerUid, uidOf } from './models.ts'
import { Populator } from './populator.ts'
import { type CloneSource, sourceOf, targetOf } from './source.ts'
import type { Transfer } from './transfer.ts'
import { Worker } from './worker.ts'
import { BY_CLAIM, BY_DATA_VOLUME, dataVolumeKey, type World } from './world.ts'

/**
 * CDI's controller as an ordinary API client: imports, blank disks and clones by the populator path.
 *
 * Left out: its admission webhooks (a spec change and a taken name are not refused, and anybody may clone anything),
 * VolumeImportSource and VolumeCloneSource objects (no such kinds here), the legacy path (a class that is missing at first
 * is waited for), the making of StorageProfiles (a class without one has ReadWriteOnce) and uploads. Garbage collection is kube-controller-manager's.
 */
export class CdiSimulator {
  /** What importers download. */
  readonly observed = new Egress()
  readonly #world: World
  readonly #faults: FaultScript
  readonly #kubelet: Kubelet
  readonly #worker: Worker
  readonly #populator: Populator
  readonly #clones: ClonePopulator
  readonly #lease: CdiLease
  /** Its controller is stopped. Kubelets and provisioners go on, and so do importers. */
  #isAway = false
  /** DataVolumes without a claim: they may wait for a class. */
  readonly #claimless = new Set<string>()

  constructor(world: World, options: CdiOptions, transfer: Transfer, faults: FaultScript) {
    this.#world = world
    this.#faults = faults
    this.#kubelet = new Kubelet(world, options, faults, transfer, this.observed)
    this.#worker = new Worker(world, 'cdi', (key) => this.#reconcile(key))
    this.#populator = new Populator({ world, options, faults, kubelet: this.#kubelet, worker: this.#worker })
    this.#clones = new ClonePopulator({ world, options, faults, worker: this.#worker })
    this.#lease = new CdiLease(world, options.leaseRenewMs, () => !this.#isAway)
    world.dataVolumes.onChange(({ key }) => this.#worker.queue.add(key))
    world.claims.onChange(({ key, before, after }) => this.#worker.queue.add(dataVolumeKey(after ?? before) ?? key))
    world.pods.onChange(({ before, after }) => {
      const key = dataVolumeKey(after ?? before)
      if (key !== undefined) this.#worker.queue.add(key)
    })
    world.storageProfiles.onChange(() => {
      for (const key of this.#claimless) this.#worker.queue.add(key)
    })
    world.storageClasses.onChange(() => {
      for (const key of this.#claimless) this.#worker.queue.add(key)
      for (const { metadata, status } of world.claims.values()) {
        if (status?.phase !== 'Bound') this.#worker.queue.add(`${metadata.namespace}/${metadata.name}`)
      }
    })
  }

  /** Makes imports of the DataVolumes that `target` describes go wrong. The latest script wins. Returns how to end it. */
  script(target: Target, fault: Fault, options?: ScriptOptions): () => void {
    return this.#faults.add(target, fault, options)
  }

  start(): void {
    this.#kubelet.start()
    this.#worker.start(IMPORTERS_AT_ONCE)
    this.#lease.start()
  }

  /**
   * Stops cdi-controller alone, as when its Deployment is scaled to 0: DataVolumes that are created show nothing at all, failing importers are
   * restarted by their kubelets, finished ones stay, and deletions go through by the garbage collector. Nothing says how far running ones
   * are, and nobody renews its Lease. Returns how to start it again.
   */
  stopController(): () => void {
    this.#isAway = true
    return () => {
      this.#isAway = false
      for (const { metadata } of [...this.#world.dataVolumes.values(), ...this.#world.claims.values()])
        this.#worker.queue.add(`${metadata.namespace}/${metadata.name}`)
    }
  }

  /** All downloads are over when it resolves; the cluster stays as it is. */
  async stop(): Promise<void> {
    this.#lease.stop()
    await this.#worker.stop()
    await this.#kubelet.stop()
  }

  /** The script changed: what it held up may go on. */
  wake(): void {
    this.#kubelet.wake()
    for (const { metadata, status } of this.#world.dataVolumes.values()) {
      if (status?.phase !== 'Succeeded') this.#worker.queue.add(`${metadata.namespace}/${metadata.name}`)
    }
  }

  async #reconcile(key: string): Promise<void> {
    if (this.#isAway) return
    await this.#clones.letGo(key)
    await this.#endPodsOfDeletedPrimes(key)
    const dataVolume = this.#world.dataVolumes.get(key)
    this.#noteClaim(key, dataVolume)
    if (dataVolume === undefined) {
      this.#clones.forget(key)
      return this.#populator.forget(key)
    }
    if (isTerminating(dataVolume)) return await this.#end(key, dataVolume)
    const source = sourceOf(dataVolume)
    switch (source.kind) {
      case 'import':
      case 'blank':
        return await this.#populator.reconcile(key, dataVolume)
      case 'clone':
        return await this.#clones.reconcile(key, dataVolume, source)
      case 'alias':
        return await this.#clones.reconcile(key, dataVolume, this.#lookUp(source.dataSource))
      case 'unsupported':
        return
    }
  }

  #lookUp(key: string): CloneSource | undefined {
    const dataSource = this.#world.dataSources.get(key)
    return dataSource && targetOf(dataSource)
  }

  /** CDI does not hold a clone from another namespace back for its helpers. */
  async #end(key: string, dataVolume: DataVolume): Promise<void> {
    if (await this.#clones.release(dataVolume)) return
    await this.#showEnd(key, dataVolume)
  }

  /** A deleted prime claim waits for its pod; CDI ends it, also when the DataVolume is long gone. */
  async #endPodsOfDeletedPrimes(key: string): Promise<void> {
    for (const prime of this.#world.claims.find(BY_DATA_VOLUME, key)) {
      if (!isTerminating(prime)) continue
      for (const pod of this.#world.pods.find(BY_CLAIM, `${prime.metadata.namespace}/${prime.metadata.name}`)) {
        const isImporter = ownerUid(pod.metadata, 'PersistentVolumeClaim') === uidOf(prime)
        if (isImporter && !isTerminating(pod)) await this.#world.remove(POD, pod)
      }
    }
  }

  /** While it is being deleted a DataVolume keeps its phase; last of all its claim is not found. */
  async #showEnd(key: string, dataVolume: DataVolume): Promise<void> {
    if (this.#world.claims.get(key) !== undefined) return
    const previous = dataVolume.status ?? {}
    const status = statusIn({ at: 'no claim' }, dataVolume.metadata.name, previous, this.#world.timestamp())
    if (status === previous) return
    try {
      await this.#world.writeStatus(DATA_VOLUME, this.#world.dataVolumes, dataVolume, status)
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error
    }
  }

  #noteClaim(key: string, dataVolume: DataVolume | undefined): void {
    if (dataVolume !== undefined && this.#world.claims.get(key) === undefined) this.#claimless.add(key)
    else this.#claimless.delete(key)
  }
}
