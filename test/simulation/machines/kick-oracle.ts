import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { hasRun, type Instance, type Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import type { MachineOracle, MachineWitness } from './machine-oracle.ts'
import { MACHINE, type Machine } from './machine-world.ts'
import { nameOf } from './use-oracle.ts'

interface Budget {
  kicks: number
  lastKickAtMs: number
  /** When something last gave a new budget: the machine was ready, or its spec changed. */
  renewedAtMs: number
}

export interface KickWitness extends MachineWitness {
  readonly kickLimit: number
}

/**
 * Invariant 4, for machines: an instance is ended only while its guest runs and is not ready, only after the status has told of
 * it, and at most `kickLimit` times until the machine was ready or its spec changed.
 */
export class KickOracle implements MachineOracle {
  readonly #witness: KickWitness
  readonly #budgets = new Map<string, Budget>()

  constructor(witness: KickWitness) {
    this.#witness = witness
  }

  onCommit(commit: Commit): void {
    const { resource, object, actor } = commit
    if (resource === MACHINE) this.#followMachine(commit)
    if (resource === KUBEVIRT_VIRTUAL_MACHINE && isReady(object as KubeVirtMachine)) this.#renew(object)
    if (resource === VIRTUAL_MACHINE_INSTANCE && isOperator(actor) && isEnd(commit))
      this.#checkKick(object as Instance, (commit.before ?? object) as Instance)
  }

  #followMachine({ type, object, before, actor }: Commit): void {
    const { uid = '', generation } = object.metadata
    if (type === 'DELETED') {
      this.#budgets.delete(uid)
      return
    }
    const { chronicle, report } = this.#witness
    const budget = this.#budgetOf(uid)
    if (before !== undefined && before.metadata.generation !== generation) budget.renewedAtMs = chronicle.nowMs
    if (!isOperator(actor)) return
    const [had, has] = [before, object].map((one) => (one as Machine | undefined)?.status?.kicks?.count ?? 0)
    if ((has ?? 0) >= (had ?? 0)) return
    if (budget.renewedAtMs < budget.lastKickAtMs) report(4, `${nameOf(object)} forgets that it was kicked ${had} times`)
    budget.kicks = 0
  }

  #checkKick(instance: Instance, before: Instance): void {
    const { chronicle, kickLimit } = this.#witness
    const machine = chronicle.machineOfInstance(instance)
    if (machine === undefined || isDeletion(machine.object)) return
    const budget = this.#budgetOf(machine.object.metadata.uid ?? '')
    budget.kicks += 1
    budget.lastKickAtMs = chronicle.nowMs
    const who = nameOf(machine.object)
    if (budget.kicks > kickLimit)
      this.#report(`${who} is kicked for the ${budget.kicks}. time, the limit is ${kickLimit}`)
    if (!hasRun(before)) this.#report(`${who} is kicked, and its instance has never run`)
    if (before.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True'))
      this.#report(`${who} is kicked, and it is ready`)
    if (machine.object.status?.kicks?.instanceUID !== instance.metadata.uid)
      this.#report(`${who} is kicked, and its status does not tell of it`)
  }

  #renew(machine: KubeVirtMachine | Commit['object']): void {
    const { chronicle } = this.#witness
    const uid = chronicle.machineOf(machine)?.object.metadata.uid
    if (uid !== undefined) this.#budgetOf(uid).renewedAtMs = chronicle.nowMs
  }

  #budgetOf(uid: string): Budget {
    const known = this.#budgets.get(uid)
    if (known !== undefined) return known
    const budget = { kicks: 0, lastKickAtMs: Number.NEGATIVE_INFINITY, renewedAtMs: Number.NEGATIVE_INFINITY }
    this.#budgets.set(uid, budget)
    return budget
  }

  #report(message: string): void {
    this.#witness.report(4, message)
  }
}

function isReady({ status }: KubeVirtMachine): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') ?? false
}
