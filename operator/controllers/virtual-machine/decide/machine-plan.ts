import {
  compareQuantities,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
  vmDiskImage,
} from '@open-terrain/constructs'
import type { KubeObject } from '../../../kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../kube/resource-types.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { ObjectPlan, Removal } from '../../../runtime/plan-writer.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import { removing, removingAsSeen } from '../../../runtime/removals.ts'
import { withRefusal } from '../../../runtime/standing.ts'
import type { World } from '../world.ts'
import type { Remark, Standing } from './status.ts'

/** Holds a VirtualMachine until its machine, disk and Secret are gone. */
export const FINALIZER = 'pelotech.ot/virtual-machine'

/** Nobody tells of a right that was given, nor that an API server can read a Secret again. */
export const SECRET_LOOK = { afterMs: 60_000, because: 'the Secret may be readable by then' } as const

/** What is to be done about one machine, as printable data. */
export interface MachinePlan extends ObjectPlan<MachineRemoval> {
  readonly status: VirtualMachineStatus
}

export interface MachineRemoval extends Removal {
  /** Images are made, and never removed. */
  readonly kind: 'VirtualMachine' | 'VirtualMachineInstance' | 'DataVolume' | 'Secret' | 'VMDiskImage'
}

export const MACHINE_CHILDREN = {
  // Its instance, and with it the guest, is to be gone before the disk.
  VirtualMachine: { type: KUBEVIRT_VIRTUAL_MACHINE, propagationPolicy: 'Foreground' },
  VirtualMachineInstance: { type: VIRTUAL_MACHINE_INSTANCE, propagationPolicy: 'Background' },
  DataVolume: { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
  Secret: { type: SECRET, propagationPolicy: 'Background' },
  VMDiskImage: { type: vmDiskImage, propagationPolicy: 'Background' },
} as const

/** What all parts of a plan start from. */
export interface Draft {
  readonly world: World
  readonly spec: VirtualMachineSpec
  readonly now: number
}

/** What one part of a plan comes to: where the machine stands, and what is to be done. */
export interface Step {
  readonly standing: Standing
  readonly status?: Partial<VirtualMachineStatus>
  readonly apply?: readonly KubeObject[]
  readonly remove?: readonly MachineRemoval[]
  readonly remarks?: readonly Remark[]
  readonly events?: readonly EventNote[]
  readonly wake?: MachinePlan['wake']
  readonly touch?: MachinePlan['touch']
  readonly onlyIf?: readonly Precondition[]
}

export const removalOf = removing<MachineRemoval>
export const removalAsSeen = removingAsSeen<MachineRemoval>

/** A guest that has started may have written to its disk. */
export function hasBooted({ vm, instance }: Pick<World, 'vm' | 'instance'>): boolean {
  return vm.status.bootedAt !== undefined || instance?.phase === 'Running'
}

/** One size can be written in many ways: 24Gi is 24576Mi. */
export function isSameSize(one: unknown, other: unknown): boolean {
  if (one === other) return true
  return typeof one === 'string' && typeof other === 'string' && compareQuantities(one, other) === 0
}

export function refused(standing: Standing, { refusal }: World): Standing {
  return withRefusal(standing, refusal, { phase: 'Provisioning', reason: 'Refused' })
}

/** Whether it has a disk, or a machine, whatever becomes of its image. */
export function isDeployed({ clone, claim, machine }: Pick<World, 'clone' | 'claim' | 'machine'>): boolean {
  return clone !== undefined || claim !== undefined || machine !== undefined
}

/** Whether there is a root disk, or CDI will make it: that it cannot where somebody else's claim has the name. */
export function hasDisk({
  clone,
  claim,
  foreignClaim,
}: { [part in 'clone' | 'claim' | 'foreignClaim']: unknown }): boolean {
  return claim !== undefined || (clone !== undefined && foreignClaim === undefined)
}

/** Whether its disk is being deleted, which lasts as long as a guest runs from it. */
export function losesDisk({ clone, claim }: Pick<World, 'clone' | 'claim'>): boolean {
  return [clone, claim].some((part) => part?.metadata.deletionTimestamp !== undefined)
}

export function waiting(reason: VirtualMachineReason, message: string): Standing {
  return { phase: 'Provisioning', reason, message }
}

export function failed(reason: VirtualMachineReason, message: string): Standing {
  return { phase: 'Failed', reason, message }
}
