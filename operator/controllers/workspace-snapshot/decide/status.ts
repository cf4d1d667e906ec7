import {
  WORKSPACE_SNAPSHOT_CONDITION_RULES,
  type WorkspaceSnapshotMember,
  type WorkspaceSnapshotPhase,
  type WorkspaceSnapshotReason,
  type WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { listed, shareIn } from '../../../runtime/members.ts'
import { type StatusThrottle, throttleBetween } from '../../../runtime/requeue.ts'
import { type Summary, statusToTheEnd } from '../../../runtime/summary.ts'
import type { WorkspaceSnapshotView } from '../world.ts'
import { SNAPSHOT_KINDS } from './members.ts'

export type WorkspaceSnapshotSummary = Summary<WorkspaceSnapshotPhase, WorkspaceSnapshotReason>

/** What is worst is told first. */
const CAUSES = ['SnapshotLost', 'NameConflict', 'MemberFailed'] as const

const LEFT_OUT_TEXT = { Machine: 'machines that were not deployed', Volume: 'volumes that were not bound' } as const

/** @param members not empty */
export function snapshotSummary(members: readonly WorkspaceSnapshotMember[]): WorkspaceSnapshotSummary {
  const taken = takenOf(members)
  const failed = taken.filter(({ phase }) => phase === 'Failed')
  const pending = taken.filter(({ phase }) => phase === 'Pending' || phase === 'InProgress')
  const cause = CAUSES.find((one) => failed.some(({ reason }) => reason === one)) ?? 'MemberFailed'
  const worst = failed.find(({ reason }) => reason === cause)
  const waiting = pending.find(({ message }) => message !== undefined)
  const texts = [
    ...[worst, waiting].flatMap((one) => (one === undefined ? [] : [`${titleOf(one)}: ${one.message}`])),
    `${shareIn('Succeeded', titled(taken))} snapshots are ready`,
    ...(['Failed', 'InProgress', 'Pending'] as const).map((phase) => listed(phase, titled(taken))),
    ...leftOutIn(members),
  ]
  const message = texts.filter((text) => text !== '').join('; ')
  if (pending.length > 0) return { phase: 'InProgress', reason: 'Taking', message }
  if (worst !== undefined) return { phase: 'Failed', reason: cause, message }
  return { phase: 'Succeeded', reason: 'Taken', message }
}

function takenOf(members: readonly WorkspaceSnapshotMember[]): WorkspaceSnapshotMember[] {
  return members.filter(({ phase }) => phase !== 'LeftOut')
}

function titleOf({ kind, name }: WorkspaceSnapshotMember): string {
  return `${kind.toLowerCase()} ${name}`
}

function titled(members: readonly WorkspaceSnapshotMember[]) {
  return members.map((member) => ({ ...member, title: titleOf(member) }))
}

function leftOutIn(members: readonly WorkspaceSnapshotMember[]): string[] {
  return (['Machine', 'Volume'] as const).flatMap((kind) => {
    const count = members.filter((one) => one.kind === kind && one.phase === 'LeftOut').length
    return count === 0 ? [] : [`not in it: ${count} ${LEFT_OUT_TEXT[kind]}`]
  })
}

/** Returns the whole status. Only the transition times of the previous status matter. */
export function snapshotStatusOf(
  object: WorkspaceSnapshotView,
  summary: WorkspaceSnapshotSummary,
  members: readonly WorkspaceSnapshotMember[] | undefined,
  now: number,
): WorkspaceSnapshotStatus {
  return {
    ...statusToTheEnd(WORKSPACE_SNAPSHOT_CONDITION_RULES, object, summary, now),
    ...(members !== undefined && figuresOf(members)),
  }
}

function figuresOf(members: readonly WorkspaceSnapshotMember[]): Partial<WorkspaceSnapshotStatus> {
  const taken = takenOf(members)
  const count = (...phases: readonly string[]) => members.filter(({ phase }) => phases.includes(phase)).length
  return {
    ready: shareIn('Succeeded', titled(taken)),
    counts: {
      total: taken.length,
      succeeded: count('Succeeded'),
      inProgress: count('Pending', 'InProgress'),
      failed: count('Failed'),
      leftOut: count('LeftOut'),
    },
    members: [...members],
  }
}

/** Returns Events for the start, the end and problems, for people who read `kubectl describe`. */
export function snapshotEventsBetween(before: WorkspaceSnapshotStatus, after: WorkspaceSnapshotStatus): EventNote[] {
  const { reason = '', message = '' } = after
  if (reason === before.reason) return []
  return [{ type: reason === 'Taking' || reason === 'Taken' ? 'Normal' : 'Warning', reason, message }]
}

/** Many snapshots may become ready together, so counts are written at a steady rate. */
const COUNTS_EVERY_MS = 2_000

/** Decides when a status is written: at once if the summary changed, or members or their snapshots are new, otherwise every 2 s. */
export function snapshotThrottleOf(
  before: WorkspaceSnapshotStatus,
  after: WorkspaceSnapshotStatus,
  sinceWriteMs?: number,
): StatusThrottle {
  const aspects = [[summaryIn, 0] as const]
  return throttleBetween(
    [before, after],
    aspects,
    COUNTS_EVERY_MS,
    sinceWriteMs,
    'which snapshots are ready is written',
  )
}

function summaryIn(status: WorkspaceSnapshotStatus): unknown {
  const { phase, reason, observedGeneration, members, conditions = [], restore, restoreRequest } = status
  // What is not written down as seen would be created again.
  const seen = members?.map((one) => one.phase !== 'Pending')
  const phases = [restore?.members, restore?.volumes].map((list) => list?.map((one) => one.phase))
  const restored = [restoreRequest, restore?.phase, phases, restore?.unfilled]
  return [phase, reason, observedGeneration, seen, restored, conditions.map((one) => [one.type, one.status])]
}

/** Names the kinds of snapshots that are missing, and what installs them. */
export function notServedText(kinds: readonly WorkspaceSnapshotMember['kind'][]): string {
  const texts = kinds.map((kind) =>
    kind === 'Machine'
      ? `the cluster does not serve ${SNAPSHOT_KINDS.Machine}s: install KubeVirt with its feature gate Snapshot`
      : `the cluster does not serve ${SNAPSHOT_KINDS.Volume}s: install the snapshot controller and its CRDs`,
  )
  return texts.join('; ')
}
