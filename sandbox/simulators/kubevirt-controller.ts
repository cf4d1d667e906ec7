import type { MachineFaults } from './kubevirt-faults.ts'
import type { KubevirtOptions } from './kubevirt-options.ts'
import type { Outages } from './outages.ts'
import { Worker } from './worker.ts'
import type { World } from './world.ts'

export interface KubevirtParts {
  readonly world: World
  readonly options: KubevirtOptions
  readonly faults: MachineFaults
  /** During these, virt-controller is stopped. virt-handler, kubelets and guests go on. */
  readonly outages: Outages
}

/** One controller of KubeVirt: reconciles a key when a related object changed, or when it requeued the key itself. */
export abstract class KubevirtController {
  readonly worker: Worker
  protected readonly world: World
  protected readonly options: KubevirtOptions
  protected readonly faults: MachineFaults
  protected readonly outages: Outages

  constructor(name: string, { world, options, faults, outages }: KubevirtParts) {
    this.world = world
    this.options = options
    this.faults = faults
    this.outages = outages
    this.worker = new Worker(world, name, (key) => this.reconcile(key))
  }

  protected abstract reconcile(key: string): Promise<void>
}
