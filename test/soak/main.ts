import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { OPERATOR_NAMESPACE } from '../../sandbox/control-plane/cluster.ts'
import { buildBundle } from '../bench/bundled-operator.ts'
import { commitFact, machineFacts } from '../bench/machine.ts'
import { Stage } from '../bench/stage.ts'
import { checkLedger, checkOrder } from '../harness/ledger-check.ts'
import { randomFrom } from '../simulation/random.ts'
import { BROKEN, Churn } from './churn.ts'
import { disturb } from './disturbances.ts'
import { EtcdHistory, READABLE_STORAGE, type TimedEvent } from './etcd-history.ts'
import { reactionTimes } from './reactions.ts'
import { Replicas } from './replicas.ts'
import { renderSoak, type SoakReport } from './report.ts'

const SAMPLE_MS = 5_000
const MINUTE_MS = 60_000
/** Disturbances in a run that is too short for one a minute. */
const LEAST_DISTURBANCES = 10
/** Beyond this a change was not noticed in time, whatever happened meanwhile. */
const LONGEST_REACTION_MS = 60_000
const POLICY = { concurrency: '4', retryLimit: '1', retryBackoffDuration: '2s', retryBackoffMax: '4s' }
const SIZE_BYTES = 1024 ** 3

const USAGE = `usage: npm run soak -- [--minutes N] [--seed N] [--report FILE]
  Keeps two replicas of the bundled operator busy and disturbed, checks every revision, and prints the report.
  --minutes N    how long; default 30
  --seed N       of the random actions; default: a new one
  --report FILE  writes the report there, for example docs/soak.md
`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string' },
    report: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
})

if (values.help) process.stdout.write(USAGE)
else await main()

async function main(): Promise<void> {
  const minutes = Number(values.minutes)
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
  if (!(minutes > 0) || !Number.isSafeInteger(seed)) throw new Error(USAGE)
  const facts = [
    ['commit', commitFact()],
    ['date', new Date().toISOString()],
    ['seed', String(seed)],
    ...(await machineFacts()),
  ] as const
  buildBundle()
  const report = await soak(minutes, seed, facts)
  const text = renderSoak(report)
  if (values.report === undefined) process.stdout.write(text)
  else writeFileSync(values.report, text)
  for (const finding of report.findings) process.stderr.write(`finding: ${finding}\n`)
  if (report.findings.length > 0) process.exitCode = 1
}

async function soak(minutes: number, seed: number, facts: SoakReport['facts']): Promise<SoakReport> {
  await using stage = await Stage.start({ policy: POLICY, spread: 4, apiServerFlags: READABLE_STORAGE })
  await using history = new EtcdHistory(stage.controlPlane.etcdUrl, OPERATOR_NAMESPACE)
  await stage.startSimulators({ sizeBytes: SIZE_BYTES, failing: { namePrefix: BROKEN, afterBytes: SIZE_BYTES / 2 } })
  const replicas = await Replicas.start(stage)
  const churn = new Churn(stage, randomFrom(seed))

  const stopping = new AbortController()
  const startedAt = performance.now()
  const everyMs = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / LEAST_DISTURBANCES)
  const end = sleep(minutes * MINUTE_MS).then(() => stopping.abort())
  const churning = churn.run(stopping.signal)
  const sampling = sampleUntil(replicas, stopping.signal)
  const disturbances = await disturb({ stage, churn, replicas }, everyMs, stopping.signal)
  await Promise.all([end, churning, sampling])

  return {
    facts,
    minutes: (performance.now() - startedAt) / MINUTE_MS,
    churn: churn.counts,
    disturbances,
    lifetimes: replicas.lifetimes,
    reactions: reactionTimes(history.events),
    downloads: history.events.filter(({ kind, type }) => kind === 'DataVolume' && type === 'ADDED').length,
    revisions: history.events.length,
    findings: [...disturbances.findings, ...brokenInvariants(history), ...lateReactions(history.events)],
  }
}

async function sampleUntil(replicas: Replicas, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await replicas.sample()
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined)
  }
}

function brokenInvariants(history: EtcdHistory): string[] {
  const checks = [
    () => history.assertComplete(),
    () => checkLedger(history.events, OPERATOR_NAMESPACE),
    () => checkOrder(history.events, OPERATOR_NAMESPACE),
  ]
  return checks.flatMap((check) => {
    try {
      check()
      return []
    } catch (error) {
      return [error instanceof Error ? error.message : String(error)]
    }
  })
}

function lateReactions(events: readonly TimedEvent[]): string[] {
  const late = reactionTimes(events).filter((ms) => ms > LONGEST_REACTION_MS)
  return late.map((ms) => `a change reached its status only after ${(ms / 1_000).toFixed(1)} s`)
}
