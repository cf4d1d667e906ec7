import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  memberRestoreName,
  type RestoredMember,
  type RestoredVolumeState,
  renderMemberRestore,
  SNAPSHOT_MESSAGE_MAX,
  shortHash,
  UNFILLED_MAX,
  workspace as WORKSPACE,
  type WorkspaceSnapshotReason,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../../base/equality.ts'
import { hasHash, withNewest } from '../../../base/hash-list.ts'
import { compareTexts, firstFew } from '../../../base/messages.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { cutMessage } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { type ObjectPlan, removalOf, unchanged } from '../../../runtime/plan.ts'
import { sooner } from '../../../runtime/requeue.ts'
import type { FoundRestore, RestoreTarget, WorkspaceSnapshotWorld } from '../world.ts'
import { whyChanged, whyNotOff, whyNotOfLab, whyResetComes } from './restore-lab.ts'
import {
  stepVolumes,
  type VolumesNow,
  volumesIn,
  volumesLeft,
  volumesLossText,
  volumesToRestore,
  whyVolumesNot,
} from './restore-volumes.ts'
import { isRestoredBy, type Unfilled, unfilledIn } from './unfilled-claims.ts'

type Restore = WorkspaceSnapshotRestore
type Plan = ObjectPlan & { readonly status: WorkspaceSnapshotStatus }

/** What the status has where the annotation was looked for, and there was none. */
const NO_REQUEST = 'none'

/** Values that the status remembers. Their hashes have room in its 64 characters. */
const REMEMBERED_MAX = 7

/** The only value of the annotation with the scope. */
const MACHINES_ALONE = 'Machines'

/**
 * A machine whose restore does not exist by then is not restored any more: an operator that was away, or an API server that refuses for hours, must not destroy
 * what was done meanwhile.
 */
const BEGIN_WITHIN_MS = 10 * 60_000

/**
 * Adds to the plan of a point in time what becomes of a request to restore it:
 * ```
 * asked ─▶ Refused
 *       └▶ recorded with its volumes and machines: InProgress ─▶ the volumes are switched ─▶ VirtualMachineRestores are created ─▶ Succeeded, Failed ─▶ they are deleted
 * ```
 * Each arrow is one write; `restore-volumes.ts` has those of the volumes. What can be refused for want of room, or fail, comes before anything is replaced. A value is looked at once, also if it comes back, or while another is carried out. What cannot begin now is refused, and does not wait: later there may be work on the disks that nobody has
 * thought of. A restore that was seen is never created again, for the same reason.
 */
export function withRestore(world: WorkspaceSnapshotWorld, plan: Plan, now: number): Plan {
  const { status: before } = world.snapshot
  const kept = {
    ...plan.status,
    ...(before.restore !== undefined && { restore: before.restore }),
    ...(before.restoreRequest !== undefined && { restoreRequest: before.restoreRequest }),
  }
  const stored = { ...plan, status: kept }
  const asked = withRequest(world, stored, now)
  if (before.restore?.phase === 'InProgress') return continued(world, asked, before.restore, now)
  // What has ended is written down already.
  const told = asked.status.restore === before.restore ? corrected(world, asked, now) : asked
  const left = [...removalsOf(world, before.restore), ...volumesLeft(world, before.restore)]
  return { ...told, remove: [...told.remove, ...left] }
}

/**
 * Ends the restore of a point in time that is being deleted: what it has asked for and is not done is taken back. Claims of machines stay, as always.
 * @param plan that has the status as it is
 */
export function windUp(world: WorkspaceSnapshotWorld, plan: Plan, now: number): Plan {
  const { restore: before } = plan.status
  // What has been restored after all may be seen later.
  const isOver = before?.phase === 'Failed'
  const told =
    before?.phase === 'InProgress' ? broken(world, plan, before, now) : isOver ? corrected(world, plan, now) : plan
  const { restore } = told.status
  return { ...told, remove: [...told.remove, ...removalsOf(world, restore), ...volumesLeft(world, restore)] }
}

/** Returns the VirtualMachineRestores of a restore that exist, or that KubeVirt is at work on. */
export function requestsOf({ restore }: WorkspaceSnapshotWorld, { members = [] }: Restore): string[] {
  return members.flatMap(({ name, restore: request }) => {
    const isAtWork = restore.targets[name]?.kubevirt?.restoreInProgress === request
    return restore.found[request]?.isOurs === true || isAtWork ? [request] : []
  })
}

const DELETED = 'the WorkspaceSnapshot was deleted during the restore'

function broken(world: WorkspaceSnapshotWorld, plan: Plan, before: Restore, now: number): Plan {
  const { found, lab } = world.restore
  const volumes = (before.volumes ?? []).map((one): RestoredVolumeState => {
    if (one.phase === 'Succeeded' || one.phase === 'Failed') return one
    const { name, claim } = one
    const isSwitched = lab?.claims.get(name)?.claim === claim
    return { name, claim, ...(isSwitched ? { phase: 'Succeeded' } : failed(DELETED)) }
  })
  const members = (before.members ?? []).map((one): RestoredMember => {
    if (one.phase === 'Succeeded' || one.phase === 'Failed') return one
    const { name, restore } = one
    const request = found[restore]
    const state = request?.isOurs === true && request.isComplete ? stateOfRestore(world, one, request) : undefined
    const ended = state?.phase === 'Succeeded' ? state : failed(DELETED)
    return restoredMember(world, one) ?? { name, restore, ...ended }
  })
  const areThere = volumes.every(({ phase }) => phase === 'Succeeded')
  const stored = withVolumes(before, { volumes, areThere }, now)
  const unfilled = unfilledIn(world, { ...stored, members }, { isReplacing: true })
  const next = restoreNow(stored, members, unfilled, now)
  const told = ifAbsent(world, recorded(plan, { restore: next }, [endNote(next)]), unfilled.gone)
  if (areThere || lab === undefined) return told
  // The volumes may have been switched just now.
  return { ...told, onlyIf: [...(told.onlyIf ?? []), unchanged(WORKSPACE, lab.object)] }
}

/** That KubeVirt has restored a machine may be seen later than that its request has failed or is gone, and what is said of the machine must be so. */
function corrected(world: WorkspaceSnapshotWorld, plan: Plan, now: number): Plan {
  const { restore } = plan.status
  if (restore?.phase !== 'Failed') return restore?.unfilled === undefined ? plan : withFilled(world, plan, restore, now)
  const before = restore.members ?? []
  const members = before.map((member) =>
    member.phase === 'Failed' ? (restoredMember(world, member) ?? member) : member,
  )
  if (members.every((member, at) => member === before[at])) return withFilled(world, plan, restore, now)
  const next = restoreNow(restore, members, unfilledIn(world, { ...restore, members }, { isReplacing: true }), now)
  return recorded(plan, { restore: next }, [endNote(next)])
}

/** Writes down which claims have got their data, and ends the restore when all have. */
function withFilled(world: WorkspaceSnapshotWorld, plan: Plan, before: Restore, now: number): Plan {
  const { unfilled = [], ...stored } = before
  const { gone, waiting } = unfilledIn(world, before)
  if (before.phase === 'Failed') {
    // What has failed, has failed for good.
    const left = waiting.filter((claim) => unfilled.includes(claim))
    const restore = { ...stored, ...(left.length > 0 && { unfilled: left }) }
    return isSame(left, unfilled) ? plan : ifAbsent(world, recorded(plan, { restore }, []), gone)
  }
  if (isSame(waiting, unfilled)) return plan
  const next = restoreNow(stored, stored.members ?? [], { waiting, gone }, now)
  const told = recorded(plan, { restore: next }, next.phase === before.phase ? [] : [endNote(next)])
  return ifAbsent(world, told, gone)
}

/** The cache may not have a claim yet, or no more. */
export function ifAbsent<P extends ObjectPlan>(
  { restore, snapshot }: WorkspaceSnapshotWorld,
  plan: P,
  gone: readonly string[],
): P {
  const { namespace = '' } = snapshot.metadata
  const missing = gone.filter((claim) => restore.claims[claim] === undefined)
  const absent = missing.map((name) => ({ type: PERSISTENT_VOLUME_CLAIM, namespace, name }))
  return absent.length === 0 ? plan : { ...plan, onlyIf: [...(plan.onlyIf ?? []), { absent, whose: "anybody's" }] }
}

/** KubeVirt's machine says that it was restored, whatever became of the request. Returns undefined if it does not say so. */
function restoredMember(world: WorkspaceSnapshotWorld, { name, restore }: RestoredMember): RestoredMember | undefined {
  const { kubevirt } = world.restore.targets[name] ?? {}
  if (!isRestoredBy(kubevirt, restore)) return undefined
  return { name, restore, phase: 'Succeeded', ...(kubevirt.rootClaim !== '' && { claim: kubevirt.rootClaim }) }
}

function withRequest(world: WorkspaceSnapshotWorld, plan: Plan, now: number): Plan {
  const { status, metadata } = world.snapshot
  const value = metadata.annotations?.[ANNOTATIONS.restoreRequestedAt]
  const request = value === undefined ? undefined : shortHash([value])
  const { restoreRequest: seen } = status
  if (seen === undefined) {
    const events = request === undefined ? [] : [notCounted('was there before the operator first looked for it')]
    return recorded(plan, { restoreRequest: request ?? NO_REQUEST }, events)
  }
  if (request === undefined) return plan
  const restoreRequest = withNewest(seen === NO_REQUEST ? undefined : seen, request, REMEMBERED_MAX)
  if (restoreRequest === seen) return plan
  if (hasHash(seen, request))
    return recorded(plan, { restoreRequest }, [notCounted('has a value again that it had before')])
  const startTime = toTime(now)
  const isUnderWay = status.restore?.phase === 'InProgress'
  const why = isUnderWay ? 'it is being restored already: wait until that has ended' : whyRefused(world, plan.status)
  if (why !== undefined) return refusedWith(plan, why, { restoreRequest, request, startTime })
  const { name, uid = '' } = metadata
  const volumes = isOfMachinesAlone(world) ? [] : volumesToRestore(world, `${request} ${startTime}`)
  const members = machinesIn(status).map(
    ({ name: machine }): RestoredMember => ({
      name: machine,
      // KubeVirt's machine keeps the name of its last restore, also of one for a value that was forgotten since.
      restore: memberRestoreName({ name, uid }, machine, `${request} ${startTime}`),
      phase: 'Pending',
    }),
  )
  const message = cutMessage(beginningText(world))
  const workspaceGeneration = world.restore.lab?.object.metadata.generation
  const withVolumes = volumes.length > 0 && {
    volumes,
    ...(workspaceGeneration !== undefined && { workspaceGeneration }),
  }
  const restore: Restore = {
    ...{ phase: 'InProgress', request, message, startTime, members, ...withVolumes },
    // Until this one has replaced them, and if it does not, their data is in the point in time alone.
    ...(status.restore?.unfilled !== undefined && { unfilled: status.restore.unfilled }),
  }
  return recorded(plan, { restoreRequest, restore }, [note('Restoring', message)])
}

function refusedWith(
  plan: Plan,
  why: string,
  { restoreRequest, request, startTime }: Readonly<Record<'restoreRequest' | 'request' | 'startTime', string>>,
): Plan {
  const { restore: before } = plan.status
  const message = cutMessage(
    `nothing was restored: ${why}; then set another value of annotation ${ANNOTATIONS.restoreRequestedAt}`,
  )
  const restore: Restore = { phase: 'Refused', request, message, startTime, endTime: startTime }
  // What the status says of the one under way stays, and of claims that have no data yet.
  const isKept = before?.phase === 'InProgress' || before?.unfilled !== undefined
  return recorded(plan, { restoreRequest, ...(!isKept && { restore }) }, [note('RestoreRefused', message)])
}

function notCounted(why: string): EventNote {
  return note(
    'RestoreNotCounted',
    `annotation ${ANNOTATIONS.restoreRequestedAt} ${why}: it does not count, and nothing is restored; to restore, set another value`,
  )
}

function note(reason: WorkspaceSnapshotReason, message: string): EventNote {
  return { type: reason === 'Restored' ? 'Normal' : 'Warning', reason, message }
}

function endNote({ phase, message }: Restore): EventNote {
  if (phase === 'WaitForFirstConsumer') return note(phase, message)
  return note(phase === 'Succeeded' ? 'Restored' : 'RestoreFailed', message)
}

function recorded(plan: Plan, status: Partial<WorkspaceSnapshotStatus>, events: readonly EventNote[]): Plan {
  return { ...plan, status: { ...plan.status, ...status }, events: [...plan.events, ...events] }
}

function machinesIn({ members = [] }: WorkspaceSnapshotStatus) {
  return members.flatMap(({ kind, name, snapshot, time }) =>
    kind === 'Machine' && snapshot !== undefined ? [{ name, snapshot, time }] : [],
  )
}

function isOfMachinesAlone({ snapshot }: WorkspaceSnapshotWorld): boolean {
  return snapshot.metadata.annotations?.[ANNOTATIONS.restoreScope] === MACHINES_ALONE
}

/** Says what people lose, and what they do not. */
function beginningText(world: WorkspaceSnapshotWorld): string {
  const { snapshot, restore } = world
  const machines = machinesIn(snapshot.status)
  const names = machines.map(({ name }) => name)
  const volumes = volumesIn(snapshot.status)
  const isPartial = isOfMachinesAlone(world)
  const inIt = isPartial ? [] : volumes.map(({ name }) => name)
  const others = Object.keys(restore.targets).filter((name) => !names.includes(name))
  const otherVolumes = [...new Set([...volumes.map(({ name }) => name), ...Object.keys(restore.volumes)])].filter(
    (name) => !inIt.includes(name),
  )
  const partial = machines.flatMap(({ name, snapshot: own }) => {
    const { excluded } = world.found[own] ?? {}
    return excluded === undefined ? [] : [`disks ${excluded} of machine ${name}, which are not in its snapshot`]
  })
  const stays = [
    ...partial,
    ...(others.length === 0 ? [] : [`machines ${others.join(', ')}, which are not in the point in time`]),
    ...(otherVolumes.length === 0 ? [] : [`volumes ${otherVolumes.join(', ')}`]),
  ]
  return [
    ...machinesLossText(machines, partial.length === 0 ? 'all their disks' : 'their disks'),
    ...volumesLossText(isPartial ? [] : volumes),
    ...(stays.length === 0 ? [] : [`left as they are: ${stays.join('; ')}`]),
  ].join('; ')
}

/** @param which which of their disks are in the point in time */
function machinesLossText(machines: ReturnType<typeof machinesIn>, which: string): string[] {
  if (machines.length === 0) return []
  const [time] = machines.flatMap((one) => one.time ?? []).toSorted()
  return [
    `machines ${machines.map(({ name }) => name).join(', ')} get ${which} as they were at ${time ?? 'the point in time'}`,
    'what was written to the present disks since then is not used any more',
    'KubeVirt leaves those disks beside the restored ones until somebody deletes them, or the machine',
  ]
}

/** Returns why a restore is not begun, and what to do about it; undefined if it is. */
function whyRefused(world: WorkspaceSnapshotWorld, now: WorkspaceSnapshotStatus): string | undefined {
  return whyNotWhole(world, now) ?? whyNotOfLab(world) ?? whyNotInScope(world) ?? whyNotNow(world)
}

function whyNotWhole({ spec }: WorkspaceSnapshotWorld, { phase, message, members = [] }: WorkspaceSnapshotStatus) {
  const lacking = lackingIn({ members })
  if (spec.ok && phase === 'Succeeded' && lacking.length === 0) return undefined
  const which = lacking.length === 0 ? '' : ` (${lacking.join(', ')})`
  return `the point in time is not whole${which}: ${message}; restore a WorkspaceSnapshot that is Succeeded`
}

/** Returns the names of members whose snapshots are gone, or not ready. */
function lackingIn({ members = [] }: WorkspaceSnapshotStatus): string[] {
  return members.filter(({ snapshot, ready }) => snapshot !== undefined && !ready).map(({ name }) => name)
}

function whyNotInScope(world: WorkspaceSnapshotWorld): string | undefined {
  const { snapshot, restore } = world
  const scope = snapshot.metadata.annotations?.[ANNOTATIONS.restoreScope]
  if (scope !== undefined && scope !== MACHINES_ALONE)
    return `annotation ${ANNOTATIONS.restoreScope} is ${JSON.stringify(scope)}: set it to ${MACHINES_ALONE}, or remove it`
  const hasMachines = machinesIn(snapshot.status).length > 0
  if (!hasMachines && isOfMachinesAlone(world))
    return `no machine is in the point in time: remove annotation ${ANNOTATIONS.restoreScope} to restore its volumes`
  if (hasMachines && !restore.isServed)
    return 'the cluster does not serve VirtualMachineRestores: install KubeVirt with its feature gate Snapshot'
  return undefined
}

function whyNotNow(world: WorkspaceSnapshotWorld): string | undefined {
  const { restore, snapshot } = world
  if (restore.other !== undefined)
    return `WorkspaceSnapshot ${restore.other} is being restored: wait until that has ended`
  const powered = whyNotOff(world)
  if (powered !== undefined) return powered
  const reset = whyResetComes(world)
  const machines = machinesIn(snapshot.status)
  if (reset !== undefined && machines.length > 0) return reset
  const isWithVolumes = !isOfMachinesAlone(world) && volumesIn(snapshot.status).length > 0
  const ofVolumes = isWithVolumes ? whyVolumesNot(world) : []
  const troubles = [...machines.flatMap((machine) => whyNotRestorable(world, machine) ?? []), ...ofVolumes]
  return troubles.length === 0 ? undefined : troubles.join('; ')
}

/** Returns why a machine cannot be restored now, and what to do about it; undefined if it can. */
function whyNotRestorable(
  { restore, found }: WorkspaceSnapshotWorld,
  { name, snapshot }: { readonly name: string; readonly snapshot: string },
): string | undefined {
  const target = restore.targets[name]
  const title = `machine ${name}`
  if (target === undefined)
    return `${title} is not in the workspace any more: put it into spec.vms again, or make the restore of KubeVirt by hand`
  const { kubevirt, isReplaced, isResetAsked } = target
  if (kubevirt === undefined) return `${title} is not deployed: wait until it is, or set its ignoreOnDeploy to false`
  if (isOfAnother(target, found[snapshot]?.sourceUid))
    return `${title} was made again after the point in time, and KubeVirt does not restore one from a snapshot of another: take its data from claims that you make from the VolumeSnapshots`
  if (isResetAsked)
    return `${title} has a reset that is not answered yet, and would lose the restored disk to it: wait until it is answered, or remove annotation ${ANNOTATIONS.resetRequestedAt} from its VirtualMachine`
  if (isReplaced)
    return `${title} gets a new root disk (reset or rebuild): wait until it has it, and see its condition Replacing if that lasts`
  if (kubevirt.volumes.length > 0)
    return `${title} has volumes ${kubevirt.volumes.join(', ')} as disks, and KubeVirt would give it copies of its own of them: remove them from its disks first, or make the restore of KubeVirt by hand`
  if (kubevirt.restoreInProgress !== '')
    return `${title} is being restored by VirtualMachineRestore ${kubevirt.restoreInProgress}: wait until that has ended`
  const { name: of } = kubevirt.object.metadata
  return kubevirt.isOff ? undefined : `${title} is not off: wait until VirtualMachine ${of} of KubeVirt is Stopped`
}

function isOfAnother({ kubevirt }: RestoreTarget, sourceUid: string | undefined): boolean {
  return kubevirt !== undefined && sourceUid !== undefined && kubevirt.object.metadata.uid !== sourceUid
}

/** Returns why the machines of a point in time could not be restored now, and what to do about it; undefined if they can, or there is none. */
function whyMachinesNot(world: WorkspaceSnapshotWorld, now: WorkspaceSnapshotStatus): string | undefined {
  const machines = machinesIn(world.snapshot.status)
  if (machines.length === 0) return undefined
  const lacking = lackingIn(now)
  if (lacking.length > 0) return `the snapshots of ${lacking.join(', ')} are gone, or not ready any more`
  const troubles = machines.flatMap((machine) => whyNotRestorable(world, machine) ?? [])
  return whyResetComes(world) ?? (troubles.length === 0 ? undefined : troubles.join('; '))
}

const OLD_CRDS = 'the CRDs are older than the operator: install them, then ask again'

/** Where the CRD does not know of volumes, the API server has left out what was written down of them. */
function areVolumesDropped(world: WorkspaceSnapshotWorld, { volumes, members = [] }: Restore): boolean {
  return (
    volumes === undefined &&
    !isOfMachinesAlone(world) &&
    volumesIn(world.snapshot.status).length > 0 &&
    members.every(({ phase }) => phase === 'Pending')
  )
}

function withDroppedVolumes(plan: Plan, { members = [], ...before }: Restore, now: number): Plan {
  const failedOnes = members.map((one): RestoredMember => ({ ...one, phase: 'Failed', message: 'not begun' }))
  const message = `nothing was restored: ${OLD_CRDS}`
  const restore: Restore = { ...before, phase: 'Failed', message, endTime: toTime(now), members: failedOnes }
  return recorded(plan, { restore }, [endNote(restore)])
}

function continued(world: WorkspaceSnapshotWorld, plan: Plan, before: Restore, now: number): Plan {
  if (areVolumesDropped(world, before)) return withDroppedVolumes(plan, before, now)
  const step = stepVolumes(world, { ...before, obstacle: whyMachinesNot(world, plan.status) }, now)
  const stored = withVolumes(before, step, now)
  const leftMs = (fromTime(stored.switchTime ?? stored.startTime) ?? 0) + BEGIN_WITHIN_MS - now
  const members = membersNow(world, stored, step, leftMs)
  const unfilled = unfilledIn(world, { ...stored, members }, { isReplacing: true })
  const restore = restoreNow(stored, members, unfilled, now)
  const status = { ...plan.status, restore }
  const missing = step.areThere ? members.filter(({ phase }) => phase === 'Pending') : []
  // The volumes have to be seen to be switched, and written down, before a disk is replaced.
  const isBegun = step.areThere && (stored.volumes === undefined || before.switchTime !== undefined)
  const applyIf = isBegun ? missing.flatMap((member) => restoreObject(world, member)) : []
  const awaited = {
    afterMs: Math.max(leftMs, 0),
    because: 'a machine whose restore has not begun by then is not restored',
  }
  const ended = restore.phase === 'InProgress' ? [] : [endNote(restore)]
  const next = {
    ...plan,
    status,
    applyIf: [...step.applyIf, ...applyIf],
    touch: step.touch,
    remove: [...plan.remove, ...removalsOf(world, before), ...step.remove],
    events: [...plan.events, ...ended],
    requeue: missing.length === 0 ? plan.requeue : sooner(plan.requeue, awaited),
  }
  return restore.phase === 'InProgress' ? next : ifAbsent(world, next, unfilled.gone)
}

function withVolumes(
  before: Restore,
  { volumes, areThere }: Pick<VolumesNow, 'volumes' | 'areThere'>,
  now: number,
): Restore {
  if (volumes.length === 0) return before
  const switchTime = before.switchTime ?? (areThere ? toTime(now) : undefined)
  return { ...before, volumes: [...volumes], ...(switchTime !== undefined && { switchTime }) }
}

/** The machines wait for the volumes, and keep their disks if those fail. */
function membersNow(
  world: WorkspaceSnapshotWorld,
  stored: Restore,
  { volumes, areThere }: VolumesNow,
  leftMs: number,
): RestoredMember[] {
  const { members = [] } = stored
  const changed = whyChanged(world, stored)
  if (areThere) return members.map((member) => memberNow(world, member, { leftMs, changed }))
  if (!volumes.some(({ phase }) => phase === 'Failed')) return members
  const message = 'not begun: the volumes are not restored'
  return members.map((member) => (member.phase === 'Pending' ? { ...member, phase: 'Failed', message } : member))
}

interface Beginning {
  /** Until a restore that does not exist is not created any more. */
  readonly leftMs: number
  /** Why none is created, whatever the machine is like. */
  readonly changed: string | undefined
}

function memberNow(world: WorkspaceSnapshotWorld, member: RestoredMember, beginning: Beginning): RestoredMember {
  const { name, restore, phase, claim } = member
  // What has gone with its kind may be there all the same.
  if (phase === 'Succeeded' || phase === 'Failed' || !world.restore.isServed) return member
  const found = world.restore.found[restore]
  const { message = '', ...state } =
    found === undefined ? withoutRestore(world, member, beginning) : stateOfRestore(world, member, found)
  const cut = cutMessage(message).slice(0, SNAPSHOT_MESSAGE_MAX).toWellFormed()
  return { name, restore, ...(claim !== undefined && { claim }), ...state, ...(cut !== '' && { message: cut }) }
}

type State = Pick<RestoredMember, 'phase' | 'claim' | 'message'>

const stateOf = ({ phase, claim }: RestoredMember): State => ({ phase, ...(claim !== undefined && { claim }) })
const failed = (message: string): State => ({ phase: 'Failed', message })

function withoutRestore(world: WorkspaceSnapshotWorld, member: RestoredMember, { leftMs, changed }: Beginning): State {
  const { name, restore, phase } = member
  const { kubevirt } = world.restore.targets[name] ?? {}
  const restored = restoredMember(world, member)
  if (restored !== undefined && kubevirt?.restoreInProgress === '') return stateOf(restored)
  // What KubeVirt does to its machine may be seen before the request for it.
  if (kubevirt?.restoreInProgress === restore) return { phase: 'InProgress' }
  if (phase === 'InProgress')
    return failed(`VirtualMachineRestore ${restore} is gone before its end: it is not made again`)
  if (world.refusal !== undefined && !isAboutOwn(world, world.refusal))
    return failed(`${world.refusal}: the restore was refused`)
  if (leftMs <= 0) return failed('the restore could not be begun in time')
  const snapshot = snapshotOf(world, name)
  const why =
    whyNotOfLab(world) ??
    whyNotOff(world) ??
    changed ??
    whyResetComes(world) ??
    (snapshot && whyNotRestorable(world, { name, snapshot }))
  return why === undefined ? { phase } : failed(`not begun: ${why}`)
}

/** KubeVirt refuses a restore also because it exists already: its creation had an effect, and the answer was lost. */
function isAboutOwn({ snapshot }: WorkspaceSnapshotWorld, refusal: string): boolean {
  return snapshot.status.restore?.members?.some(({ restore }) => refusal.includes(`"${restore}" in progress`)) === true
}

function stateOfRestore(world: WorkspaceSnapshotWorld, member: RestoredMember, found: FoundRestore): State {
  const { name, restore } = member
  const { isComplete, hasFailed, text, claim } = found
  const title = `VirtualMachineRestore ${restore}`
  if (!found.isOurs) return failed(`${title} exists and belongs to somebody else: the operator does not touch it`)
  if (isComplete) return isSeenOf(world, member) ? { phase: 'Succeeded', ...(claim !== '' && { claim }) } : NOT_SEEN
  // What KubeVirt counts as failed for a guest that has started just after the restore is restored.
  const restored = hasFailed || found.isTerminating ? restoredMember(world, member) : undefined
  if (restored !== undefined) return stateOf(restored)
  if (hasFailed) return failed(text === '' ? 'KubeVirt says that it has failed' : text)
  if (found.isTerminating) return failed(`${title} is being deleted before its end: it is not made again`)
  const target = world.restore.targets[name]
  const sourceUid = world.found[snapshotOf(world, name) ?? '']?.sourceUid
  if (target?.kubevirt === undefined || isOfAnother(target, sourceUid))
    return failed('the machine of KubeVirt was deleted during the restore')
  return { phase: 'InProgress', message: text }
}

const NOT_SEEN: State = { phase: 'InProgress', message: 'KubeVirt says that it is complete: its machine is looked at' }

/** Where the storage waits, only KubeVirt's machine tells which claims have no data yet, and it may be seen later. */
function isSeenOf(world: WorkspaceSnapshotWorld, member: RestoredMember): boolean {
  const { kubevirt } = world.restore.targets[member.name] ?? {}
  return kubevirt?.waitsForPod !== true || restoredMember(world, member) !== undefined
}

function snapshotOf({ snapshot }: WorkspaceSnapshotWorld, machine: string): string | undefined {
  return machinesIn(snapshot.status).find(({ name }) => name === machine)?.snapshot
}

/** Claims that a message names. More are only counted. */
const SHOWN_MAX = 3

function startOnce(waiting: readonly string[]): string[] {
  if (waiting.length === 0) return []
  return [
    `these get their data only when something first uses them, and have none yet: PersistentVolumeClaims ${firstFew(waiting, SHOWN_MAX)}; start the lab, and each machine of it once, before this WorkspaceSnapshot is deleted`,
  ]
}

interface Part {
  readonly kind: 'machine' | 'volume'
  readonly name: string
  readonly phase: RestoredMember['phase']
  readonly message?: string | undefined
}

function restoreNow(
  { unfilled: _before, ...stored }: Restore,
  members: readonly RestoredMember[],
  { waiting, gone }: Unfilled,
  now: number,
): Restore {
  const parts = [
    ...(stored.volumes ?? []).map((one): Part => ({ ...one, kind: 'volume' })),
    ...members.map((one): Part => ({ ...one, kind: 'machine' })),
  ]
  const hasAny = (...phases: readonly Part['phase'][]) => parts.some(({ phase }) => phases.includes(phase))
  if (hasAny('Pending', 'InProgress')) {
    // What is gone is told at the end.
    const left = [...waiting, ...gone].slice(0, UNFILLED_MAX).toSorted(compareTexts)
    return { ...stored, members: [...members], ...(left.length > 0 && { unfilled: left }) }
  }
  const unfilled = waiting.length > 0 && { unfilled: [...waiting] }
  const [worst] = parts.filter(({ phase }) => phase === 'Failed')
  const ended = { ...stored, endTime: toTime(now), members: [...members], ...unfilled }
  const restored = namesIn(parts, 'Succeeded')
  if (worst === undefined && gone.length > 0) {
    const message = `PersistentVolumeClaims ${firstFew(gone, SHOWN_MAX)} are gone, or not used any more, and never had their data from the snapshots: to have it, restore again`
    return { ...ended, phase: 'Failed', message: cutMessage([message, ...startOnce(waiting)].join('; ')) }
  }
  if (worst === undefined) {
    const [machines, volumes] = [members, stored.volumes ?? []].map((list) => list.map(({ name }) => name).join(', '))
    const texts = [
      machines === '' ? '' : `machines ${machines} start from their restored disks`,
      volumes === '' ? '' : `volumes ${volumes} have their restored claims`,
      ...startOnce(waiting),
    ]
    const phase = waiting.length === 0 ? 'Succeeded' : 'WaitForFirstConsumer'
    return { ...ended, phase, message: cutMessage(texts.filter((text) => text !== '').join('; ')) }
  }
  const message = [
    `${worst.message} (${worst.kind} ${worst.name})`,
    `not restored, with what they had: ${namesIn(parts, 'Failed')}`,
    restored === '' ? 'restored: none' : `restored: ${restored}`,
    ...startOnce(waiting),
  ].join('; ')
  return { ...ended, phase: 'Failed', message: cutMessage(message) }
}

function namesIn(parts: readonly Part[], phase: Part['phase']): string {
  const named = (kind: Part['kind']) => {
    const names = parts.filter((one) => one.kind === kind && one.phase === phase).map(({ name }) => name)
    return names.length === 0 ? [] : [`${kind}s ${names.join(', ')}`]
  }
  return [...named('machine'), ...named('volume')].join('; ')
}

/** KubeVirt makes a machine that does not exist, so one is restored only as it was seen: off, and the one that the snapshot is of. */
function restoreObject(world: WorkspaceSnapshotWorld, { name: machine, restore }: RestoredMember) {
  const { snapshot, workspace } = world
  const target = world.restore.targets[machine]?.kubevirt
  const of = snapshotOf(world, machine)
  if (workspace === undefined || target === undefined || of === undefined) return []
  const { name, uid = '' } = snapshot.metadata
  const wanted: KubeObject = renderMemberRestore({
    workspace,
    of: { name, uid },
    machine,
    snapshot: of,
    name: restore,
  })
  return [{ wanted, onlyIf: [unchanged(KUBEVIRT_VIRTUAL_MACHINE, target.object)] }]
}

/** One that has ended is in the way of the next: KubeVirt refuses a second restore of a machine while one that has failed exists. */
function removalsOf({ restore: { found } }: WorkspaceSnapshotWorld, stored: Restore | undefined) {
  return (stored?.members ?? []).flatMap(({ restore, phase }) => {
    const one = found[restore]
    const isOver = phase === 'Succeeded' || phase === 'Failed'
    return one?.isOurs === true && isOver ? removalOf(one.object) : []
  })
}
