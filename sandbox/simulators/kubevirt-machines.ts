import { isApiError } from '../../operator/kube/api-error.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { templateChange } from './kubevirt-changes.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import { type Instance, isFinal, type Machine, type MachineFailure, type StartFailure } from './kubevirt-models.ts'
import { completionOf, MACHINE_FINALIZER, newInstance } from './kubevirt-objects.ts'
import { hasStartRequest, hasStopRequest, machineStatusIn, restarts, startFailureAfter } from './kubevirt-status.ts'
import { disksOf } from './kubevirt-volumes.ts'
import { isTerminating, uidOf } from './models.ts'
import { Retries, watchedPartOf } from './retries.ts'

const NO_MEMORY =
  "no memory requested, at least one of 'spec.domain.memory.guest', 'spec.domain.memory.hugepages.size' or 'spec.domain.resources.requests.memory' must be set"

/** KubeVirt's virtual machine controller: creates an instance for each machine, and another one when that has ended. */
export class Machines extends KubevirtController {
  readonly #retries = new Retries(this.world, this.options)
  /** Why the last creation of an instance was rejected, by key of the machine. */
  readonly #refusals = new Map<string, string>()

  constructor(parts: KubevirtParts) {
    super('kubevirt machines', parts)
  }

  protected async reconcile(key: string): Promise<void> {
    const stored = this.world.machines.get(key)
    if (stored === undefined) return this.#forget(key)
    if (this.outages.isAway) return
    const found = this.world.instances.get(key)
    const instance = found !== undefined && isOwnedBy(found, stored) ? found : undefined
    const machine = isTerminating(stored) ? stored : await this.#complete(stored)
    const { startFailure: before } = machine.status ?? {}
    const { random, clock } = this.world
    const startFailure = startFailureAfter(before, instance, this.options, clock.now(), random)
    // How an instance ended is recorded before the instance can be removed.
    const noted = await this.#show(key, machine, instance, startFailure)
    if (instance !== undefined) await this.#attend(noted, instance)
    else if (isTerminating(noted)) await this.#release(noted)
    else if (found === undefined) await this.#start(key, noted, startFailure)
  }

  #forget(key: string): void {
    this.#retries.forget(key)
    this.#refusals.delete(key)
  }

  async #complete(machine: Machine): Promise<Machine> {
    const patch = completionOf(machine, this.world.random)
    if (patch === undefined) return machine
    return await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, patch)
  }

  async #attend(machine: Machine, instance: Instance): Promise<void> {
    if (isTerminating(instance)) {
      if (isFinal(instance)) await this.#releaseInstance(instance)
      return
    }
    const isToStop = machine.spec.runStrategy === 'Halted' || hasStopRequest(machine, instance)
    if (isTerminating(machine) || isToStop || (isFinal(instance) && restarts(machine))) {
      return await this.world.remove(VIRTUAL_MACHINE_INSTANCE, instance)
    }
    const { patch } = isFinal(instance) ? { patch: undefined } : templateChange(machine, instance)
    if (patch !== undefined) {
      await this.world.patch(VIRTUAL_MACHINE_INSTANCE, this.world.instances, instance, patch)
    }
  }

  async #releaseInstance(instance: Instance): Promise<void> {
    await this.world.releaseFinalizer(VIRTUAL_MACHINE_INSTANCE, this.world.instances, instance, MACHINE_FINALIZER)
  }

  /** The last step of a deletion: nothing but the machine itself is left. */
  async #release(machine: Machine): Promise<void> {
    await this.world.releaseFinalizer(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, MACHINE_FINALIZER)
  }

  async #start(key: string, machine: Machine, startFailure: StartFailure | undefined): Promise<void> {
    // KubeVirt starts no machine that is being restored.
    if (machine.status?.restoreInProgress !== undefined) return
    const isRequested = hasStartRequest(machine)
    if (isRequested && machine.spec.runStrategy === 'Halted') return await this.#switchOn(machine)
    if (!restarts(machine) && !(isRequested && machine.spec.runStrategy === 'Manual')) return
    const waitMs = Date.parse(startFailure?.retryAfterTimestamp ?? '') - this.world.clock.now()
    if (waitMs > 0) return this.worker.queue.addAfter(key, waitMs)
    if (!this.#retries.isDue(this.worker, key, watchedPartOf(machine))) return
    const refusal = await this.#create(machine)
    if (refusal === undefined) {
      this.#forget(key)
      return
    }
    this.#retries.refused(this.worker, key, watchedPartOf(machine))
    const message = `Error creating virtual machine instance: ${refusal}`
    this.world.event(machine, machine.kind, 'FailedCreate', message)
    if (this.#refusals.get(key) === refusal) return
    this.#refusals.set(key, refusal)
    await this.#show(key, machine, undefined, startFailure)
  }

  /** A halted machine that is asked to start gets run strategy `Always`. */
  async #switchOn(machine: Machine): Promise<void> {
    const { machines } = this.world
    await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, machines, machine, { spec: { runStrategy: 'Always' } })
  }

  /** Returns why the instance was rejected, or undefined if it was created. */
  async #create(machine: Machine): Promise<string | undefined> {
    const { memory, resources } = machine.spec.template.spec.domain
    const hasMemory = memory?.guest !== undefined || resources?.requests?.['memory'] !== undefined
    const scripted = this.faults.state('instanceRefused', machine)?.message
    // What an instance type gives is not simulated: each exists, and gives some memory.
    const refusal = scripted ?? (hasMemory || machine.spec.instancetype !== undefined ? undefined : NO_MEMORY)
    if (refusal !== undefined) return refusal
    try {
      await this.world.create(VIRTUAL_MACHINE_INSTANCE, this.world.instances, newInstance(machine))
      return undefined
    } catch (error) {
      if (!isApiError(error, 'Rejected')) throw error
      return error.message
    }
  }

  #refusal(key: string): MachineFailure | undefined {
    const refusal = this.#refusals.get(key)
    return refusal === undefined
      ? undefined
      : { reason: 'FailedCreate', message: `Failure while starting VMI: ${refusal}` }
  }

  async #show(
    key: string,
    machine: Machine,
    instance: Instance | undefined,
    startFailure: StartFailure | undefined,
  ): Promise<Machine> {
    const disks = disksOf(this.world, machine.metadata.namespace ?? '', machine.spec.template.spec)
    const isAlive = instance !== undefined && !isFinal(instance)
    const change = isAlive ? templateChange(machine, instance) : undefined
    const failure = instance === undefined ? this.#refusal(key) : change?.failure
    const restartRequired = change?.restartRequired
    const situation = { machine, instance, disks, startFailure, failure, restartRequired }
    const status = machineStatusIn(situation, this.world.timestamp())
    if (status === machine.status) return machine
    return await this.world.writeStatus(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, status)
  }
}

function isOwnedBy(instance: Instance, machine: Machine): boolean {
  return instance.metadata.ownerReferences?.some(({ uid }) => uid === uidOf(machine)) ?? false
}
