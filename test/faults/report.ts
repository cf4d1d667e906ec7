import { percentile } from '../bench/statistics.ts'
import { table } from '../harness/markdown-table.ts'
import type { FrozenWatch } from './frozen-watches.ts'
import type { Server } from './outage.ts'
import { STORM_SHARE, type StormTally } from './storm.ts'

export interface FaultReport {
  /** Rows of a table: commit, date, machine. */
  readonly facts: readonly (readonly [string, string])[]
  readonly stormMinutes: number
  /** Undefined if it failed. The findings say why. */
  readonly storm: StormTally | undefined
  /** Milliseconds from when the server was ready to the next DataVolume, one for each time. */
  readonly outages: ReadonlyMap<Server, readonly number[]>
  readonly frozen: readonly FrozenWatch[]
  readonly findings: readonly string[]
}

const INTRODUCTION = `# Faults

Written by \`npm run faults\`; do not edit. The bundled operator against a real etcd and kube-apiserver with simulated CDI, storage and snapshots, through a
proxy that does to its requests and watches what a bad network does, and with the servers killed under it.

Checked: every image is synced at its first attempt with one download, whatever happened meanwhile. Checked over every revision that etcd told: no claim beyond
the limit, no DataVolume without a claim; in the storm also that nobody is served before his turn, among the images whose own requests met no fault.`

/** The whole report in Markdown. */
export function renderFaults({ facts, stormMinutes, storm, outages, frozen, findings }: FaultReport): string {
  return `${[
    INTRODUCTION,
    table(['', ''], facts),
    '## Findings',
    findings.length === 0 ? 'None.' : findings.map((finding) => `- ${finding}`).join('\n'),
    `## ${STORM_SHARE * 100} % of all requests go wrong for ${stormMinutes} min`,
    storm === undefined ? 'See the findings.' : stormTable(storm),
    '## A server is killed and started again',
    'From when it says that it is ready to the next DataVolume, which may come before that is noticed.',
    table(['server', 'times', 'p50', 'longest'], [...outages].map(outageRow)),
    '## Watches fall silent without a word',
    'From the freeze to when the operator gives the watch up and asks again; a minute at most is what it promises.',
    table(['watches', 'shortest', 'longest'], [[String(frozen.length), ...range(frozen.map(({ ms }) => ms))]]),
  ].join('\n\n')}\n`
}

function stormTable({ images, requests, faults, undelayed }: StormTally): string {
  return table(
    ['', 'count'],
    [
      ['images synced', String(images)],
      ['of these with no fault on their own requests', String(undelayed)],
      ['requests meanwhile', String(requests)],
      ...[...faults].toSorted().map(([what, count]) => [what, String(count)]),
    ],
  )
}

function outageRow([server, times]: readonly [Server, readonly number[]]): string[] {
  const told = times.length === 0 ? ['', ''] : [seconds(percentile(times, 0.5)), seconds(Math.max(...times))]
  return [server, String(times.length), ...told]
}

function range(times: readonly number[]): string[] {
  return times.length === 0 ? ['', ''] : [seconds(Math.min(...times)), seconds(Math.max(...times))]
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
