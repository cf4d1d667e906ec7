import { keyOf } from '../../operator/kube/kube-object.ts'
import { ControllerLease } from './controller-lease.ts'
import { type MachineFault, MachineFaults, type MachineScriptOptions, type MachineTarget } from './kubevirt-faults.ts'
import { Instances } from './kubevirt-instances.ts'
import { Launchers } from './kubevirt-launchers.ts'
import { MachineRestores } from './kubevirt-machine-restores.ts'
import { Machines } from './kubevirt-machines.ts'
import { isLauncher } from './kubevirt-objects.ts'
import type { KubevirtOptions } from './kubevirt-options.ts'
import { isToBeRestored, Restores } from './kubevirt-restores.ts'
import { MachineSnapshots } from './kubevirt-snapshots.ts'
import type { Pod } from './models.ts'
import { Outages } from './outages.ts'
import { isUnschedulable } from './pod-status.ts'
import { watchRoom } from './scheduler.ts'
import { BY_CLAIM, BY_INSTANCE, type World } from './world.ts'

const LEASE_KEY = { namespace: 'kubevirt', name: 'virt-controller' }

/**
 * KubeVirt as an ordinary API client: a VirtualMachine has a VirtualMachineInstance, which has a launcher pod, in which
 * a guest runs. No essential state is in memory: a restarted simulator continues from the state of the cluster.
 *
 * A restore writes volumes into the spec, as KubeVirt does for a VirtualMachineRestore.
 *
 * Not simulated: admission webhooks (a missing or unknown `runStrategy` is not rejected, such a machine stays idle, and
 * spec defaults are set a moment after the creation), `Once`, dataVolumeTemplates, the temporary pod for DataVolumes in
 * WaitForFirstConsumer and subresources. Deleting the instance restarts the machine, requests in the status start and stop it, and pauses and
 * migrations are scripted: added CPUs and memory wait for one.
 */
export class KubevirtSimulator {
  readonly #world: World
  readonly #faults: MachineFaults
  readonly #machines: Machines
  readonly #instances: Instances
  readonly #launchers: Launchers
  readonly #restores: Restores
  readonly #snapshots: MachineSnapshots
  readonly #requests: MachineRestores
  readonly #lease: ControllerLease
  readonly #outages = new Outages()

  constructor(world: World, options: KubevirtOptions) {
    this.#world = world
    this.#faults = new MachineFaults(() => this.#wake())
    this.#lease = new ControllerLease(world, LEASE_KEY, options.leaseRenewMs, () => !this.#outages.isAway)
    const parts = { world, options, faults: this.#faults, outages: this.#outages }
    this.#machines = new Machines(parts)
    this.#instances = new Instances(parts)
    this.#launchers = new Launchers(parts)
    this.#restores = new Restores(parts)
    this.#snapshots = new MachineSnapshots(parts)
    this.#requests = new MachineRestores(parts)
    world.machineRestores.onChange(({ key, before, after }) => {
      this.#requests.worker.queue.add(key)
      const { metadata, spec } = after ?? before ?? {}
      this.#restores.worker.queue.add(`${metadata?.namespace}/${spec?.target.name}`)
    })
    world.machineSnapshots.onChange(({ key }) => {
      this.#snapshots.worker.queue.add(key)
      for (const restore of world.machineRestores.keys()) this.#requests.worker.queue.add(restore)
    })
    world.machines.onChange(({ key }) => {
      this.#wakeRestoresOf(key)
      this.#machines.worker.queue.add(key)
      this.#restores.worker.queue.add(key)
    })
    world.instances.onChange(({ key, before, after }) => {
      this.#wakeRestoresOf(key)
      this.#machines.worker.queue.add(key)
      this.#instances.worker.queue.add(key)
      this.#restores.worker.queue.add(key)
      for (const pod of world.pods.find(BY_INSTANCE, (after ?? before)?.metadata.uid ?? '')) {
        this.#launchers.worker.queue.add(keyOf(pod.metadata))
      }
    })
    world.pods.onChange(({ key, before, after }) => {
      const pod = after ?? before
      if (pod === undefined || !isLauncher(pod)) return
      this.#launchers.worker.queue.add(key)
      this.#instances.worker.queue.add(ownerKey(pod) ?? key)
    })
    for (const store of [world.claims, world.dataVolumes]) store.onChange(({ key }) => this.#wakeUsersOf(key))
    world.claims.onChange(() => {
      for (const machine of world.machines.values())
        if (isToBeRestored(machine)) this.#restores.worker.queue.add(keyOf(machine.metadata))
    })
    world.secrets.onChange(({ before, after }) => {
      if (before === undefined) this.#wakeLaunchers(({ metadata }) => metadata.namespace === after?.metadata.namespace)
    })
    watchRoom(world, (mayFit) => this.#wakeLaunchers((pod) => isUnschedulable(pod) && mayFit(pod)))
  }

  /** Injects a fault into the virtual machines that match `target`. The latest script wins. Returns a function that ends it. */
  script(target: MachineTarget, fault: MachineFault, options?: MachineScriptOptions): () => void {
    return this.#faults.add(target, fault, options)
  }

  start(): void {
    for (const { worker } of this.#parts()) worker.start()
    this.#lease.start()
  }

  /**
   * Stops only virt-controller, as if its Deployment were scaled to 0. Nothing creates or deletes instances and launcher pods, and nothing
   * renews the Lease. Guests go on: virt-handler reports their phase, agent and pauses, and kubelets the state of the pods. Everything that
   * virt-controller reports stays as it was: the state of machines, and the condition `Ready` of instances. Returns a function that ends
   * this outage: the controller is back when no outage is left.
   */
  stopController(): () => void {
    return this.#outages.begin(() => this.#wake())
  }

  /** Snapshots of the machine with this name fail. Returns a function that ends it. */
  failSnapshots(machine: string, reason: string): () => void {
    return this.#snapshots.fail(machine, reason)
  }

  /** Restores of the machine with this name meet an error. Returns a function that ends it. */
  failRestores(machine: string, reason: string): () => void {
    return this.#requests.fail(machine, reason)
  }

  async stop(): Promise<void> {
    this.#lease.stop()
    await Promise.all(this.#parts().map(({ worker }) => worker.stop()))
  }

  #parts() {
    return [this.#machines, this.#instances, this.#launchers, this.#restores, this.#snapshots, this.#requests]
  }

  #wake(): void {
    for (const key of this.#world.machines.keys()) {
      this.#machines.worker.queue.add(key)
      this.#restores.worker.queue.add(key)
    }
    for (const key of this.#world.machineSnapshots.keys()) this.#snapshots.worker.queue.add(key)
    // The snapshot that a machine is locked for may be gone.
    for (const { metadata, status } of this.#world.machines.values())
      if (status?.snapshotInProgress !== undefined)
        this.#snapshots.worker.queue.add(`${metadata.namespace}/${status.snapshotInProgress}`)
    for (const key of this.#world.machineRestores.keys()) this.#requests.worker.queue.add(key)
    for (const key of this.#world.instances.keys()) this.#instances.worker.queue.add(key)
    this.#wakeLaunchers(() => true)
  }

  #wakeRestoresOf(machine: string): void {
    for (const { metadata, spec } of this.#world.machineRestores.values())
      if (`${metadata.namespace}/${spec.target.name}` === machine) this.#requests.worker.queue.add(keyOf(metadata))
  }

  #wakeUsersOf(claim: string): void {
    for (const { metadata } of this.#world.machines.find(BY_CLAIM, claim)) {
      this.#machines.worker.queue.add(keyOf(metadata))
    }
    for (const { metadata } of this.#world.instances.find(BY_CLAIM, claim)) {
      this.#instances.worker.queue.add(keyOf(metadata))
    }
    for (const pod of this.#world.pods.find(BY_CLAIM, claim)) {
      if (isLauncher(pod)) this.#launchers.worker.queue.add(keyOf(pod.metadata))
    }
  }

  #wakeLaunchers(isMeant: (pod: Pod) => boolean): void {
    for (const pod of this.#world.pods.values()) {
      if (isLauncher(pod) && isMeant(pod)) this.#launchers.worker.queue.add(keyOf(pod.metadata))
    }
  }
}

/** `namespace/name` of the instance that a launcher pod runs. */
function ownerKey({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'VirtualMachineInstance')
  return owner && `${metadata.namespace}/${owner.name}`
}
