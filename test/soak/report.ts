import { leastSquares, percentile } from '../bench/statistics.ts'
import type { ChurnCounts } from './churn.ts'
import type { DisturbanceLog } from './disturbances.ts'
import type { Lifetime, Sample } from './replicas.ts'

export interface SoakReport {
  /** Rows of a table: commit, date, seed, machine. */
  readonly facts: readonly (readonly [string, string])[]
  readonly minutes: number
  readonly churn: ChurnCounts
  readonly disturbances: DisturbanceLog
  readonly lifetimes: readonly Lifetime[]
  /** Milliseconds from a change to the status that answers it. */
  readonly reactions: readonly number[]
  readonly downloads: number
  readonly revisions: number
  readonly findings: readonly string[]
}

/** Young processes still fill their caches and compile. A lifetime that is too short for it is not judged. */
const WARM_UP_MINUTES = 2
const LEAST_SAMPLES = 10

const INTRODUCTION = `# Soak

Written by \`npm run soak\`; do not edit. Two replicas of the bundled operator against a real etcd and kube-apiserver with simulated CDI, storage and
snapshots, while images are created (one in ten of a source that always fails), refreshed, suspended and deleted and the policy changes, and while the
servers and the leader are killed, frozen, stopped and compacted under it.

Checked over every revision that etcd told: no claim beyond the limit, no DataVolume without a claim, nobody served before his turn. Checked at settled
moments: every image came to rest, and the caches of both replicas hold as many objects of each kind as a fresh list. The slopes are least squares over
the samples of one process, from its ${WARM_UP_MINUTES}th minute on.`

/** The whole report in Markdown. */
export function renderSoak(report: SoakReport): string {
  const { facts, minutes, churn, disturbances, lifetimes, reactions, findings } = report
  const counts = [
    ...Object.entries(CHURN).map(([key, what]) => [what, String(churn[key as keyof ChurnCounts])] as const),
    ...[...disturbances.counts].map(([what, count]) => [what, String(count)] as const),
    ['downloads', String(report.downloads)] as const,
    ['revisions checked', String(report.revisions)] as const,
  ]
  const seconds = (share: number) => (percentile(reactions, share) / 1_000).toFixed(2)
  return `${[
    INTRODUCTION,
    table(['', ''], [...facts, ['duration', `${minutes.toFixed(1)} min`]]),
    '## Findings',
    findings.length === 0 ? 'None.' : findings.map((finding) => `- ${finding}`).join('\n'),
    '## What happened',
    table(['', 'count'], counts),
    '## From a change of a spec to the status that answers it',
    `${reactions.length} changes: p50 ${seconds(0.5)} s, p99 ${seconds(0.99)} s, longest ${seconds(1)} s (hand-overs and outages included).`,
    '## Processes',
    table(PROCESS_HEAD, lifetimes.map(processRow)),
  ].join('\n\n')}\n`
}

const CHURN: Readonly<Record<keyof ChurnCounts, string>> = {
  created: 'images created',
  refreshed: 'images given another URL',
  suspended: 'images suspended or resumed',
  deleted: 'images deleted',
  policies: 'policy changes',
  refused: 'requests of these that found no API server',
}

const PROCESS_HEAD = [
  'process',
  'minutes',
  'samples',
  'resident MB, first to last',
  'slope MB/h',
  'heap MB, first to last',
  'slope MB/h',
  'sockets, least to most',
  'event loop lag p99',
  'ended by',
]

function processRow({ name, samples, end }: Lifetime): string[] {
  const warm = samples.filter(({ minutes }) => minutes >= WARM_UP_MINUTES)
  const last = samples.at(-1)
  const range = (of: (sample: Sample) => number) =>
    warm.length === 0 ? '' : `${of(warm[0] as Sample).toFixed(1)} to ${of(warm.at(-1) as Sample).toFixed(1)}`
  const sockets = samples.map((sample) => sample.sockets)
  return [
    name,
    last?.minutes.toFixed(1) ?? '',
    String(samples.length),
    range(({ residentMb }) => residentMb),
    slope(warm, ({ residentMb }) => residentMb),
    range(({ heapMb }) => heapMb),
    slope(warm, ({ heapMb }) => heapMb),
    `${Math.min(...sockets)} to ${Math.max(...sockets)}`,
    `${last?.lagMs.toFixed(0) ?? ''} ms`,
    end ?? 'the end of the soak',
  ]
}

function slope(samples: readonly Sample[], of: (sample: Sample) => number): string {
  if (samples.length < LEAST_SAMPLES) return 'too short'
  const perMinute = leastSquares(samples.map((sample) => ({ x: sample.minutes, y: of(sample) }))).slope
  return (perMinute * 60).toFixed(1)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
