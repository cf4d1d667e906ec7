import { keyOf } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_RESTORE } from '../../operator/kube/resource-types.ts'
import { Delays } from './delays.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import type { Machine, MachineRestore, MachineRestoreStatus } from './kubevirt-models.ts'
import { isRestoredBy, isToBeRestored, restoredClaimOf, restoreRequest } from './kubevirt-restores.ts'
import { contentOf } from './kubevirt-snapshots.ts'
import { type Condition, isTerminating, uidOf } from './models.ts'

/** From one step to the next, so that others can interfere. */
const STEP_MS = 200
/** How long KubeVirt waits for a guest to end, unless the request says something else. */
const GRACE_MS = 5 * 60_000

const FINALIZER = 'snapshot.kubevirt.io/vmrestore-protection'
const STOPPING = 'Automatically stopping restore target for restore operation'
const DELETING = 'VM restore is deleting'
const MUST_BE_OFF = 'Restore target VMI must be powered off before restore operation'
const WAITING = 'Waiting for target VM to be powered off. Please stop the restore target to proceed with restore'
const NOT_IN_TIME = `Restore target failed to be ready within 5m0s. Please power off the target VM before attempting restore`
const ANOTHER = 'restore source and restore target are different but restore target already exists'

/**
 * KubeVirt's controller of VirtualMachineRestores, as far as their objects go: it judges them, has the machine restored, and reports the end. A machine whose
 * guest is there is not restored. Conditions have their text in the reason. One that is deleted ends where it is, and goes when the machine does not name it any more.
 *
 * Not simulated: its webhook, and restores in place and to another machine.
 */
export class MachineRestores extends KubevirtController {
  readonly #delays = new Delays(this.world)
  /** Why restores of a machine meet an error, by name of the machine. */
  readonly #failures = new Map<string, string>()

  constructor(parts: KubevirtParts) {
    super('kubevirt restore requests', parts)
  }

  /** Restores of this machine meet an error from now on, and go on after it. Returns a function that ends it. */
  fail(machine: string, reason: string): () => void {
    this.#failures.set(machine, reason)
    return () => {
      this.#failures.delete(machine)
      for (const [key, { spec }] of this.world.machineRestores.entries())
        if (spec.target.name === machine) this.worker.queue.add(key)
    }
  }

  protected async reconcile(key: string): Promise<void> {
    if (this.outages.isAway) return
    const restore = this.world.machineRestores.get(key)
    if (restore === undefined) return this.#delays.forget(key)
    if (isTerminating(restore)) return await this.#release(key, restore)
    const { status } = restore
    if (status?.complete === true || status?.conditions?.some(({ type }) => type === 'Failure') === true) return
    const next = await this.#next(key, restore)
    if (next === undefined || isAlready(status, next)) return
    const step = `${uidOf(restore)} ${next.conditions?.[0]?.reason}`
    if (!this.#delays.passed(this.worker, key, step, STEP_MS)) return
    await this.world.writeStatus(VIRTUAL_MACHINE_RESTORE, this.world.machineRestores, restore, { ...status, ...next })
  }

  async #release(key: string, restore: MachineRestore): Promise<void> {
    const { metadata, spec, status } = restore
    if (!metadata.finalizers?.includes(FINALIZER)) return this.#delays.forget(key)
    const machine = this.world.machines.get(`${metadata.namespace}/${spec.target.name}`)
    if (machine?.status?.restoreInProgress === metadata.name) return
    if (!this.#delays.passed(this.worker, key, `${uidOf(restore)} release`, STEP_MS)) return
    const gone = { conditions: [says('Progressing', false, DELETING), says('Ready', false, DELETING)] }
    const { machineRestores } = this.world
    const told = isAlready(status, { ...gone, complete: status?.complete ?? false })
      ? restore
      : await this.world.writeStatus(VIRTUAL_MACHINE_RESTORE, machineRestores, restore, { ...status, ...gone })
    await this.world.releaseFinalizer(VIRTUAL_MACHINE_RESTORE, machineRestores, told, FINALIZER)
  }

  async #protect(restore: MachineRestore): Promise<void> {
    const { finalizers = [], resourceVersion } = restore.metadata
    const patch = { metadata: { resourceVersion, finalizers: [...finalizers, FINALIZER] } }
    await this.world.patch(VIRTUAL_MACHINE_RESTORE, this.world.machineRestores, restore, patch)
  }

  async #next(key: string, restore: MachineRestore): Promise<MachineRestoreStatus | undefined> {
    const { metadata, spec, status } = restore
    if (status === undefined)
      return { complete: false, conditions: [says('Progressing', true, 'Initializing VirtualMachineRestore')] }
    if (metadata.finalizers?.includes(FINALIZER) !== true) {
      await this.#protect(restore)
      return undefined
    }
    const machine = this.world.machines.get(`${metadata.namespace}/${spec.target.name}`)
    if (machine === undefined) return errorOf('the simulator makes no machine that does not exist')
    const obstacle = (await this.#guestOf(key, restore, machine)) ?? this.#obstacle(restore, machine)
    if (obstacle !== undefined) return obstacle
    const snapshot = spec.virtualMachineSnapshotName
    const request = { name: metadata.name, uid: uidOf(restore), isInPlace: false, snapshot }
    if (isRestoredBy(machine, request)) {
      if (isToBeRestored(machine)) return undefined
      const restores = [restoredClaimOf(request, 'rootdisk')]
      return {
        complete: true,
        restores,
        conditions: [says('Progressing', false, 'Operation complete'), says('Ready', true, 'Operation complete')],
      }
    }
    if (!isToBeRestored(machine))
      await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, restoreRequest(request))
    return {
      conditions: [says('Progressing', true, 'Creating new PVCs'), says('Ready', false, 'Waiting for new PVCs')],
    }
  }

  async #guestOf(key: string, { metadata, spec }: MachineRestore, machine: Machine) {
    if (this.world.instances.get(keyOf(machine.metadata)) === undefined) return undefined
    const { targetReadinessPolicy = 'WaitGracePeriod' } = spec
    if (targetReadinessPolicy === 'FailImmediate') return errorOf(MUST_BE_OFF, 'Failure')
    if (targetReadinessPolicy === 'StopTarget') {
      if (machine.spec.runStrategy !== 'Halted')
        await this.world.patch(KUBEVIRT_VIRTUAL_MACHINE, this.world.machines, machine, {
          spec: { runStrategy: 'Halted' },
        })
      return errorOf(STOPPING)
    }
    if (targetReadinessPolicy === 'WaitEventually') return errorOf(WAITING)
    const leftMs = Date.parse(metadata.creationTimestamp ?? '') + GRACE_MS - this.world.clock.now()
    if (leftMs <= 0) return errorOf(NOT_IN_TIME, 'Failure')
    this.worker.queue.addAfter(key, leftMs)
    return errorOf(WAITING)
  }

  #obstacle({ metadata, spec }: MachineRestore, machine: Machine): MachineRestoreStatus | undefined {
    const failure = this.#failures.get(spec.target.name)
    if (failure !== undefined) return errorOf(failure)
    const name = `${metadata.namespace}/${spec.virtualMachineSnapshotName}`
    const snapshot = this.world.machineSnapshots.get(name)
    if (snapshot === undefined) return errorOf(`VMSnapshot ${name} does not exist`)
    if (snapshot.status?.phase === 'Failed') return errorOf(`VMSnapshot ${name} failed and is invalid to use`)
    if (snapshot.status?.readyToUse !== true) return errorOf(`VMSnapshot ${name} not ready`)
    const { sourceUID } = snapshot.status
    if (sourceUID !== undefined && sourceUID !== uidOf(machine)) return errorOf(ANOTHER)
    if (contentOf(snapshot) === undefined) return errorOf(`VMSnapshotContent ${name}-content does not exist`)
    const { restoreInProgress } = machine.status ?? {}
    return restoreInProgress === undefined || restoreInProgress === metadata.name
      ? undefined
      : errorOf(`vm restore ${restoreInProgress} in progress`)
  }
}

function errorOf(text: string, more?: 'Failure'): MachineRestoreStatus {
  const all = [says('Progressing', false, text), says('Ready', false, text)]
  return { conditions: more === undefined ? all : [...all, says(more, true, text)] }
}

/** KubeVirt has the text in the reason. */
function says(type: string, holds: boolean, reason: string): Condition {
  return { type, status: holds ? 'True' : 'False', reason }
}

function isAlready(before: MachineRestoreStatus | undefined, next: MachineRestoreStatus): boolean {
  const texts = ({ complete = false, conditions = [] }: MachineRestoreStatus) =>
    JSON.stringify([complete, conditions.map(({ type, status, reason }) => [type, status, reason])])
  return before !== undefined && texts(before) === texts({ complete: false, ...next })
}
