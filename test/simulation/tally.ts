import type { Violation } from './oracle/oracle.ts'
import type { Story } from './story.ts'
import type { StoryRun } from './story-run.ts'

/** What happened in one run, or in many. Counts by name, so that sums are made without knowing what is counted. */
export interface Tally {
  readonly schedules: Counts
  readonly admissions: Counts
  /** What happened inside: commits, transfers. */
  readonly work: Counts
  /** Actions of people, systems and processes that were carried out, and faults of the network that struck. */
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

export const NOTHING_YET: Tally = { schedules: {}, admissions: {}, work: {}, events: {}, virtualMs: 0 }

/** Without a result the run was broken off: only that it was begun is known. */
export function tallyOf({ kind }: Story, result?: StoryRun): Tally {
  if (result === undefined) return { ...NOTHING_YET, schedules: { [kind]: 1 } }
  const { admissions, transfers, commits, operatorCommits } = result.counts
  return {
    schedules: { [kind]: 1 },
    admissions: { [kind]: admissions },
    work: { downloads: transfers, commits, 'commits of the operator': operatorCommits },
    events: Object.fromEntries(result.events),
    virtualMs: result.elapsedMs,
  }
}

export function added(a: Tally, b: Tally): Tally {
  return {
    schedules: sum(a.schedules, b.schedules),
    admissions: sum(a.admissions, b.admissions),
    work: sum(a.work, b.work),
    events: sum(a.events, b.events),
    virtualMs: a.virtualMs + b.virtualMs,
  }
}

export function totalOf(counts: Counts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function sum(a: Counts, b: Counts): Counts {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...names].map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]))
}
