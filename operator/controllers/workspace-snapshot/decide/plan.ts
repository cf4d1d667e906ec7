import {
  FINALIZERS,
  problemsText,
  renderMemberSnapshot,
  type WorkspaceSnapshotMember,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import { firstFew } from '../../../base/messages.ts'
import { unusableReason } from '../../../cluster/own-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { NOTHING_TO_DO, type ObjectPlan } from '../../../runtime/plan.ts'
import { withRefusal } from '../../../runtime/summary.ts'
import type { MemberOfLab, WorkspaceSnapshotWorld } from '../world.ts'
import { isToBeCreated, membersNow, membersOfLab } from './members.ts'
import { ifAbsent, requestsOf, windUp, withRestore } from './restore.ts'
import {
  notServedText,
  snapshotEventsBetween,
  snapshotStatusOf,
  snapshotSummary,
  type WorkspaceSnapshotSummary,
} from './status.ts'
import { hasItsData, heldBy, mayWait } from './unfilled-claims.ts'

/** What to do about one WorkspaceSnapshot, as printable data. The garbage collector deletes its snapshots with it. */
export type WorkspaceSnapshotPlan = ObjectPlan & { readonly status: WorkspaceSnapshotStatus }

/**
 * ```
 * Pending ─▶ members written down ─▶ their snapshots created ─▶ InProgress ─▶ Succeeded, Failed
 * ```
 * The members are in the status before the first snapshot is created. So a process that dies in between creates the same ones under the same names, and a
 * machine that the workspace gets later is not taken at another time than the rest. A snapshot that was seen once is never created again.
 */
export function planWorkspaceSnapshot(world: WorkspaceSnapshotWorld, now: number): WorkspaceSnapshotPlan {
  const { snapshot } = world
  const { status: before, metadata } = snapshot
  if (metadata.deletionTimestamp !== undefined) return leaving(world, now)
  const plan = before.members === undefined ? beginning(world, now) : underWay(world, before.members, now)
  const next = withRestore(world, plan, now)
  const { restore } = next.status
  const isHeld = metadata.finalizers?.includes(FINALIZER) === true
  // One that nothing waits for must be gone at once when it is deleted, also where no operator runs.
  if (isHeld) return [before.restore, restore].every(hasItsData) ? { ...next, finalizer: 'lift' } : next
  if (restore === undefined || !mayWait(world, restore)) return next
  // Nothing is switched to a claim before it is sure that its data stays.
  return { ...next, finalizer: 'add', applyIf: [], touch: [] }
}

const FINALIZER = FINALIZERS.workspaceSnapshot

/** The garbage collector deletes the snapshots as soon as nothing holds their owner. What goes with its lab needs no data. */
function leaving(world: WorkspaceSnapshotWorld, now: number): WorkspaceSnapshotPlan {
  const { snapshot, workspace, namespaceTerminating } = world
  const { status: before, metadata } = snapshot
  const kept: WorkspaceSnapshotPlan = { ...NOTHING_TO_DO, status: before }
  if (metadata.finalizers?.includes(FINALIZER) !== true) return kept
  const released: WorkspaceSnapshotPlan = { ...kept, finalizer: 'release' }
  if (before.restore === undefined || workspace === undefined || namespaceTerminating) return released
  const ended = windUp(world, kept, now)
  const { restore = before.restore } = ended.status
  const why = whyHeld(world, restore, workspace.name)
  // What is taken back is written down first.
  if (why === undefined) return restore === before.restore ? ifAbsent(world, released, restore.unfilled ?? []) : ended
  const { phase = 'Succeeded', members } = before
  const message = `it is kept although somebody has deleted it, ${why}`
  const told = planOf(world, { phase, reason: 'DeletionBlocked', message }, members, now)
  return { ...ended, status: { ...ended.status, ...told.status }, events: [...told.events, ...ended.events] }
}

/** Returns what a point in time that is being deleted waits for, and what to do about it; undefined if it waits for nothing. */
function whyHeld(world: WorkspaceSnapshotWorld, restore: WorkspaceSnapshotRestore, lab: string): string | undefined {
  const waiting = heldBy(world, restore)
  if (waiting.length > 0)
    return `since restored claims get their data from it only when something first uses them, and have none yet: PersistentVolumeClaims ${firstFew(waiting, SHOWN_MAX)}; start Workspace ${lab}, and each machine of it once, and it is gone; if nobody needs that data, delete these claims`
  const requests = requestsOf(world, restore)
  if (requests.length === 0) return undefined
  return `until KubeVirt has ended its restore, which may have given a machine such claims: VirtualMachineRestores ${firstFew(requests, SHOWN_MAX)}; if that lasts, see what these say`
}

/** Claims that a message names. More are only counted. */
const SHOWN_MAX = 3

/** Nothing is created in this plan: the members have to be written down first. */
function beginning(world: WorkspaceSnapshotWorld, now: number): WorkspaceSnapshotPlan {
  const obstacle = obstacleIn(world) ?? whyNotBegun(world)
  const members = obstacle === undefined ? membersOfLab(world) : undefined
  const summary = obstacle ?? snapshotSummary(members ?? [])
  return planOf(world, summary, members, now)
}

function underWay(world: WorkspaceSnapshotWorld, stored: readonly WorkspaceSnapshotMember[], now: number) {
  const { members, requeue } = membersNow(world, now)
  const missing = members.filter((member) => isToBeCreated(member, world.found[member.snapshot ?? '']))
  const unserved = notServedOf(
    world,
    stored.filter(({ snapshot }) => snapshot !== undefined),
  )
  const obstacle = unserved ?? (missing.length === 0 ? invalid(world) : (obstacleIn(world) ?? withoutWorkspace(world)))
  // Of a point in time that is whole, a restore alone can be refused.
  const refusal = missing.length > 0 ? world.refusal : undefined
  const told = withRefusal(snapshotSummary(members), refusal, REFUSED)
  const plan = planOf(world, obstacle ?? told, members, now)
  const apply = obstacle === undefined ? missing.flatMap((member) => snapshotObject(world, member)) : []
  return { ...plan, apply, requeue }
}

const REFUSED = { phase: 'InProgress', reason: 'Refused' } as const

function planOf(
  { snapshot }: WorkspaceSnapshotWorld,
  summary: WorkspaceSnapshotSummary,
  members: readonly WorkspaceSnapshotMember[] | undefined,
  now: number,
): WorkspaceSnapshotPlan {
  const status = snapshotStatusOf(snapshot, summary, members, now)
  return { ...NOTHING_TO_DO, status, events: snapshotEventsBetween(snapshot.status, status) }
}

function snapshotObject(
  { snapshot, workspace, spec, lab }: WorkspaceSnapshotWorld,
  { kind, name, snapshot: called }: WorkspaceSnapshotMember,
): KubeObject[] {
  if (workspace === undefined || !spec.ok || called === undefined) return []
  const { name: of, uid = '' } = snapshot.metadata
  const { snapshotClass, failureDeadline } = spec.spec
  // The volume may have been restored since: what it has now is taken.
  const { claim } = lab.find((one) => one.kind === kind && one.name === name) ?? {}
  const member = { kind, name, claim }
  return [
    renderMemberSnapshot({ workspace, of: { name: of, uid }, member, name: called, snapshotClass, failureDeadline }),
  ]
}

function pending(reason: WorkspaceSnapshotSummary['reason'], message: string): WorkspaceSnapshotSummary {
  return { phase: 'Pending', reason, message }
}

function invalid({ spec, snapshot }: WorkspaceSnapshotWorld): WorkspaceSnapshotSummary | undefined {
  if (spec.ok) return undefined
  return { phase: 'Failed', reason: unusableReason(snapshot), message: problemsText(spec.problems) }
}

/** Returns why nothing can be created, or undefined. */
function obstacleIn(world: WorkspaceSnapshotWorld): WorkspaceSnapshotSummary | undefined {
  const { namespaceTerminating, snapshot } = world
  if (!namespaceTerminating) return invalid(world)
  const message = `namespace ${snapshot.metadata.namespace} is being deleted, and its snapshots with it: nothing can be created in it`
  return pending('NamespaceTerminating', message)
}

function withoutWorkspace({ workspace, snapshot }: WorkspaceSnapshotWorld): WorkspaceSnapshotSummary | undefined {
  if (workspace !== undefined) return undefined
  const { namespace = '' } = snapshot.metadata
  const message = `there is no Workspace ${namespace}, or it is being deleted: create the WorkspaceSnapshot in the namespace of a Workspace, which has its name`
  return pending('WorkspaceMissing', message)
}

/** Returns why no point in time is taken, or undefined. */
function whyNotBegun(world: WorkspaceSnapshotWorld): WorkspaceSnapshotSummary | undefined {
  const { lab, ahead, limit, workspace } = world
  const nobody = withoutWorkspace(world)
  if (nobody !== undefined) return nobody
  if (ahead >= limit) return pending('LimitReached', limitText(ahead, limit))
  const withDisk = lab.filter(({ hasDisk }) => hasDisk)
  if (withDisk.length > 0) return notServedOf(world, withDisk)
  const message = `Workspace ${workspace?.name} has no machine that is deployed, and no volume that is bound: the snapshot is taken when it has one`
  return pending('NothingToSnapshot', message)
}

function limitText(ahead: number, limit: number): string {
  if (limit === 0) return 'the policy key workspaceSnapshotLimit is 0: no snapshots of workspaces are taken'
  return (
    `the workspace has ${ahead} snapshots that are taken or come first, and the policy key workspaceSnapshotLimit allows ${limit}: ` +
    'delete one that is not needed, and this one is taken; none is deleted by itself'
  )
}

function notServedOf(
  { notServed }: WorkspaceSnapshotWorld,
  members: readonly Pick<MemberOfLab, 'kind'>[],
): WorkspaceSnapshotSummary | undefined {
  const missing = notServed.filter((kind) => members.some((member) => member.kind === kind))
  return missing.length === 0 ? undefined : pending('SnapshotsNotServed', notServedText(missing))
}
