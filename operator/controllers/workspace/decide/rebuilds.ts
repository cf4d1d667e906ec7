import { ANNOTATIONS } from '@open-terrain/constructs'
import { isHalted, shortHash, type WorkspaceSpec, type WorkspaceVm } from '@open-terrain/constructs/operator'
import type { ImageView } from '../../../images/image-view.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import type { Rollout } from './component.ts'
import { deployedMachines, isRecreate, machineAge, outdatedReason } from './outdated.ts'

/** What a rollout is decided from. */
export interface RolloutFacts {
  readonly spec: WorkspaceSpec
  readonly children: WorkspaceWorld['children']
  /** By `backingVMDiskImage`. */
  readonly images: ReadonlyMap<string, ImageView | undefined>
}

export const NO_ROLLOUT: Rollout = { asked: new Map() }

/** A value that a rollout has given to a machine. */
const MARK = /^rollout-([0-9a-f]{8})$/u

interface Candidate {
  readonly vm: WorkspaceVm
  readonly machine: MachineFacts | undefined
}

/**
 * Decides which machines get a new disk now, because updateStrategy is Recreate and the spec of their disk has changed. What is being replaced, what was
 * asked and has not begun, and what is not Ready for any other reason counts against maxUnavailable. Each machine is asked once for each generation of its
 * spec, so nothing that failed is tried again by itself. Nothing is asked while the workspace is off, or while an image of the machine is not there.
 */
export function rebuildsDue({ spec, children, images }: RolloutFacts): Rollout {
  if (!isRecreate(spec) || isHalted(spec)) return NO_ROLLOUT
  const machines = deployedMachines(spec, children)
  const members = (spec.vms ?? []).flatMap((vm): Candidate[] =>
    machines.has(vm.name) ? [{ vm, machine: machines.get(vm.name) }] : [],
  )
  const { maxUnavailable = 1 } = spec.updateStrategy ?? {}
  const asked = new Map<string, string>()
  const away = new Set(members.filter(isAway).map(({ vm }) => vm.name))
  const waits: string[] = []
  for (const { vm, machine } of members) {
    const mark = markDue(machine)
    if (mark === undefined) continue
    const image = imageAwaited(vm, images)
    // One that is not Ready already becomes no less so.
    const all = new Set([...away, vm.name])
    if (image === undefined && all.size <= maxUnavailable) {
      asked.set(vm.name, mark)
      away.add(vm.name)
    } else waits.push(image ?? `VirtualMachine ${[...away].find((name) => name !== vm.name)}`)
  }
  const [waitsFor] = waits
  return { asked, ...(waitsFor !== undefined && { waitsFor }) }
}

/** Reports whether a machine is not Ready, has not answered yet, or has been asked for a new disk and has not got it. */
function isAway({ machine }: Candidate): boolean {
  return machine === undefined || !isAtHand(machine) || machine.status.phase !== 'Ready' || isUnderWay(machine)
}

/** Reports whether the status of a machine is about its present spec. */
function isAtHand(machine: MachineFacts): boolean {
  const { metadata, status } = machine
  return !isTerminating(machine) && (status.observedGeneration ?? 0) >= (metadata.generation ?? 0)
}

/** Reports whether a machine gets a new disk, or has been asked by a rollout and has not seen that, or has its old disk all the same. */
function isUnderWay(machine: MachineFacts): boolean {
  // Its guest runs on while the new disk is made.
  if (machine.status.replacement !== undefined) return true
  const value = machine.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  const mark = markIn(value)
  if (value === undefined || mark === undefined) return false
  return machine.status.rebuildRequest !== shortHash([value]) || (mark === markOf(machine) && isSpecChanged(machine))
}

function isSpecChanged(machine: MachineFacts): boolean {
  return outdatedReason(machineAge(machine)) === 'SpecChanged'
}

/** Returns the mark with which a machine is to be asked; undefined if it is not to be asked. */
function markDue(machine: MachineFacts | undefined): string | undefined {
  if (machine === undefined || !isAtHand(machine) || !isSpecChanged(machine) || isUnderWay(machine)) return undefined
  const { phase } = machine.status
  return phase === 'Ready' || phase === 'Failed' ? markOf(machine) : undefined
}

/** The same for one generation of the spec of one machine, also for another process of the operator. */
function markOf({ metadata }: MachineFacts): string {
  return shortHash([metadata.uid, String(metadata.generation)])
}

function markIn(value: string | undefined): string | undefined {
  return MARK.exec(value ?? '')?.[1]
}

/** Returns an image of the machine that no disk can be made from as the spec says; undefined if there is none. */
function imageAwaited(
  { backingVMDiskImage, disks = [] }: WorkspaceVm,
  images: RolloutFacts['images'],
): string | undefined {
  const names = [backingVMDiskImage, ...disks.flatMap((disk) => disk.backingVMDiskImage ?? [])]
  const name = names.find((one) => !isPublished(images.get(one)))
  return name === undefined ? undefined : `VMDiskImage ${name}`
}

/** Reports whether an image has the artifact that its spec asks for. */
function isPublished(image: ImageView | undefined): boolean {
  if (image === undefined || isTerminating(image)) return false
  const { metadata, status } = image
  const { artifact, phase, revision = artifact?.revision, observedGeneration = metadata.generation } = status
  const isObserved = observedGeneration === metadata.generation
  return isObserved && phase !== 'Failed' && artifact !== undefined && artifact.revision === revision
}

/** Returns the value of annotation `ANNOTATIONS.rebuildRequestedAt` with which a rollout asks a machine. */
export function rolloutRequest(mark: string): string {
  return `rollout-${mark}`
}

export function isRolloutRequest(value: string): boolean {
  return markIn(value) !== undefined
}
