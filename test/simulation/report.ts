import { writeFileSync } from 'node:fs'
import { table } from '../harness/markdown-table.ts'
import { type CampaignResult, onesidednessOf } from './campaign.ts'
import { violationText } from './oracle/oracle.ts'
import { type HowToRun, isGateKind, nameOf, type Story, WHOLE_KINDS, type WholeKind } from './story.ts'
import { type Counts, type Happenings, type Tally, totalOf } from './tally.ts'

export interface CampaignReport extends CampaignResult {
  /** Rows of a table: commit, date, seed, machine. */
  readonly facts: readonly (readonly [string, string])[]
}

const INTRODUCTION = `# Simulation

Written by \`npm run simulate\`; do not edit. An in-memory API server and a clock of their own, in one process; random schedules say what people, systems,
networks and processes do. An admission is a claim that was added to the slot ledger. \`test/simulation/story.ts\` says which kinds of schedules there are.`

/** Each check by its letter in the table of schedules. */
const CHECKS = `## What is checked

Numbers are those of the design's invariants. There are two kinds of runs:

- **the whole operator**: the operator and the simulators of CDI, storage and snapshots as they are.
- **the gate alone**: the admission with its queue, ledger, claims and caches. What images, CDI and the rest of the operator do is imitated.

Which checks a schedule has, the table below says:

- **a**: after every commit: 1 (limit), 2 (slots), 3 (order), 4 (cost, also whenever a download begins), 5 (what a clone reads, and what refers to an image), 6 (what is foreign), 9 (secrets,
  also in every log entry). After every write, of 7: it changes something, and a status says something new. With DataSyncs, of 6: an image is written as its DataSyncs want it, and not while they
  disagree; of 7: figures, Settled and Ready are those of the images. With virtual machines, of 4: kicks; of 5: what a disk is cloned from, and a disk that has booted, lasts; of 7: the order of
  deletion, and MAC addresses. With workspaces, of 6: bridges and names of networks; of 7: figures, Settled and Ready are those of what exists, the order in which machines come and all of it goes, the
  wait between tries of what is refused, and roles of machines are played at most once for a disk or a start, as long as nobody asks.
- **b**: at the end, of 7: all images, DataSyncs, virtual machines and workspaces have come to rest where their specs let them, a spec that is not valid included (8), and where there are DataSyncs, virtual machines or workspaces nothing is left after people have deleted them and the images. Then, of 8: a bad policy value changes nothing but what is
  said about it. Of 9: the metrics.
- **c**: after that end, of 7: nothing but the Lease is written for three minutes, though people write a label to each object.
- **d**: a second run without crashes, freezes, bad links and lost events ends in the same state: phases, artifacts and what serves them, machines and their children, slots.
- **e**: with images alone, without acts of people or scripted failures: as d, all children included; for each image as many creates, changes and deletes of DataVolume, VolumeSnapshot and
  DataSource, as many finalizer writes, and no more status writes than without disturbances but for those that the disturbances account for. Progress and queue positions aside.
- **g**: after every commit and every request: 1, 2 and 3. At the end: everybody who wanted a download has had it.`

const LETTERS: Readonly<Record<HowToRun, string>> = {
  inFull: 'a b c',
  briefly: 'a b',
  comparingEnds: 'a b d',
  comparingWrites: 'a b c e',
}

function lettersOf(kind: string): string {
  return LETTERS[WHOLE_KINDS[kind as WholeKind].run]
}

/** Returns the command that replays the story. */
export function replayOf(story: Story): string {
  return `npm run simulate -- --replay ${nameOf(story)}`
}

export function writeReport(file: string, { facts, tally, findings }: CampaignReport): void {
  const text = [
    INTRODUCTION,
    table(['', ''], facts),
    '## Findings',
    findings.length === 0 ? 'None.' : findings.map(findingText).join('\n'),
    ...[onesidednessOf(tally) ?? []].flat(),
    CHECKS,
    '## Schedules',
    schedulesTable(tally),
    '## What happened',
    happeningsTable(tally),
  ]
  writeFileSync(file, `${text.join('\n\n')}\n`)
}

function schedulesTable(tally: Tally): string {
  const { schedules, admissions, busyMs } = tally
  const kinds = Object.keys(schedules)
  const wholes = kinds.filter((kind) => !isGateKind(kind))
  const gates = kinds.filter(isGateKind)
  const share = (counts: Counts, of: readonly string[]) =>
    `${((100 * sumOf(counts, of)) / totalOf(counts)).toFixed(1)} %`
  const row = (name: string, checks: string, of: readonly string[]) => {
    const [runs, admitted] = [sumOf(schedules, of), sumOf(admissions, of)]
    const isWhole = of.every((kind) => wholes.includes(kind))
    const ofWhole = isWhole ? `${((100 * admitted) / sumOf(admissions, wholes)).toFixed(1)} %` : ''
    return [name, checks, String(runs), String(admitted), share(admissions, of), ofWhole, share(busyMs, of)]
  }
  const shares = ['of all admissions', 'of those of the whole operator', 'of the processor time']
  const rows = [
    ...wholes.map((kind) => row(kind, lettersOf(kind), [kind])),
    row('**the whole operator**', '', wholes),
    ...gates.map((kind) => row(kind, 'g', [kind])),
    row('**the gate alone**', '', gates),
  ]
  return table(['kind', 'checks', 'schedules', 'admissions', ...shares], rows)
}

function happeningsTable({ whole, gate }: Tally): string {
  const counts = ({ work, events, virtualMs }: Happenings): Counts => ({
    'hours of virtual time': Math.round(virtualMs / 3_600_000),
    ...work,
    ...events,
  })
  const [inWhole, inGate] = [counts(whole), counts(gate)]
  const events = Object.keys({ ...whole.events, ...gate.events }).toSorted()
  const names = new Set([...Object.keys({ ...inWhole, ...inGate }).filter((name) => !events.includes(name)), ...events])
  const rows = [...names].map((name) => [name, String(inWhole[name] ?? 0), String(inGate[name] ?? 0)])
  return table(['', 'the whole operator', 'the gate alone'], rows)
}

function sumOf(counts: Counts, of: readonly string[]): number {
  return of.reduce((total, kind) => total + (counts[kind] ?? 0), 0)
}

function findingText({ story, violations }: CampaignReport['findings'][number]): string {
  const lines = violations.map((violation) => `  - ${violationText(violation).replaceAll('\n', '\n    ')}`)
  return [`- \`${replayOf(story)}\``, ...lines].join('\n')
}
