import type { Violation } from './oracle/oracle.ts'
import { isGateKind, isOfGate, type Story } from './story.ts'
import type { StoryRun } from './story-run.ts'

/** What happened in one run, or in many. Counts have names, so that they can be added without knowing what they count. */
export interface Tally {
  /** These three by kind of schedules. */
  readonly schedules: Counts
  readonly admissions: Counts
  /** Milliseconds of processor time. */
  readonly busyMs: Counts
  readonly whole: Happenings
  readonly gate: Happenings
}

/** What happened in schedules of the whole operator, or of the gate alone. */
export interface Happenings {
  /** Commits, transfers. */
  readonly work: Counts
  /** Actions of people, systems and processes that were carried out, and faults of the network that occurred. */
  readonly events: Counts
  /** Milliseconds. */
  readonly virtualMs: number
}

export type Counts = Readonly<Record<string, number>>

export interface StoryResult {
  readonly story: Story
  readonly tally: Tally
  readonly violations: readonly Violation[]
}

const NOTHING: Happenings = { work: {}, events: {}, virtualMs: 0 }
export const NOTHING_YET: Tally = { schedules: {}, admissions: {}, busyMs: {}, whole: NOTHING, gate: NOTHING }

/** Without a result, the run was aborted: only its start is known. */
export function tallyOf(story: Story, ended?: { readonly result: StoryRun; readonly busyMs: number }): Tally {
  const { kind } = story
  const begun = { ...NOTHING_YET, schedules: { [kind]: 1 } }
  if (ended === undefined) return begun
  const { result, busyMs } = ended
  const { admissions, transfers, commits, operatorCommits } = result.counts
  const happenings: Happenings = {
    work: { downloads: transfers, commits, 'commits of the operator': operatorCommits },
    events: Object.fromEntries(result.events),
    virtualMs: result.elapsedMs,
  }
  return {
    ...begun,
    admissions: { [kind]: admissions },
    busyMs: { [kind]: busyMs },
    ...(isOfGate(story) ? { gate: happenings } : { whole: happenings }),
  }
}

export function added(a: Tally, b: Tally): Tally {
  return {
    schedules: sum(a.schedules, b.schedules),
    admissions: sum(a.admissions, b.admissions),
    busyMs: sum(a.busyMs, b.busyMs),
    whole: together(a.whole, b.whole),
    gate: together(a.gate, b.gate),
  }
}

/** Returns the admissions in schedules of the whole operator. */
export function wholeAdmissionsOf({ admissions }: Tally): number {
  return totalOf(Object.fromEntries(Object.entries(admissions).filter(([kind]) => !isGateKind(kind))))
}

/** Returns the kind of schedules of the whole operator with the most admissions, and its share of them; undefined if there were none. */
export function mostOfOneKind(tally: Tally): { readonly kind: string; readonly share: number } | undefined {
  const kinds = Object.entries(tally.admissions).filter(([kind]) => !isGateKind(kind))
  const [kind, most] = kinds.toSorted(([, one], [, other]) => other - one)[0] ?? ['', 0]
  return most === 0 ? undefined : { kind, share: most / wholeAdmissionsOf(tally) }
}

export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function together(a: Happenings, b: Happenings): Happenings {
  return { work: sum(a.work, b.work), events: sum(a.events, b.events), virtualMs: a.virtualMs + b.virtualMs }
}

function sum(a: Counts, b: Counts): Counts {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...names].map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]))
}
