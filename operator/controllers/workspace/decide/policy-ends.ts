import type { ParsedWorkspaceSpec, Policy } from '@open-terrain/constructs/operator'
import { compareTexts, firstFew } from '../../../base/messages.ts'
import { fromTime, toShortTime } from '../../../base/time.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import type { WorkspaceView } from '../world.ts'
import { expiryRecordOf } from './expiry.ts'

/** What decides about the end of one lab, without the policy. */
interface Lab {
  readonly workspace: WorkspaceView
  readonly spec: ParsedWorkspaceSpec
}

/** A lab that the policy switches off. */
export interface DueLab {
  readonly name: string
  /** When, in milliseconds since the epoch. */
  readonly atMs: number
}

const NAMES_SHOWN = 20

/** Returns which of these labs a policy switches off because they say nothing of an end themselves, the first one first. What it has switched off is not among them. */
export function dueLabs(labs: readonly Lab[], policy: Policy, now: number): readonly DueLab[] {
  const due = labs.flatMap(({ workspace, spec }) => {
    const expiry = { serverNow: now, noticeMs: policy.expiryNoticeMs, isTurn: false }
    const record = expiryRecordOf({ workspace, spec, policy, expiry })
    const atMs = fromTime(record.expiresAt)
    const isDue = record.expiry?.source === 'policy' && record.expiry.ended !== true && atMs !== undefined
    return isDue ? [{ name: workspace.metadata.name, atMs }] : []
  })
  return due.toSorted((one, other) => one.atMs - other.atMs || compareTexts(one.name, other.name))
}

/** Returns what to tell of a change of the policy that gives labs an end which had none. */
export function noteOnEnds(labs: readonly Lab[], before: Policy, after: Policy, now: number): EventNote | undefined {
  const isSame = before.workspaceLifetimeMs === after.workspaceLifetimeMs
  if (isSame && before.workspaceLifetimeMaxMs === after.workspaceLifetimeMaxMs) return undefined
  const known = new Set(dueLabs(labs, before, now).map(({ name }) => name))
  const due = dueLabs(labs, after, now).filter(({ name }) => !known.has(name))
  const [first] = due
  if (first === undefined) return undefined
  const names = firstFew(
    due.map(({ name }) => name),
    NAMES_SHOWN,
  )
  const message = `this change gives an end to the workspaces that say nothing of one, which are switched off then, the first ones at ${toShortTime(first.atMs)}: ${names}`
  return { type: 'Warning', reason: 'WorkspacesDue', message }
}
