import { ANNOTATIONS, type WorkspaceSpec, type WorkspaceVm } from '@open-terrain/constructs'
import { isHalted, shortHash } from '@open-terrain/constructs/operator'
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

/** At the end of a value that a rollout has given to a machine, after the value of the workspace if there is one. */
const MARK = /^(?:(.*) )?rollout-([0-9a-f]{8})$/su

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

/** Returns the value of a machine without the mark of a rollout. @param own value of its workspace, which may end like one */
export function requestWithoutMark(value: string | undefined, own: string): string | undefined {
  const found = value === own ? null : MARK.exec(value ?? '')
  return found === null ? value : found[1]
}

/** The same for one generation of the spec of one machine, also for another process of the operator. */
function markOf({ metadata }: MachineFacts): string {
  return shortHash([metadata.uid, String(metadata.generation)])
}

function markIn(value: string | undefined): string | undefined {
  return MARK.exec(value ?? '')?.[2]
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
  const isLookedAt = observedGeneration === metadata.generation
  return isLookedAt && phase !== 'Failed' && artifact !== undefined && artifact.revision === revision
}

/**
 * Returns the values of annotation `ANNOTATIONS.rebuildRequestedAt` for machines that a rollout has asked, now or before. A machine takes each other value
 * for a new request. So a value changes only when the rollout asks again, or when somebody gives the workspace another value: not when the strategy
 * changes, and not when the value of the workspace is taken away.
 * @param own value of the annotation of the workspace
 * @param isPassed whether all machines have got it: what a machine has instead is from somebody who has asked for that one alone
 */
export function rebuildRequestsOf(
  { spec, children }: Pick<RolloutFacts, 'spec' | 'children'>,
  own: string | undefined,
  { asked }: Rollout,
  isPassed: boolean,
): ReadonlyMap<string, string> {
  const requests = new Map<string, string>()
  for (const [name, machine] of deployedMachines(spec, children)) {
    const value = machine?.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
    const request = requestOf({ value, own, isPassed }, asked.get(name))
    if (request !== undefined && request !== own) requests.set(name, request)
  }
  return requests
}

interface Given {
  /** What the machine has. */
  readonly value: string | undefined
  readonly own: string | undefined
  readonly isPassed: boolean
}

/** @param asked mark of the rollout that asks now */
function requestOf({ value, own, isPassed }: Given, asked: string | undefined): string | undefined {
  const [, given, known] = value === own ? [] : (MARK.exec(value ?? '') ?? [])
  const mark = asked ?? known
  // What was given without a mark is the value of the workspace of then, or of somebody else.
  const before = known === undefined ? value : given
  if (mark === undefined && own === undefined) return undefined
  const base = isPassed ? (before ?? own) : (own ?? before)
  return mark === undefined ? base : [base, `rollout-${mark}`].filter((part) => part !== undefined).join(' ')
}
