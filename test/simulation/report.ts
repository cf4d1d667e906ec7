import { writeFileSync } from 'node:fs'
import type { CampaignResult } from './campaign.ts'
import type { Violation } from './oracle/oracle.ts'
import { isGateKind, nameOf, type Story } from './story.ts'
import type { Counts } from './tally.ts'

export interface CampaignReport extends CampaignResult {
  /** Rows of a table: commit, date, seed, machine. */
  readonly facts: readonly (readonly [string, string])[]
}

const INTRODUCTION = `# Simulation

Written by \`npm run simulate\`; do not edit. The operator and the simulators of CDI, storage and snapshots run as they are, in one process, on an in-memory
API server and a clock of their own. Random schedules say what people, systems, networks and processes do; after every commit the nine invariants of the
design are checked. An admission is a claim that was added to the slot ledger. \`test/simulation/story.ts\` says which kinds of schedules there are.

Schedules of the gate alone run the admission with its queue, ledger, claims and caches; what images, CDI and the rest of the operator do is imitated, and
invariants 1 to 3 are checked.`

const WHOLE = 'the whole operator'
const GATE = 'the gate alone'

/** How to see it again. */
export function replayOf(story: Story): string {
  return `npm run simulate -- --replay ${nameOf(story)}`
}

export function violationText({ invariant, message, atMs }: Violation): string {
  return `invariant ${invariant}, at ${Math.round(atMs)} ms: ${message}`
}

export function writeReport(file: string, { facts, tally, findings }: CampaignReport): void {
  const { schedules, admissions, work, events, virtualMs } = tally
  const kinds = Object.keys(schedules)
  const gates = kinds.filter(isGateKind)
  const wholes = kinds.filter((kind) => !isGateKind(kind))
  const sum = (counts: Counts, of: readonly string[]) => of.reduce((total, kind) => total + (counts[kind] ?? 0), 0)
  const row = (name: string, what: string, of: readonly string[]) => {
    return [name, what, String(sum(schedules, of)), String(sum(admissions, of))]
  }
  const text = [
    INTRODUCTION,
    table([['', ''], ...facts]),
    '## Findings',
    findings.length === 0 ? 'None.' : findings.map(findingText).join('\n'),
    '## Schedules',
    table([
      ['kind', 'what runs', 'schedules', 'admissions'],
      ...wholes.map((kind) => row(kind, WHOLE, [kind])),
      row('together', WHOLE, wholes),
      ...gates.map((kind) => row(kind, GATE, [kind])),
      row('together', GATE, gates),
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
