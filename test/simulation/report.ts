import { writeFileSync } from 'node:fs'
import type { CampaignResult } from './campaign.ts'
import type { Violation } from './oracle/oracle.ts'
import { nameOf, type Story } from './story.ts'
import { type Counts, totalOf } from './tally.ts'

export interface CampaignReport extends CampaignResult {
  /** Rows of a table: commit, date, seed, machine. */
  readonly facts: readonly (readonly [string, string])[]
}

const INTRODUCTION = `# Simulation

Written by \`npm run simulate\`; do not edit. The operator and the simulators of CDI, storage and snapshots run as they are, in one process, on an in-memory
API server and a clock of their own. Random schedules say what people, systems, networks and processes do; after every commit the nine invariants of the
design are checked. An admission is a claim that was added to the slot ledger. \`test/simulation/story.ts\` says which kinds of schedules there are.`

/** How to see it again. */
export function replayOf(story: Story): string {
  return `npm run simulate -- --replay ${nameOf(story)}`
}

export function violationText({ invariant, message, atMs }: Violation): string {
  return `invariant ${invariant}, at ${Math.round(atMs)} ms: ${message}`
}

export function writeReport(file: string, { facts, tally, findings }: CampaignReport): void {
  const { schedules, admissions, work, events, virtualMs } = tally
  const kinds = Object.keys(schedules).map((kind) => [kind, String(schedules[kind]), String(admissions[kind] ?? 0)])
  const text = [
    INTRODUCTION,
    table([['', ''], ...facts]),
    '## Findings',
    findings.length === 0 ? 'None.' : findings.map(findingText).join('\n'),
    '## Schedules',
    table([
      ['kind', 'schedules', 'admissions'],
      ...kinds,
      ['all', String(totalOf(schedules)), String(totalOf(admissions))],
    ]),
    '## What happened',
    table([
      ['', 'count'],
      ['virtual time', `${(virtualMs / 3_600_000).toFixed(0)} hours`],
      ...rowsOf(work),
      ...rowsOf(events).toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    ]),
  ]
  writeFileSync(file, `${text.join('\n\n')}\n`)
}

function findingText({ story, violations }: CampaignReport['findings'][number]): string {
  const lines = violations.map((violation) => `  - ${violationText(violation).replaceAll('\n', '\n    ')}`)
  return [`- \`${replayOf(story)}\``, ...lines].join('\n')
}

function rowsOf(counts: Counts): string[][] {
  return Object.entries(counts).map(([what, count]) => [what, String(count)])
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
