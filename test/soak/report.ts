import { percentile } from '../bench/statistics.ts'
import { table } from '../harness/markdown-table.ts'
import type { ChurnCounts } from './churn.ts'
import type { DisturbanceLog } from './disturbances.ts'
import {
  growthOf,
  LEAST_MINUTES,
  MB_PER_HOUR,
  MOST_SOCKETS,
  TO_AND_FRO_MB,
  WARM_UP_MINUTES,
  WATCHES,
} from './judgement.ts'
import type { Lifetime, Sample } from './replicas.ts'

export interface SoakReport {
  /** Rows of a table: commit, date, seed, machine. */
  readonly facts: readonly (readonly [string, string])[]
  readonly minutes: number
  readonly churn: ChurnCounts
  readonly disturbances: DisturbanceLog
  readonly lifetimes: readonly Lifetime[]
  /** Milliseconds from a change to the status that reflects it. */
  readonly reactions: readonly number[]
  readonly downloads: number
  readonly revisions: number
  readonly findings: readonly string[]
}

const INTRODUCTION = `# Soak

Written by \`npm run soak\`; do not edit. Two replicas of the bundled operator against a real etcd and kube-apiserver with simulated CDI, storage and
snapshots, while images are created (one in ten of a source that always fails), refreshed, suspended and deleted and the policy changes, and while the
servers and the leader are killed, frozen, stopped and compacted under it. A few virtual machines run meanwhile. Processes of the operator are ended in
the first third of the time alone, so that the others live long.

Checked over every revision that etcd told: no claim beyond the limit, no DataVolume without a claim, nobody served before his turn. Checked at settled
moments: every image came to rest, every machine is ready, and the caches of both replicas hold the objects of each kind that a fresh list has, each in the
same version (a digest over uid and resourceVersion).

Checked of each process that lived for ${LEAST_MINUTES} minutes after a warm-up of ${WARM_UP_MINUTES}: how much its resident memory and its heap grew in that time, by the line of
least squares. Allowed are ${MB_PER_HOUR} MB an hour and ${TO_AND_FRO_MB} MB besides, because V8 lets a heap of about 20 MB grow by 40 % before it collects. So a leak of less than about
${((TO_AND_FRO_MB * 60) / LEAST_MINUTES + MB_PER_HOUR).toFixed(0)} MB an hour cannot be told in ${LEAST_MINUTES} minutes, of ${(TO_AND_FRO_MB / 2 + MB_PER_HOUR).toFixed(0)} in two hours, of ${(TO_AND_FRO_MB / 24 + MB_PER_HOUR).toFixed(1)} in a day: whether it is less than 1 MB an hour, as we promise after
the first hour, takes a soak of a day. Checked of every process: at most ${MOST_SOCKETS} sockets at any look (${WATCHES} watches, each with one that is being closed, 24 pooled connections, 2 for
the Lease, 6 for metrics and standard streams); how many of them are open moves with the work.`

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
    ...(lifetimes.some(growthOf)
      ? []
      : [`Nothing is said about memory: no process lived for ${NEEDED_MINUTES} minutes.`]),
    '## What happened',
    table(['', 'count'], counts),
    '## From a change of a spec to the status that answers it',
    `${reactions.length} changes: p50 ${seconds(0.5)} s, p99 ${seconds(0.99)} s, longest ${seconds(1)} s (hand-overs and outages included).`,
    '## Processes',
    table(PROCESS_HEAD, lifetimes.map(processRow)),
  ].join('\n\n')}\n`
}

const NEEDED_MINUTES = WARM_UP_MINUTES + LEAST_MINUTES

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
  'growth MB',
  'heap MB, first to last',
  'growth MB',
  'allowed MB',
  'sockets, least to most',
  'event loop lag p99',
  'ended by',
]

function processRow(lifetime: Lifetime): string[] {
  const { name, samples, end } = lifetime
  const warm = samples.filter(({ minutes }) => minutes >= WARM_UP_MINUTES)
  const last = samples.at(-1)
  const range = (of: (sample: Sample) => number) =>
    warm.length === 0 ? '' : `${of(warm[0] as Sample).toFixed(1)} to ${of(warm.at(-1) as Sample).toFixed(1)}`
  const sockets = samples.map((sample) => sample.sockets)
  const growth = growthOf(lifetime)
  return [
    name,
    last?.minutes.toFixed(1) ?? '',
    String(samples.length),
    range(({ residentMb }) => residentMb),
    growth?.residentMb.toFixed(1) ?? 'too short',
    range(({ heapMb }) => heapMb),
    growth?.heapMb.toFixed(1) ?? 'too short',
    growth?.allowedMb.toFixed(1) ?? '',
    `${Math.min(...sockets)} to ${Math.max(...sockets)}`,
    `${last?.lagMs.toFixed(0) ?? ''} ms`,
    end ?? 'the end of the soak',
  ]
}
