import { isApiError } from '../../operator/kube/api-error.ts'
import { keyOf } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, POD } from '../../operator/kube/resource-types.ts'
import type { CdiOptions } from './cdi-options.ts'
import { ClonePopulator } from './clone.ts'
import { ControllerLease } from './controller-lease.ts'
import { statusIn } from './dv-status.ts'
import { Egress } from './egress.ts'
import type { Fault, FaultScript, ScriptOptions, Target } from './faults.ts'
import { IMPORTERS_AT_ONCE, Kubelet } from './kubelet.ts'
import { type DataVolume, isTerminating, ownerUid, uidOf } from './models.ts'
import { Outages } from './outages.ts'
import { isFilled, Populator } from './populator.ts'
import { type CloneSource, sourceOf, targetOf } from './source.ts'
import type { Transfer } from './transfer.ts'
import { Worker } from './worker.ts'
import { BY_CLAIM, BY_DATA_VOLUME, dataVolumeKey, type World } from './world.ts'

const LEASE_KEY = { namespace: 'cdi', name: 'cdi-controller-leader-election-helper' }

/**
 * CDI's controller as an ordinary API client: imports, blank disks and clones by the populator path.
 *
 * Not simulated: admission webhooks (a spec change and a taken name are not rejected, and anyone can clone anything), VolumeImportSource
 * and VolumeCloneSource objects (these kinds do not exist here), the legacy path (a class that is missing at first is waited for), the
 * creation of StorageProfiles (a class without one has ReadWriteOnce) and uploads. kube-controller-manager does the garbage collection.
 */
export class CdiSimulator {
  /** Counts what importers download. */
  readonly observed = new Egress()
  readonly #world: World
  readonly #faults: FaultScript
  readonly #kubelet: Kubelet
  readonly #worker: Worker
  readonly #populator: Populator
  readonly #clones: ClonePopulator
  readonly #lease: ControllerLease
  /** During these, the controller is stopped. Kubelets, provisioners and importers keep running. */
  readonly #outages = new Outages()
  /** Keys of DataVolumes without a claim. They may wait for a class. */
  readonly #claimless = new Set<string>()

  constructor(world: World, options: CdiOptions, transfer: Transfer, faults: FaultScript) {
    this.#world = world
    this.#faults = faults
    this.#kubelet = new Kubelet(world, options, faults, transfer, this.observed)
    this.#worker = new Worker(world, 'cdi', (key) => this.#reconcile(key))
    this.#populator = new Populator({ world, options, faults, kubelet: this.#kubelet, worker: this.#worker })
    this.#clones = new ClonePopulator({ world, options, faults, worker: this.#worker })
    this.#lease = new ControllerLease(world, LEASE_KEY, options.leaseRenewMs, () => !this.#outages.isAway)
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

  /** Injects a fault into the imports and clones of the DataVolumes that match `target`. The latest script wins. Returns a function that ends it. */
  script(target: Target, fault: Fault, options?: ScriptOptions): () => void {
    return this.#faults.add(target, fault, options)
  }

  start(): void {
    this.#kubelet.start()
    this.#worker.start(IMPORTERS_AT_ONCE)
    this.#lease.start()
  }

  /**
   * Stops only cdi-controller, as if its Deployment were scaled to 0. New DataVolumes show nothing at all, kubelets restart
   * failing importers, finished importers stay, and deletions are done by the garbage collector. Nothing reports the
   * progress of running importers, and nothing renews the Lease. Returns a function that ends this outage: the controller
   * is back when no outage is left.
   */
  stopController(): () => void {
    return this.#outages.begin(() => {
      for (const { metadata } of this.#world.dataVolumes.values()) this.#worker.queue.add(keyOf(metadata))
      for (const claim of this.#world.claims.values()) {
        this.#worker.queue.add(dataVolumeKey(claim) ?? keyOf(claim.metadata))
      }
    })
  }

  /** Resolves when all downloads have ended. The cluster stays as it is. */
  async stop(): Promise<void> {
    this.#lease.stop()
    await this.#worker.stop()
    await this.#kubelet.stop()
  }

  /** Called when the fault script changes. Requeues what the script may have held up. */
  wake(): void {
    this.#kubelet.wake()
    for (const { metadata, status } of this.#world.dataVolumes.values()) {
      if (status?.phase !== 'Succeeded') this.#worker.queue.add(`${metadata.namespace}/${metadata.name}`)
    }
  }

  async #reconcile(key: string): Promise<void> {
    if (this.#outages.isAway) return
    await this.#clones.releaseTarget(key)
    await this.#endPodsOfDeletedPrimes(key)
    const dataVolume = this.#world.dataVolumes.get(key)
    this.#noteClaim(key, dataVolume)
    if (dataVolume === undefined) {
      await this.#clones.forget(key)
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

  /** CDI does not hold back the deletion of a clone from another namespace until its helpers are gone. */
  async #end(key: string, dataVolume: DataVolume): Promise<void> {
    if (await this.#clones.release(dataVolume)) return
    await this.#showEnd(key, dataVolume)
  }

  /** A deleted prime claim waits for its pod. CDI deletes the pod, even if the DataVolume is long gone. But it no longer looks at a claim that is filled. */
  async #endPodsOfDeletedPrimes(key: string): Promise<void> {
    for (const prime of this.#world.claims.find(BY_DATA_VOLUME, key)) {
      if (!isTerminating(prime) || isFilled(prime)) continue
      for (const pod of this.#world.pods.find(BY_CLAIM, `${prime.metadata.namespace}/${prime.metadata.name}`)) {
        const isImporter = ownerUid(pod.metadata, 'PersistentVolumeClaim') === uidOf(prime)
        if (isImporter && !isTerminating(pod)) await this.#world.remove(POD, pod)
      }
    }
  }

  /** A terminating DataVolume keeps its phase. At the end, its status reports that its claim is not found. */
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
