import {
  memberSnapshotName,
  parseDuration,
  SNAPSHOT_DEADLINE,
  SNAPSHOT_MESSAGE_MAX,
  type WorkspaceSnapshotMember,
} from '@open-terrain/constructs/operator'
import { cutMessage } from '../../../runtime/conditions.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import type { FoundSnapshot, MemberOfLab, WorkspaceSnapshotWorld } from '../world.ts'

/** The kinds of objects that snapshots of members are. */
export const SNAPSHOT_KINDS = { Machine: 'VirtualMachineSnapshot', Volume: 'VolumeSnapshot' } as const

export interface MembersNow {
  readonly members: readonly WorkspaceSnapshotMember[]
  /** When a snapshot has failed by then. */
  readonly requeue: Requeue | undefined
}

/** Returns what a point in time is of: all that the workspace has now. Nothing is added later, since it would be of another time. */
export function membersOfLab({ lab, snapshot }: Pick<WorkspaceSnapshotWorld, 'lab' | 'snapshot'>) {
  const { name, uid = '' } = snapshot.metadata
  return lab.map((member): WorkspaceSnapshotMember => {
    const { kind, name: of, hasDisk } = member
    if (!hasDisk) return { kind, name: of, phase: 'LeftOut', reason: LEFT_OUT[kind], ready: false }
    const snapshotName = memberSnapshotName({ name, uid }, member)
    return { kind, name: of, snapshot: snapshotName, phase: 'Pending', reason: 'NotCreated', ready: false }
  })
}

const LEFT_OUT = { Machine: 'NotDeployed', Volume: 'NotBound' } as const satisfies Record<MemberOfLab['kind'], string>

/** Returns the members as they are now. What the cluster does not serve stays as it was seen last. */
export function membersNow(
  { snapshot, spec, found, notServed }: Pick<WorkspaceSnapshotWorld, 'snapshot' | 'spec' | 'found' | 'notServed'>,
  now: number,
): MembersNow {
  const deadline = spec.ok ? (spec.spec.failureDeadline ?? SNAPSHOT_DEADLINE) : SNAPSHOT_DEADLINE
  const deadlineMs = parseDuration(deadline) ?? 0
  let requeue: Requeue | undefined
  const members = (snapshot.status.members ?? []).map((member): WorkspaceSnapshotMember => {
    const { kind, name, snapshot: of } = member
    if (of === undefined || notServed.includes(kind)) return member
    const one = found[of]
    const leftMs = leftOf(member, one, deadlineMs, now)
    if (leftMs !== undefined && leftMs > 0)
      requeue = sooner(requeue, { afterMs: leftMs, because: 'a snapshot has failed if it is not ready by then' })
    const { message = '', ...state } = stateOf(member, of, one, leftMs)
    const cut = cutMessage(message).slice(0, SNAPSHOT_MESSAGE_MAX).toWellFormed()
    return { kind, name, snapshot: of, ...state, ...(cut !== '' && { message: cut }) }
  })
  return { members, requeue }
}

/** Reports whether the snapshot of a member is to be created. One that was seen is never created again. */
export function isToBeCreated({ snapshot, phase, reason }: WorkspaceSnapshotMember, found: FoundSnapshot | undefined) {
  return snapshot !== undefined && found === undefined && !isSeen({ phase, reason })
}

function isSeen({ phase, reason }: Pick<WorkspaceSnapshotMember, 'phase' | 'reason'>): boolean {
  return phase !== 'Pending' && reason !== 'NameConflict'
}

/** KubeVirt ends the snapshots of machines itself. Nobody ends those of volumes. Undefined: without an end. */
function leftOf({ kind }: WorkspaceSnapshotMember, found: FoundSnapshot | undefined, deadlineMs: number, now: number) {
  if (kind === 'Machine' || found?.createdMs === undefined || found.isReady || deadlineMs === 0) return undefined
  return found.createdMs + deadlineMs - now
}

type State = Omit<WorkspaceSnapshotMember, 'kind' | 'name' | 'snapshot'>

function stateOf(
  before: WorkspaceSnapshotMember,
  name: string,
  found: FoundSnapshot | undefined,
  leftMs: number | undefined,
): State {
  const title = `${SNAPSHOT_KINDS[before.kind]} ${name}`
  if (found === undefined && !isSeen(before)) return { phase: 'Pending', reason: 'NotCreated', ready: false }
  if (found === undefined) return failed('SnapshotLost', `${title} is gone: it is not taken again`)
  if (!found.isOurs && !isSeen(before))
    return failed('NameConflict', `${title} exists and belongs to somebody else: the operator does not touch it`)
  if (!found.isOurs) return failed('SnapshotLost', `${title} is gone, and another one has its name`)
  if (found.isTerminating) return failed('SnapshotLost', `${title} is being deleted: it is not taken again`)
  return withWords(stateOfOurs(found, leftMs), found)
}

function stateOfOurs(found: FoundSnapshot, leftMs: number | undefined): State {
  const { isReady, hasFailed, text } = found
  if (isReady) return { phase: 'Succeeded', reason: 'Taken', ready: true, message: text }
  if (hasFailed) return failed('MemberFailed', text === '' ? 'KubeVirt says that it has failed' : text)
  if (leftMs === undefined || leftMs > 0) return { phase: 'InProgress', reason: 'Taking', ready: false, message: text }
  const late = 'not ready by spec.failureDeadline'
  return failed('MemberFailed', text === '' ? late : `${late}: ${text}`)
}

function failed(reason: string, message: string): State {
  return { phase: 'Failed', reason, ready: false, message }
}

function withWords(state: State, { consistency, time }: FoundSnapshot): State {
  return { ...state, ...(consistency !== undefined && { consistency }), ...(time !== undefined && { time }) }
}
