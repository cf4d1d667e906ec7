import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { hasHash, wasSeen, withNewest } from '../../../base/hash-list.ts'
import type { MachineView, MachineWorld } from '../world.ts'

type Asked = Pick<MachineView, 'metadata'>
type AskedAnnotation = typeof ANNOTATIONS.rebuildRequestedAt | typeof ANNOTATIONS.resetRequestedAt

/** What the status has where the annotation was looked for, and there was none. */
const NO_REQUEST = 'none'

/** Earlier values that the status remembers, of each annotation. */
const REMEMBERED_MAX = 7

type SeenRebuild = Pick<VirtualMachineStatus, 'rebuildRequest' | 'earlierRebuilds'>
type SeenReset = Pick<VirtualMachineStatus, 'resetRequest' | 'earlierResets'>

/** Fingerprint of the present request for a new disk in the place of one that is lost or outdated; undefined if there is none. */
export function rebuildRequestOf(vm: Asked): string | undefined {
  return fingerprintOf(vm, ANNOTATIONS.rebuildRequestedAt)
}

/** Fingerprint of the present request for a new root disk; undefined if there is none. */
export function resetRequestOf(vm: Asked): string | undefined {
  return fingerprintOf(vm, ANNOTATIONS.resetRequestedAt)
}

function fingerprintOf({ metadata }: Asked, annotation: AskedAnnotation): string | undefined {
  const value = metadata.annotations?.[annotation]
  return value === undefined ? undefined : shortHash([value])
}

/** Reports whether somebody asks for a new disk. Each value counts once, also if it comes back, and never one that the machine was created with. */
export function isRebuildAsked({ vm }: Pick<MachineWorld, 'vm'>): boolean {
  const request = rebuildRequestOf(vm)
  const { rebuildRequest, earlierRebuilds } = vm.status
  return request !== undefined && !wasSeen(rebuildRequest, earlierRebuilds, request)
}

/** Returns the rebuilds that the status remembers once it has seen the present one. */
export function seenRebuild({ vm }: Pick<MachineWorld, 'vm'>): SeenRebuild {
  const { rebuildRequest, earlierRebuilds } = vm.status
  const { newest, earlier } = remembered(rebuildRequest, earlierRebuilds, rebuildRequestOf(vm))
  return { rebuildRequest: newest, earlierRebuilds: earlier }
}

/** The newest one is apart: an operator of an earlier release, to which people go back, compares with nothing else. */
function remembered(before: string | undefined, earlier: string | undefined, request: string | undefined) {
  if (request === undefined || request === before) return { newest: before, earlier }
  const isFirst = before === undefined || before === NO_REQUEST
  return { newest: request, earlier: isFirst ? earlier : withNewest(earlier, before, REMEMBERED_MAX) }
}

function resetsWith(request: string | undefined, { resetRequest, earlierResets }: VirtualMachineStatus): SeenReset {
  const { newest, earlier } = remembered(resetRequest, earlierResets, request)
  return { resetRequest: newest ?? NO_REQUEST, earlierResets: earlier }
}

/**
 * Reports whether somebody asks for a new root disk, whatever is on the present one. A value counts only if the status shows that there was another one, or
 * none, before: one from before the machine was first looked at, or from a time when the operator did not know this annotation, destroys nothing.
 */
export function isResetAsked({ vm }: Pick<MachineWorld, 'vm'>): boolean {
  const { phase, resetRequest } = vm.status
  const request = resetRequestOf(vm)
  if (phase === undefined || resetRequest === undefined || request === undefined) return false
  return !wasSeen(resetRequest, vm.status.earlierResets, request)
}

/** The requests that a new root disk answers, for the status. */
export function answeredRequests({ vm }: Pick<MachineWorld, 'vm'>) {
  return {
    ...seenRebuild({ vm }),
    ...resetsWith(resetRequestOf(vm), vm.status),
  } satisfies Partial<VirtualMachineStatus>
}

/** Returns the reset that the status has seen, where no new disk answers one. */
export function seenReset(world: Pick<MachineWorld, 'vm' | 'spec'>): SeenReset {
  return resetsWith(isResetNotCounted(world) ? resetRequestOf(world.vm) : undefined, world.vm.status)
}

/** Reports whether a reset does not count that the machine has now: it is new, was never looked at for this, is left as it is, or has had this one. */
export function isResetNotCounted({ vm, spec }: Pick<MachineWorld, 'vm' | 'spec'>): boolean {
  const { phase, resetRequest, earlierResets } = vm.status
  if (phase === undefined || resetRequest === undefined) return true
  return (spec.ok && spec.spec.ignoreOnDeploy === true) || hasHash(earlierResets, resetRequestOf(vm) ?? '')
}

/** Reports whether the status only records that nobody asks. That is worth no write of its own. */
export function isUnasked({ resetRequest }: VirtualMachineStatus): boolean {
  return resetRequest === NO_REQUEST
}
