import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { virtualMachine, workspace } from '@open-terrain/constructs/operator'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { isFilledByOthers, POPULATED_FOR } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { referTo, removalOf, unchanged } from '../../../runtime/plan.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import { reasonOf, withMore } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'
import { answeredRequests, isRebuildAsked, isResetAsked, seenRebuild } from './disk-requests.ts'
import { hasNoData } from './further-disks.ts'
import { failed, hasDisk, type MachineDraft, NOT_BOOTED, type Step, waiting } from './machine-plan.ts'
import { isGivenUp } from './second-disk.ts'
import type { MachineSummary, Remark } from './status.ts'

/** What has happened to the disk of a machine that has run from it. */
export interface DiskLoss {
  readonly reason: 'DiskLost' | 'DiskBeingDeleted'
  /** What is gone or going, without what to do about it. */
  readonly what: string
  /**
   * The claim that KubeVirt's machine names is there, and is not the disk that the guest had: CDI has made it again, its volume is gone, or it is the one of
   * before a restore.
   */
  readonly left?: 'remade' | 'volumeless' | 'other'
}

/**
 * Returns what has happened to the disk of a machine that has run; undefined if the disk is there. A machine that has never run has lost nothing: it
 * gets another disk by itself.
 */
export function diskLoss(world: MachineWorld): DiskLoss | undefined {
  const { vm, clone, claim, machine, restoring, restoredClaim, restoredAside, isDiskElsewhere, namespaceTerminating } =
    world
  const isLeaving = isTerminating(vm) || namespaceTerminating
  // KubeVirt deletes the claim that it is about to replace.
  if (!hasRun(world) || restoring !== undefined || isLeaving) return undefined
  // It has another one already, and only the record of that is missing.
  if (vm.status.replacement !== undefined && machine?.rootDataVolume === vm.status.replacement.disk.name)
    return undefined
  const name = claimNameOf(world)
  const which = `PersistentVolumeClaim ${name}${isDiskElsewhere ? ' of a restore' : ''}`
  if (claim === undefined)
    return { reason: 'DiskLost', what: `the root disk, ${which}, is gone, with all that the guest has written to it` }
  if (isTerminating(claim) || (clone !== undefined && isTerminating(clone) && !isOrphaning(clone)))
    return { reason: 'DiskBeingDeleted', what: `the root disk, ${which}, is being deleted` }
  if (claim.phase === 'Lost')
    return {
      reason: 'DiskLost',
      what: `the volume of the root disk, ${which}, is gone (the claim is Lost), with all that the guest has written to it`,
      left: 'volumeless',
    }
  if (restoredClaim !== undefined || !isRemade(world)) return undefined
  if (restoredAside !== undefined)
    // An operator of an earlier release, or a person, has written that.
    return {
      reason: 'DiskLost',
      what: `VirtualMachine ${machine?.metadata.name} of KubeVirt does not start from the disk that the guest had any more: that is PersistentVolumeClaim ${restoredAside}, of a restore, and it is still there; the one of now is ${which}`,
      left: 'other',
    }
  return {
    reason: 'DiskLost',
    what: `the root disk, ${which}, was deleted with all that the guest has written to it, and CDI has made another one from the image`,
    left: 'remade',
  }
}

function claimNameOf({ rootName, isDiskElsewhere, restoredClaim }: MachineWorld): string {
  return isDiskElsewhere ? (restoredClaim ?? rootName) : rootName
}

/** CDI makes a claim again that somebody has deleted without its DataVolume. What a restore or a person has put there is no such claim. */
function isRemade({ vm, clone, claim, isRestoredClaimLost }: MachineWorld): boolean {
  const { diskUID } = vm.status
  if (diskUID === undefined || isRestoredClaimLost || clone === undefined || claim === undefined) return false
  return claim.metadata.uid !== diskUID && isFilledByCDI(clone, claim)
}

/** Reports whether CDI has filled the claim for the DataVolume, and not a restore or a person. */
export function isFilledByCDI(clone: KubeObject, claim: KubeObject): boolean {
  const isOfOthers = isFilledByOthers(clone) || claim.metadata.annotations?.[POPULATED_FOR] !== undefined
  return isChildOf(claim, clone) && !isOfOthers
}

/** Reports whether somebody has asked for a new disk, and nothing of the old one can be saved any more. */
function isAnswered(world: MachineWorld, { reason, left }: DiskLoss): boolean {
  // The operator itself has deleted it, as somebody has said.
  if (left === undefined && isGivenUp(world)) return !guestRuns(world)
  const isAsked = isRebuildAsked(world) || isResetAsked(world)
  return reason === 'DiskLost' && isAsked && (isUsable(left) || !guestRuns(world))
}

/** Reports whether the claim that KubeVirt's machine names may have something of a guest by now: it is used as it is if somebody asks for it. */
function isUsable(left: DiskLoss['left']): boolean {
  return left === 'remade' || left === 'other'
}

/** Reports whether a guest of the machine has run from its disk. One that ends with its machine may have run from the claim of somebody else. */
export function hasRun(world: MachineWorld): boolean {
  const isEnding = [world.machine, world.instance].some(isTerminating)
  return world.vm.status.bootedAt !== undefined || (guestRuns(world) && !isEnding)
}

/** Reports whether a guest runs from the disk of the machine, or from what is left of it. */
export function guestRuns({ instance, foreignClaim }: MachineWorld): boolean {
  return instance?.phase === 'Running' && foreignClaim === undefined
}

/**
 * Plans a machine whose disk is lost: nothing is made until somebody asks for it. Returns undefined if somebody has, and nothing of the old disk is in
 * the way.
 * @param blocked what else blocks the machine
 */
export function planLoss(
  { world }: Pick<MachineDraft, 'world'>,
  loss: DiskLoss,
  blocked?: MachineSummary,
): Step | undefined {
  if (isAnswered(world, loss)) return isUsable(loss.left) ? acceptedDisk(world, loss) : restRemoved(world, loss)
  const stands = failed(loss.reason, `${loss.what}${adviceOn(world, loss)}`)
  const summary = blocked === undefined ? stands : withMore(stands, `; ${blocked.message}`)
  return removedInVain(world, loss, summary)
}

/** Removes what would give the machine another disk in the place of the lost one without being asked. */
function removedInVain(world: MachineWorld, loss: DiskLoss, summary: MachineSummary): Step {
  const { claim, clone } = world
  const notStarted = keptFromStarting(world, loss, summary)
  if (notStarted !== undefined) return notStarted
  // CDI would make another disk in the place of the claim, and KubeVirt would start the guest from it.
  const isRemadeAndOff = loss.left === 'remade' && world.instance === undefined
  const isInVain = claim === undefined || isTerminating(claim) || isRemadeAndOff
  const remove = isInVain && !isFilledByOthers(clone) ? removalOf(clone) : []
  if (remove.length > 0) return { summary, remove, onlyIf: stillInVain(world, world.rootName, claim) }
  // A cache may miss a claim for a moment, so a live read comes before the status says for the first time that it is gone.
  const isNews = claim === undefined && reasonOf(world.vm.status) !== loss.reason
  return { summary, remove, ...(isNews && { onlyIf: [noClaim(world)] }) }
}

/**
 * Plans KubeVirt's machine so that it does not start from a disk that the guest never had. It is halted if a disk would be deleted with it, and deleted
 * otherwise. Returns undefined if nothing is to be done.
 */
function keptFromStarting(world: MachineWorld, { left }: DiskLoss, summary: MachineSummary): Step | undefined {
  const { machine, restoredAside } = world
  const isOff = world.instance === undefined
  if (isOff && (left === 'other' || (left === 'remade' && !hasNoData(world.claim))))
    return keptOff(world, summary) ?? { summary }
  if (hasDisk(world) || guestRuns(world) || machine === undefined || isTerminating(machine)) return undefined
  // With it, the claim of the restore would be deleted, too.
  if (restoredAside !== undefined) return isOff ? keptOff(world, summary) : undefined
  const why = `; VirtualMachine ${machine.metadata.name} of KubeVirt is removed: it would start from any claim of that name`
  return { summary: withMore(summary, why), remove: removalOf(machine), onlyIf: [noDisk(world)] }
}

/** KubeVirt starts a machine with one of these by itself. */
const STARTS_BY_ITSELF: ReadonlySet<string> = new Set(['Always', 'RerunOnFailure', 'Once'])

/**
 * Plans a machine that is off, and has another disk than the guest had, or none. A guest may have run from that one, so the disk stays, and so does KubeVirt's
 * machine with what the guest knows itself by. Nobody has asked for a start from it, so the machine is halted. Returns undefined if it starts from nothing by
 * itself.
 */
function keptOff(world: MachineWorld, summary: MachineSummary): Step | undefined {
  const { machine, claim } = world
  if (machine === undefined || isTerminating(machine) || !STARTS_BY_ITSELF.has(machine.runStrategy)) return undefined
  const { resourceVersion } = machine.metadata
  const from = claim === undefined ? 'any claim of that name' : 'that disk'
  const why = `; VirtualMachine ${machine.metadata.name} of KubeVirt is halted: it would start from ${from} without being asked`
  return {
    summary: withMore(summary, why),
    touch: [
      {
        ...referTo(machine),
        ...(resourceVersion !== undefined && { resourceVersion }),
        annotations: {},
        spec: { runStrategy: 'Halted' },
      },
    ],
    onlyIf: stillInVain(world, world.rootName, claim),
  }
}

/**
 * The preconditions of the removal of a DataVolume whose claim is lost. A restore deletes the claim too, and makes it again for that DataVolume. Its machine
 * shows that before.
 */
export function stillInVain(
  { vm, machine }: MachineWorld,
  name: string,
  claim: KubeObject | undefined,
): Precondition[] {
  const { namespace = '' } = vm.metadata
  const target = { type: PERSISTENT_VOLUME_CLAIM, namespace, name }
  const ofClaim = claim && unchanged(PERSISTENT_VOLUME_CLAIM, claim)
  return [
    ofClaim ?? { absent: [target], whose: "anybody's" },
    ...(machine === undefined ? [] : [unchanged(KUBEVIRT_VIRTUAL_MACHINE, machine)]),
  ]
}

/** The precondition of a plan that assumes that the machine has no disk: neither a DataVolume nor a claim. */
export function noDisk({ vm, rootName }: MachineWorld): Precondition {
  const { namespace = '' } = vm.metadata
  const disk = { namespace, name: rootName }
  return { absent: [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM].map((type) => ({ type, ...disk })), whose: 'ours' }
}

function noClaim(world: MachineWorld): Precondition {
  const { namespace = '' } = world.vm.metadata
  const claim = { type: PERSISTENT_VOLUME_CLAIM, namespace, name: claimNameOf(world) }
  return { absent: [claim], whose: world.isDiskElsewhere ? "anybody's" : 'ours' }
}

/**
 * Somebody wants to go on with the disk that KubeVirt's machine has. Nothing is recorded of a guest that has run from it. One that CDI has made from the image
 * is what a reset asks for. The one of before a restore is not.
 */
function acceptedDisk(world: MachineWorld, { left }: DiskLoss): Step {
  const which = left === 'remade' ? 'that CDI has made from the image' : `in PersistentVolumeClaim ${world.rootName}`
  const summary = waiting('Cloning', `the root disk ${which} is used, as somebody asked for it`)
  const answered = left === 'remade' ? answeredRequests(world) : seenRebuild(world)
  return { summary, status: { ...NOT_BOOTED, restoredClaim: undefined, ...answered } }
}

/** Removes what is left of a lost disk. Returns undefined if nothing is. */
function restRemoved(world: MachineWorld, { left }: DiskLoss): Step | undefined {
  const { clone, claim, machine, isDiskElsewhere } = world
  if (left === undefined && !isDiskElsewhere) return undefined
  const parts = [machine, clone].filter((one) => one !== undefined)
  const [part] = parts
  if (part === undefined) {
    const message = `PersistentVolumeClaim ${claim?.metadata.name} has no volume any more, and does not belong to a DataVolume: delete it, and the root disk is made again`
    return { summary: failed('DiskLost', message) }
  }
  const title = `${part.kind} ${part.metadata.name}${part === machine ? ' of KubeVirt' : ''}`
  const summary = waiting('Cloning', `the root disk is made again, as somebody asked for it: ${title} is removed first`)
  return { summary, remove: removalOf(part), ...(isDiskElsewhere && { onlyIf: [noClaim(world)] }) }
}

/** What people can do, with rights that they have: those who write workspaces may not write the machines in them. */
export function rebuildCommand({ vm }: Pick<MachineWorld, 'vm'>): string {
  const { namespace, name, labels } = vm.metadata
  const lab = labels?.[LABELS.workspace]
  const object =
    lab === undefined
      ? `-n ${namespace} annotate ${virtualMachine.crdName} ${name}`
      : `annotate ${workspace.crdName} ${lab}`
  return `kubectl ${object} --overwrite ${ANNOTATIONS.rebuildRequestedAt}="$(date)"`
}

/** @param advice what people can do when the guest has stopped */
export function adviceOnGuest(world: MachineWorld, { reason }: Pick<DiskLoss, 'reason'>, advice: string): string {
  if (!guestRuns(world)) {
    const kept = reason === 'DiskBeingDeleted' ? '; if it is not gone soon, see its finalizers' : ''
    return `${kept}; ${advice}`
  }
  const ends = reason === 'DiskBeingDeleted' ? 'and is gone when the guest stops' : 'and only the guest still has it'
  return `, ${ends}: save what is needed while the guest runs, and do not stop it before; after that, ${advice}`
}

function adviceOn(world: MachineWorld, loss: DiskLoss): string {
  const rebuild = rebuildCommand(world)
  const advice = world.isDiskElsewhere
    ? `restore the machine again, or, if nothing can be restored, have a disk made from the image by: ${rebuild}`
    : `no new disk is made by itself; if nothing of it can be saved, have one made from the image by: ${rebuild}`
  if (loss.left === 'other')
    return `; restore the machine again to have what was restored, or copy what is needed from that claim; to go on with the one of now: ${rebuild}`
  if (loss.left === 'remade')
    return `${guestRuns(world) ? ': the guest runs from the new one' : ''}; to go on with the new one: ${rebuild}`
  const { restoredAside } = world
  const aside = `; PersistentVolumeClaim ${restoredAside}, of a restore, which the guest had before, is still there, and is deleted when a disk is made from the image`
  return `${adviceOnGuest(world, loss, advice)}${restoredAside === undefined ? '' : aside}`
}

/** Returns what to tell as long as the disk is lost and nobody has asked for another one, whatever else the machine waits for. */
export function remarksOnLoss(world: MachineWorld): Remark[] {
  const loss = diskLoss(world)
  if (loss === undefined || isAnswered(world, loss)) return []
  return [{ type: 'DiskLost', reason: loss.reason, message: `${loss.what}${adviceOn(world, loss)}` }]
}
