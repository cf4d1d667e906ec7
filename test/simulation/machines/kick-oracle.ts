import { ANNOTATIONS } from '@open-terrain/constructs'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  LEASE,
  POD,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { hasRun, type Instance, type Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'
import type { DataVolume, Machine } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { CLOCK_OFFSET_MS } from '../replica.ts'
import type { Trace } from '../traces.ts'
import type { KickLimits } from './kick-limits.ts'
import { isGivenUp, isOfMachines, type MachineWitness, nameOf } from './machine-traces.ts'

interface Budget {
  kicks: number
  lastKickAtMs: number
  /** When the budget was last renewed: the machine was ready, or its spec changed. */
  renewedAtMs: number
}

export interface KickWitness extends MachineWitness {
  readonly policy: Pick<KickLimits, 'kickLimit' | 'highestKickLimit' | 'shortestProvisionTimeoutMs'>
}

/**
 * Invariant 4, for machines: an instance is deleted only while its guest runs, is neither ready nor paused, and shows no sign of life, and a disk
 * only while its clone makes no progress. Neither happens while whoever reports that has stopped, or while the pod of a guest is ready. Both happen only after the status has recorded it, and at most `kickLimit` times until the machine was
 * ready or its spec changed. A disk that is deleted for another reason has lost its source, or its machine has another spec.
 */
export class KickOracle extends WitnessOracle<KickWitness> {
  readonly #budgets = new Map<string, Budget>()
  /** When each guest last showed a sign of life, by uid of its instance. */
  readonly #aliveAtMs = new Map<string, number>()
  /** Since when the pod of each guest is ready, by uid of its instance. */
  readonly #podReadySinceMs = new Map<string, number>()
  /** When a controller last renewed its Lease, by the name of the Lease. */
  readonly #renewedAtMs = new Map<string, number>()
  /** When each disk last made progress, by uid. */
  readonly #movedAtMs = new Map<string, number>()

  onCommit(commit: Commit): void {
    const { resource, object, actor } = commit
    if (resource === LEASE) this.#renewedAtMs.set(object.metadata.name, this.witness.traces.nowMs)
    if (resource === POD) this.#followPod(commit)
    if (isOfMachines(resource)) this.#followMachine(commit)
    if (resource === KUBEVIRT_VIRTUAL_MACHINE && isAtRest(object as KubeVirtMachine)) this.#renew(object)
    if (resource === VIRTUAL_MACHINE_INSTANCE) this.#followInstance(commit)
    if (resource === VIRTUAL_MACHINE_INSTANCE && isOperator(actor) && isEnd(commit))
      this.#checkKick(object as Instance, (commit.before ?? object) as Instance)
    if (resource === DATA_VOLUME) this.#followDisk(commit)
  }

  #followDisk(commit: Commit): void {
    const { object, before, actor } = commit
    const { uid = '' } = object.metadata
    const [was, is] = [before, object].map((one) => howFar(one as DataVolume | undefined))
    if (was !== is) this.#movedAtMs.set(uid, this.witness.traces.nowMs)
    const machine = isOperator(actor) && isEnd(commit) ? this.witness.traces.machineOf(object) : undefined
    if (machine === undefined || isDeletion(machine.object)) return
    if (machine.object.status?.kicks?.dataVolumeUID === uid) this.#checkDisk(machine, (before ?? object) as DataVolume)
    else if (!isToGo(machine.object, uid))
      this.#report(`${nameOf(object)} is deleted, and the status of its machine does not tell why`)
  }

  #followInstance({ object, before }: Commit): void {
    const [was, is] = [before, object].map((one) =>
      SIGNS_OF_LIFE.some((type) => shows(one as Instance | undefined, type)),
    )
    if (was || is) this.#aliveAtMs.set(object.metadata.uid ?? '', this.witness.traces.nowMs)
  }

  #followPod({ object, type }: Commit): void {
    const uid = object.metadata.labels?.['kubevirt.io/created-by']
    if (uid === undefined) return
    if (type === 'DELETED' || isDeletion(object) || !isReady(object as Pod)) this.#podReadySinceMs.delete(uid)
    else if (!this.#podReadySinceMs.has(uid)) this.#podReadySinceMs.set(uid, this.witness.traces.nowMs)
  }

  /** Whoever reports what the operator judges by must have been there. A request that was sent before may be carried out later. */
  #checkReporter(who: string, lease: string): void {
    const { disturbances, traces } = this.witness
    const silentMs = traces.nowMs - (this.#renewedAtMs.get(lease) ?? Number.NEGATIVE_INFINITY)
    if (silentMs > SILENT_MS && disturbances.calmForMs('api', 'freeze') > SILENT_MS)
      this.#report(`${who} is kicked, and ${lease} has not renewed its Lease for ${silentMs} ms`)
  }

  #checkDisk(machine: Trace<Machine>, { metadata, status }: DataVolume): void {
    const { traces, policy } = this.witness
    const who = nameOf(machine.object)
    this.#count(machine)
    this.#checkReporter(who, 'cdi-controller-leader-election-helper')
    if (status?.phase === 'Succeeded') this.#report(`${who} is kicked, and its disk is complete`)
    const stillMs = traces.nowMs - (this.#movedAtMs.get(metadata.uid ?? '') ?? 0)
    if (stillMs < policy.shortestProvisionTimeoutMs - 2 * CLOCK_OFFSET_MS)
      this.#report(`${who} is kicked, and its disk got further ${stillMs} ms before that`)
  }

  #followMachine({ type, object, before, actor }: Commit): void {
    const { uid = '', generation } = object.metadata
    if (type === 'DELETED') {
      this.#budgets.delete(uid)
      return
    }
    const { traces, report } = this.witness
    const budget = this.#budgetOf(uid)
    if (before !== undefined && before.metadata.generation !== generation) budget.renewedAtMs = traces.nowMs
    if (!isOperator(actor)) return
    const [had, has] = [before, object].map((one) => (one as Machine | undefined)?.status?.kicks?.count ?? 0)
    this.#checkDecision(object, had ?? 0, has ?? 0)
    if ((has ?? 0) >= (had ?? 0)) return
    if (budget.renewedAtMs < budget.lastKickAtMs) report(4, `${nameOf(object)} forgets that it was kicked ${had} times`)
    budget.kicks = 0
  }

  /** A kick is in the status before it is carried out. People may lower the limit in between. */
  #checkDecision(machine: KubeObject, had: number, has: number): void {
    const { kickLimit } = this.witness.policy
    if (has > had && has > kickLimit)
      this.#report(`${nameOf(machine)} is to be kicked for the ${has}. time, the limit is ${kickLimit}`)
  }

  #checkKick(instance: Instance, before: Instance): void {
    const machine = this.witness.traces.machineOfInstance(instance)
    if (machine === undefined || isDeletion(machine.object)) return
    this.#count(machine)
    const who = nameOf(machine.object)
    this.#checkReporter(who, 'virt-controller')
    const readyMs =
      this.witness.traces.nowMs - (this.#podReadySinceMs.get(instance.metadata.uid ?? '') ?? Number.POSITIVE_INFINITY)
    if (readyMs > SILENT_MS) this.#report(`${who} is kicked, and the pod of its guest has been ready for ${readyMs} ms`)
    if (!hasRun(before)) this.#report(`${who} is kicked, and its instance has never run`)
    for (const sign of SIGNS_OF_LIFE.filter((type) => shows(before, type)))
      this.#report(`${who} is kicked, and its guest is well: ${sign}`)
    const { disturbances, policy, traces } = this.witness
    const stillMs = traces.nowMs - (this.#aliveAtMs.get(instance.metadata.uid ?? '') ?? Number.NEGATIVE_INFINITY)
    const isWatched =
      disturbances.calmForMs('watch', 'freeze', 'api', 'crash') > policy.shortestProvisionTimeoutMs + MINUTE
    if (isWatched && stillMs < policy.shortestProvisionTimeoutMs - 2 * CLOCK_OFFSET_MS)
      this.#report(`${who} is kicked, and its guest was well ${stillMs} ms before that`)
    if (machine.object.status?.kicks?.instanceUID !== instance.metadata.uid)
      this.#report(`${who} is kicked, and its status does not tell of it`)
  }

  #count({ object }: Trace<Machine>): void {
    const { traces, policy } = this.witness
    const budget = this.#budgetOf(object.metadata.uid ?? '')
    budget.kicks += 1
    budget.lastKickAtMs = traces.nowMs
    const { highestKickLimit: most } = policy
    if (budget.kicks > most)
      this.#report(`${nameOf(object)} is kicked for the ${budget.kicks}. time, the limit was never over ${most}`)
  }

  #renew(machine: KubeVirtMachine | Commit['object']): void {
    const { traces } = this.witness
    const uid = traces.machineOf(machine)?.object.metadata.uid
    if (uid !== undefined) this.#budgetOf(uid).renewedAtMs = traces.nowMs
  }

  #budgetOf(uid: string): Budget {
    const known = this.#budgets.get(uid)
    if (known !== undefined) return known
    const budget = { kicks: 0, lastKickAtMs: Number.NEGATIVE_INFINITY, renewedAtMs: Number.NEGATIVE_INFINITY }
    this.#budgets.set(uid, budget)
    return budget
  }

  #report(message: string): void {
    this.witness.report(4, message)
  }
}

/** Reports whether a disk is recreated for another reason than that it hangs. */
function isToGo(machine: Machine, uid: string): boolean {
  const { metadata, status } = machine
  const isAsMade = status?.clone?.generation === metadata.generation
  const isReplaced = [status?.oldDisk?.dataVolumeUID, status?.replacement?.disk.uid].includes(uid)
  const isReset = status?.bootedAt === undefined && metadata.annotations?.[ANNOTATIONS.resetRequestedAt] !== undefined
  return (
    isReplaced ||
    isReset ||
    isGivenUp(machine) ||
    !isAsMade ||
    status?.message?.includes('what the root disk was being cloned from is gone') === true
  )
}

/** Longer than a request and its live look take, and than a Lease that is renewed every 2 s rests. */
const SILENT_MS = 45_000

/** Conditions of a guest that needs no kick. */
const SIGNS_OF_LIFE = ['Ready', 'AgentConnected', 'Paused']

function shows(instance: Instance | undefined, wanted: string): boolean {
  return instance?.status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') === true
}

function howFar(disk: DataVolume | undefined): string {
  return `${disk?.status?.phase} ${disk?.status?.progress}`
}

/** A machine that is off, as its spec requires or allows, is as ready as one that runs. */
function isAtRest(machine: KubeVirtMachine): boolean {
  const { runStrategy } = machine.spec as { readonly runStrategy?: string }
  return isReady(machine) || (runStrategy !== 'Always' && machine.status?.printableStatus === 'Stopped')
}

function isReady({ status }: Pick<KubeVirtMachine | Pod, 'status'>): boolean {
  return (status?.conditions ?? []).some(({ type, status: holds }) => type === 'Ready' && holds === 'True')
}
