import {
  type ExpiryAction,
  type ExpirySource,
  formatDuration,
  memoized,
  type ParsedWorkspaceSpec,
  parseDuration,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { fromTime, toShortTime, toTime } from '../../../base/time.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { type Removal, removalOf } from '../../../runtime/plan.ts'
import { type Requeue, SERVER_TIME_REQUEUE } from '../../../runtime/requeue.ts'
import type { WorkspaceWorld } from '../world.ts'

/*
 * The end of a lab. Everything that follows from it is read back from the status, so that a crash, a new leader or a clock that jumps changes nothing:
 *
 *   resolved ──▶ announced ──▶ noticed ──▶ ended (Halt), or deleted (Delete)
 *
 * - resolved: `expiresAt` is frozen. It changes only with the value that it was resolved from.
 * - announced: the warning is recorded, in the status and as an Event. It says what happens, and when.
 * - noticed: the warning has been seen in the stored status, and `noticeTime` is a time of the API server after that. The time is not written together
 *   with the warning: a process that stands still between a plan and its write would store a time at which nobody could read the warning.
 * - The end comes when it is reached, and the warning is as old as `expiryNotice`. An end that was announced late is put off for that long.
 */

type ExpiryWorld = Pick<WorkspaceWorld, 'workspace' | 'spec' | 'policy' | 'expiry'>
type ExpiryRecord = Pick<WorkspaceStatus, 'expiresAt' | 'expiry'>

/** What gives a workspace its end. */
interface Word {
  readonly source: ExpirySource
  readonly value: string
  readonly action: ExpiryAction
  /** It is the longest time that the policy lets anybody have. */
  readonly isMost?: boolean
}

/** An end that has been resolved. */
interface End {
  readonly atMs: number
  readonly expiry: NonNullable<WorkspaceStatus['expiry']>
}

/** Last second that a time in a status can have: years of more digits are no RFC 3339. */
const LATEST_MS = Date.parse('9999-12-31T23:59:59Z')
const MINUTE_MS = 60_000
/** Until then an answer of the API server has shown its time, or others have been deleted. */
const AGAIN_MS = 10_000
const SOONEST_MS = 1_000

const switchedOff = memoized((parsed: ParsedWorkspaceSpec): ParsedWorkspaceSpec => {
  return parsed.ok ? { ok: true, spec: { ...parsed.spec, powerState: 'Halted' } } : parsed
})

/** Returns the spec as it is to be carried out: after its end, a workspace is off as if its `powerState` said so. */
export function asEnded(spec: ParsedWorkspaceSpec, { expiry }: WorkspaceStatus): ParsedWorkspaceSpec {
  return expiry?.ended === true ? switchedOff(spec) : spec
}

/** Returns what the status says of the end from now on. While the spec cannot be used, or the time is not known, nothing changes. */
export function expiryRecordOf(world: ExpiryWorld): ExpiryRecord {
  const { workspace, spec, expiry: facts } = world
  const { serverNow: now } = facts
  if (!spec.ok || now === undefined || isTerminating(workspace)) return recorded(workspace.status)
  const word = wordOf(world)
  const known = knownEnd(workspace.status)
  // A lab that the policy has switched off stays off without the policy: it starts when somebody says so.
  const isKept = word === undefined && known?.expiry.source === 'policy' && known.expiry.ended === true
  if (isKept) return recorded(workspace.status)
  if (word === undefined) return {}
  const end = isOf(known, word) ? known : resolved(world, word, known, now)
  if (end === undefined) return {}
  return recordOf(advanced(end, actionOf(end, word), { now, noticeMs: facts.noticeMs }))
}

/** Returns what the spec, or else the policy, says of the end. A policy never deletes. */
function wordOf({ spec, policy }: ExpiryWorld): Word | undefined {
  if (!spec.ok) return undefined
  const { expiresAt, lifetime, onExpiry: action = 'Halt' } = spec.spec
  if (expiresAt !== undefined) return { source: 'expiresAt', value: expiresAt, action }
  if (lifetime !== undefined) return { source: 'lifetime', value: lifetime, action }
  const { workspaceLifetimeMs: usual = Number.POSITIVE_INFINITY } = policy
  const { workspaceLifetimeMaxMs: most = Number.POSITIVE_INFINITY } = policy
  const ms = Math.min(usual, most)
  if (ms === Number.POSITIVE_INFINITY) return undefined
  return { source: 'policy', value: formatDuration(ms), action: 'Halt', isMost: most < usual }
}

/** Reports whether an end was resolved from this word. That of the policy stays when the policy changes. */
function isOf(known: End | undefined, { source, value }: Word): known is End {
  return known !== undefined && known.expiry.source === source && (source === 'policy' || known.expiry.value === value)
}

function resolved(
  { workspace: { metadata }, policy }: ExpiryWorld,
  { source, value, isMost }: Word,
  known: End | undefined,
  now: number,
): End | undefined {
  // Only what has been there from the beginning counts from then.
  const created = metadata.generation === 1 && source === 'lifetime' ? fromTime(metadata.creationTimestamp) : undefined
  const wanted = source === 'expiresAt' ? fromTime(value) : (created ?? now) + (parseDuration(value) ?? Number.NaN)
  if (wanted === undefined || Number.isNaN(wanted)) return undefined
  const latest = (created ?? now) + (policy.workspaceLifetimeMaxMs ?? Number.POSITIVE_INFINITY)
  const isLimited = wanted > latest || isMost === true
  const atMs = Math.min(wanted, latest)
  // An end that is over as well extends nothing.
  const isStillOver = known?.expiry.ended === true && atMs <= now
  return {
    atMs: Math.min(LATEST_MS, Math.max(0, atMs)),
    expiry: { source, value, ...(isLimited && { limited: true }), ...(isStillOver && { ended: true }) },
  }
}

/** When something is decided. */
interface Moment {
  readonly now: number
  readonly noticeMs: number
}

/** An end that comes earlier than somebody said deletes nothing. */
function actionOf({ expiry }: End, { action }: Word): ExpiryAction {
  return expiry.limited === true ? 'Halt' : action
}

/** Takes an end one step on. What it has been announced as is in the stored status, which everybody can read. */
function advanced(end: End, action: ExpiryAction, moment: Moment): End {
  const { announced, noticeTime, ended, ...word } = end.expiry
  const isOver = ended === true && { ended }
  if (ended === true && action === 'Halt') return { ...end, expiry: { ...word, ended } }
  if (announced === undefined && moment.now < end.atMs - moment.noticeMs)
    return { ...end, expiry: { ...word, ...isOver } }
  if (announced !== action) return { atMs: putOff(end.atMs, moment), expiry: { ...word, ...isOver, announced: action } }
  const noticedMs = fromTime(noticeTime)
  if (noticedMs !== undefined) return noticed(end, action, noticedMs, moment)
  const { now, noticeMs } = moment
  const atMs = Math.max(end.atMs, now + noticeMs)
  return { atMs, expiry: { ...word, ...isOver, announced, noticeTime: toTime(now) } }
}

/** Returns when an end comes that is announced now: a whole minute where it has to be later, which stays true when the time of the notice is known. */
function putOff(atMs: number, { now, noticeMs }: Moment): number {
  if (now + noticeMs <= atMs) return atMs
  return Math.min(LATEST_MS, Math.ceil((now + noticeMs) / MINUTE_MS) * MINUTE_MS)
}

/** Returns an end whose warning has been there since `noticedMs`. */
function noticed({ atMs, expiry }: End, action: ExpiryAction, noticedMs: number, { now, noticeMs }: Moment): End {
  const dueMs = Math.max(atMs, noticedMs + noticeMs)
  return { atMs: dueMs, expiry: { ...expiry, ...(action === 'Halt' && now >= dueMs && { ended: true }) } }
}

/** Whether the workspace is to be deleted now, as its stored status says. The answer holds for that version of the workspace only. */
export function isDeletionDue(world: ExpiryWorld): boolean {
  const { workspace, expiry: facts, spec } = world
  const { serverNow: now, noticeMs } = facts
  const { expiry, expiresAt } = workspace.status
  const [atMs, noticedMs] = [fromTime(expiresAt), fromTime(expiry?.noticeTime)]
  const word = wordOf(world)
  if (isTerminating(workspace) || !spec.ok || word === undefined || word.source === 'policy') return false
  const known = knownEnd(workspace.status)
  if (!isOf(known, word) || actionOf(known, word) !== 'Delete' || expiry?.announced !== 'Delete') return false
  if (now === undefined || atMs === undefined || noticedMs === undefined) return false
  return now >= atMs && now >= noticedMs + noticeMs
}

/** Returns the removal of the workspace itself, in the version that has been judged, or nothing if it is not due, or others have their turn. */
export function removalAtEnd(world: ExpiryWorld): Removal[] {
  if (!world.expiry.isTurn || !isDeletionDue(world)) return []
  const { source, value } = world.workspace.status.expiry ?? {}
  const message = `deleted: its end was ${world.workspace.status.expiresAt} (spec.${source}: ${value}), and spec.onExpiry is Delete`
  const event = { type: 'Normal', reason: 'Expired', message } as const
  return removalOf(world.workspace).map((one) => ({ ...one, event }))
}

/** Returns when the end comes one step closer. @param record what the status says from now on */
export function expiryRequeue(world: ExpiryWorld, record: ExpiryRecord): Requeue | undefined {
  const { serverNow: now, noticeMs } = world.expiry
  if (!world.spec.ok || isTerminating(world.workspace)) return undefined
  if (now === undefined) return wordOf(world) && SERVER_TIME_REQUEUE
  const { expiry } = record
  const atMs = fromTime(record.expiresAt)
  const isOff = expiry?.ended === true && expiry.announced === undefined
  if (atMs === undefined || expiry === undefined || isOff) return undefined
  if (expiry.ended === true && expiry.announced === 'Halt') return undefined
  const isLeft = now >= atMs && expiry.noticeTime !== undefined
  if (isLeft) return { afterMs: AGAIN_MS, because: 'others whose end came earlier are deleted by then' }
  const leftMs = (expiry.announced === undefined ? atMs - noticeMs : atMs) - now
  const because =
    expiry.announced === undefined ? 'the end of the workspace is announced then' : 'the workspace ends then'
  return { afterMs: Math.max(SOONEST_MS, leftMs), because }
}

/** Returns the Events about the end: the warning, also when its time is known in case nobody wrote the first one, and that it is over. */
export function expiryEvents(before: WorkspaceStatus, after: WorkspaceStatus): EventNote[] {
  const [was, is] = [before.expiry, after.expiry]
  if (is === undefined) return []
  const isNew = was?.value !== is.value || was.source !== is.source
  const isNewsOfWarning = isNew || was.announced !== is.announced || was.noticeTime !== is.noticeTime
  if (is.ended === true && (isNew || was.ended !== true))
    return [{ type: 'Normal', reason: 'Expired', message: endedText(after) }]
  const isWarned = is.announced !== undefined && isNewsOfWarning
  return isWarned ? [{ type: 'Warning', reason: 'ExpiresSoon', message: announcementIn(after) ?? '' }] : []
}

/** Returns what a message says of an end that has been announced. */
export function announcementIn({ expiresAt, expiry }: WorkspaceStatus): string | undefined {
  if (expiry?.announced === undefined || (expiry.ended === true && expiry.announced === 'Halt')) return undefined
  const what = expiry.announced === 'Delete' ? 'is deleted, with its disks and volumes,' : 'is switched off'
  return `it ${what} at ${expiresAt} (${sourceText(expiry)}): to extend it, set spec.expiresAt to a later time`
}

/** Returns why a workspace is off that has ended, and what switches it on. */
export function endedText({ expiresAt, expiry }: WorkspaceStatus): string {
  const from = expiry === undefined ? '' : ` (${sourceText(expiry)})`
  return `switched off: it ended at ${expiresAt}${from}; to have it on again, set spec.expiresAt to a later time, and spec.powerState to Running if that is Halted`
}

function sourceText({ source, value, limited }: End['expiry']): string {
  if (source === 'policy')
    return `the policy key ${limited === true ? 'workspaceLifetimeMax' : 'workspaceLifetime'}: ${value}`
  return `spec.${source}: ${value}${limited === true ? ', brought forward by the policy key workspaceLifetimeMax' : ''}`
}

/** Returns what to warn of an end that comes earlier than the spec says. */
export function warningOnLimit(world: ExpiryWorld): string | undefined {
  const { expiresAt, expiry } = expiryRecordOf(world)
  if (expiry?.limited !== true || expiry.source === 'policy') return undefined
  const action = world.spec.ok && world.spec.spec.onExpiry === 'Delete' ? ', and not deleted' : ''
  return `spec.${expiry.source}: ${expiry.value} is more than the policy key workspaceLifetimeMax gives: the workspace is switched off at ${expiresAt}${action}; a change of spec.${expiry.source} extends it by that time at most`
}

function knownEnd(status: WorkspaceStatus): End | undefined {
  const atMs = fromTime(status.expiresAt)
  return atMs === undefined || status.expiry === undefined ? undefined : { atMs, expiry: status.expiry }
}

function recordOf({ atMs, expiry }: End): ExpiryRecord {
  return { expiresAt: toShortTime(atMs), expiry }
}

function recorded({ expiresAt, expiry }: WorkspaceStatus): ExpiryRecord {
  return { ...(expiresAt !== undefined && { expiresAt }), ...(expiry !== undefined && { expiry }) }
}
