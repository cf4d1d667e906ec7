import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { MachineView, MachineWorld } from '../world.ts'

type Asked = Pick<MachineView, 'metadata'>
type AskedAnnotation = typeof ANNOTATIONS.rebuildRequestedAt | typeof ANNOTATIONS.resetRequestedAt

/** What the status has where the annotation was looked for, and there was none. */
const NO_REQUEST = 'none'

/** Fingerprint of the present request for a new disk in the place of one that is lost or outdated; undefined if there is none. */
export function rebuildRequestOf(vm: Asked): string | undefined {
  return fingerprintOf(vm, ANNOTATIONS.rebuildRequestedAt)
}

/** Fingerprint of the present request for a new root disk; undefined if there is none. */
function resetRequestOf(vm: Asked): string | undefined {
  return fingerprintOf(vm, ANNOTATIONS.resetRequestedAt)
}

function fingerprintOf({ metadata }: Asked, annotation: AskedAnnotation): string | undefined {
  const value = metadata.annotations?.[annotation]
  return value === undefined ? undefined : shortHash([value])
}

/** Reports whether somebody asks for a new disk. Each value counts once, and never one that the machine was created with. */
export function isRebuildAsked({ vm }: Pick<MachineWorld, 'vm'>): boolean {
  const request = rebuildRequestOf(vm)
  return request !== undefined && request !== vm.status.rebuildRequest
}

/**
 * Reports whether somebody asks for a new root disk, whatever is on the present one. A value counts only if the status shows that there was another one, or
 * none, before: one from before the machine was first looked at, or from a time when the operator did not know this annotation, destroys nothing.
 */
export function isResetAsked({ vm }: Pick<MachineWorld, 'vm'>): boolean {
  const { phase, resetRequest } = vm.status
  const request = resetRequestOf(vm)
  return phase !== undefined && resetRequest !== undefined && request !== undefined && request !== resetRequest
}

/** The requests that a new root disk answers, for the status. */
export function answeredRequests({ vm }: Pick<MachineWorld, 'vm'>) {
  const { rebuildRequest, resetRequest = NO_REQUEST } = vm.status
  return {
    rebuildRequest: rebuildRequestOf(vm) ?? rebuildRequest,
    resetRequest: resetRequestOf(vm) ?? resetRequest,
  } satisfies Partial<VirtualMachineStatus>
}

/** Returns the reset that the status has seen, where no new disk answers one. */
export function seenReset(world: MachineWorld): string {
  const { resetRequest } = world.vm.status
  return isNotCounted(world) ? (resetRequestOf(world.vm) ?? resetRequest ?? NO_REQUEST) : (resetRequest ?? NO_REQUEST)
}

/** Reports whether a reset does not count that the machine has now: it is new, was never looked at for this, or is left as it is. */
function isNotCounted({ vm, spec }: Pick<MachineWorld, 'vm' | 'spec'>): boolean {
  const { phase, resetRequest } = vm.status
  return phase === undefined || resetRequest === undefined || (spec.ok && spec.spec.ignoreOnDeploy === true)
}

/** Tells who has asked in vain. A machine that was created with the annotation is new as it is. */
export function eventsOnRequests(world: Pick<MachineWorld, 'vm' | 'spec'>): EventNote[] {
  const { phase, resetRequest } = world.vm.status
  const request = resetRequestOf(world.vm)
  if (phase === undefined || request === undefined || request === resetRequest || !isNotCounted(world)) return []
  const why =
    resetRequest === undefined
      ? 'was there before the operator first looked for it'
      : 'is set while spec.ignoreOnDeploy is true'
  const message = `annotation ${ANNOTATIONS.resetRequestedAt} ${why}: it does not count, and the root disk stays; to replace it, set another value`
  return [{ type: 'Warning', reason: 'ResetNotCounted', message }]
}

/** Reports whether the status only records that nobody asks. That is worth no write of its own. */
export function isUnasked({ resetRequest }: VirtualMachineStatus): boolean {
  return resetRequest === NO_REQUEST
}
