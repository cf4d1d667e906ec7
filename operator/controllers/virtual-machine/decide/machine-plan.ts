import {
  effectiveRunStrategy,
  type RunStrategy,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
  vmDiskImage,
} from '@open-terrain/constructs/operator'
import { isTerminating } from '../../../kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../kube/resource-types.ts'
import type { ChildType, ObjectPlan } from '../../../runtime/plan.ts'
import { withRefusal } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'
import type { MachineSummary, Remark } from './status.ts'

export type MachinePlan = ObjectPlan & { readonly status: VirtualMachineStatus }

export const MACHINE_CHILDREN: readonly ChildType[] = [
  // Its instance, and with it the guest, must be gone before the disk.
  { type: KUBEVIRT_VIRTUAL_MACHINE, propagationPolicy: 'Foreground' },
  { type: VIRTUAL_MACHINE_INSTANCE, propagationPolicy: 'Background' },
  { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
  { type: PERSISTENT_VOLUME_CLAIM, propagationPolicy: 'Background' },
  { type: SECRET, propagationPolicy: 'Background' },
  { type: vmDiskImage, propagationPolicy: 'Background' },
]

/** The input of all parts of a plan. */
export interface MachineDraft {
  readonly world: MachineWorld
  readonly spec: VirtualMachineSpec
  readonly now: number
}

/** What to do and to show, apart from the summary. */
export interface Work
  extends Partial<Pick<MachinePlan, 'apply' | 'applyIf' | 'remove' | 'events' | 'requeue' | 'touch' | 'onlyIf'>> {
  readonly status?: Partial<VirtualMachineStatus>
  readonly remarks?: readonly Remark[]
}

/** The result of one part of a plan. */
export type Step = Work & { readonly summary: MachineSummary }

/** Returns when the guest runs by the spec; `Always` if it does not say, or is invalid. */
export function runStrategyOf({ spec }: Pick<MachineWorld, 'spec'>): RunStrategy {
  return spec.ok ? effectiveRunStrategy(spec.spec) : 'Always'
}

/** What the status records of the first start, if there was none. */
export const NOT_BOOTED = {
  bootedAt: undefined,
  specHash: undefined,
  firstStart: undefined,
  secretHash: undefined,
  diskUID: undefined,
}

/** Reports whether the guest has started. It may have written to its disk since. */
export function hasBooted({ vm, instance }: Pick<MachineWorld, 'vm' | 'instance'>): boolean {
  return vm.status.bootedAt !== undefined || instance?.phase === 'Running'
}

export function refused(summary: MachineSummary, { refusal }: MachineWorld): MachineSummary {
  // The refusal is the consequence.
  const isAbsent = summary.reason === 'CDINotResponding' || summary.reason === 'KubeVirtNotResponding'
  return withRefusal(summary, refusal, { phase: 'Provisioning', reason: isAbsent ? summary.reason : 'Refused' })
}

/** Reports whether it has a disk or a machine, whatever happens to its image. */
export function isDeployed({ clone, claim, machine }: Pick<MachineWorld, 'clone' | 'claim' | 'machine'>): boolean {
  return clone !== undefined || claim !== undefined || machine !== undefined
}

/** Reports whether there is a root disk, or CDI will make it. CDI cannot if a foreign claim has the name. A disk that is elsewhere is KubeVirt's to make. */
export function hasDisk(
  of: Readonly<Record<'clone' | 'claim' | 'foreignClaim', unknown> & { isDiskElsewhere?: boolean }>,
): boolean {
  if (of.isDiskElsewhere === true) return true
  return of.claim !== undefined || (of.clone !== undefined && of.foreignClaim === undefined)
}

/** Reports whether its disk is being deleted. The deletion lasts as long as a guest runs from the disk. */
export function losesDisk({ clone, claim }: Pick<MachineWorld, 'clone' | 'claim'>): boolean {
  return [clone, claim].some(isTerminating)
}

/** @param steady the message without the parts that change by themselves */
export function waiting(reason: VirtualMachineReason, message: string, steady = message): MachineSummary {
  return { phase: 'Provisioning', reason, message, ...(steady !== message && { steady }) }
}

export function ready(reason: VirtualMachineReason, message: string): MachineSummary {
  return { phase: 'Ready', reason, message }
}

export function failed(reason: VirtualMachineReason, message: string): MachineSummary {
  return { phase: 'Failed', reason, message }
}
