import { writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import { commandOptions } from '../../sandbox/command-options.ts'
import { OPERATOR_NAMESPACE } from '../../sandbox/control-plane/cluster.ts'
import { buildBundle } from '../bench/bundled-operator.ts'
import { commitFact, machineFacts } from '../bench/machine.ts'
import { Stage } from '../bench/stage.ts'
import { EtcdHistory, READABLE_STORAGE, type SeenEvent } from '../harness/etcd-history.ts'
import { checkLedger, checkOrder } from '../harness/ledger-check.ts'
import { randomFrom } from '../simulation/random.ts'
import { BROKEN, Churn } from './churn.ts'
import { disturb } from './disturbances.ts'
import { leaksIn } from './judgement.ts'
import { startMachines } from './machines.ts'
import { reactionTimes } from './reactions.ts'
import { Replicas } from './replicas.ts'
import { renderSoak, type SoakReport } from './report.ts'

const SAMPLE_MS = 5_000
const MINUTE_MS = 60_000
/** Number of disturbances in a run that is too short for one a minute. */
const LEAST_DISTURBANCES = 10
/** Processes are ended only in this share of the time, so that later ones live long enough for their memory to be judged. */
const ENDS_SHARE = 1 / 3
/** A change that takes longer was not noticed in time, whatever else happened. */
const LONGEST_REACTION_MS = 60_000
const POLICY = { concurrency: '4', retryLimit: '1', retryBackoffDuration: '2s', retryBackoffMax: '4s' }
const SIZE_BYTES = 1024 ** 3

const USAGE = `usage: npm run soak -- [--minutes N] [--seed N] [--report FILE]
  Keeps two replicas of the bundled operator busy and disturbed, checks every revision, and prints the report.
  --minutes N    how long; default 60
  --seed N       of the random actions; default: a new one
  --report FILE  writes the report there, for example docs/soak.md
`

const values = commandOptions(USAGE, {
  minutes: { type: 'string', default: '60' },
  seed: { type: 'string' },
  report: { type: 'string' },
})

await main()

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
  await using history = await EtcdHistory.start(stage.controlPlane.etcdUrl)
  await stage.startSimulators({ sizeBytes: SIZE_BYTES, failing: { namePrefix: BROKEN, afterBytes: SIZE_BYTES / 2 } })
  const replicas = await Replicas.start(stage)
  await startMachines(stage)
  const churn = new Churn(stage, randomFrom(seed))

  const stopping = new AbortController()
  const startedAt = performance.now()
  const everyMs = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / LEAST_DISTURBANCES)
  const end = sleep(minutes * MINUTE_MS).then(() => stopping.abort())
  const churning = churn.run(stopping.signal)
  const sampling = sampleUntil(replicas, stopping.signal)
  const endsForMs = minutes * MINUTE_MS * ENDS_SHARE
  const disturbances = await disturb({ stage, history, churn, replicas }, { everyMs, endsForMs }, stopping.signal)
  await Promise.all([end, churning, sampling])
  const broken = await brokenInvariants(history)

  return {
    facts,
    minutes: (performance.now() - startedAt) / MINUTE_MS,
    churn: churn.counts,
    disturbances,
    lifetimes: replicas.lifetimes,
    reactions: reactionTimes(history.events),
    downloads: history.events.filter(isDownload).length,
    revisions: history.events.length,
    findings: [...disturbances.findings, ...broken, ...lateReactions(history.events), ...leaksIn(replicas.lifetimes)],
  }
}

async function sampleUntil(replicas: Replicas, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await replicas.sample()
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** Reports whether an image's download was created. The disks of virtual machines are clones. */
function isDownload({ kind, type, object }: SeenEvent): boolean {
  const owners = object.metadata.ownerReferences ?? []
  return kind === DATA_VOLUME.kind && type === 'ADDED' && owners.some((owner) => owner.kind === IMAGE.kind)
}

async function brokenInvariants(history: EtcdHistory): Promise<string[]> {
  const checks = [
    () => history.catchUp(),
    () => checkLedger(history.events, OPERATOR_NAMESPACE),
    // The API server is killed during the run: a DataVolume may be created after the next one of its batch.
    () => checkOrder(history.events, OPERATOR_NAMESPACE, { areBatchesChecked: false }),
  ]
  const findings: string[] = []
  for (const check of checks) {
    try {
      await check()
    } catch (error) {
      findings.push(error instanceof Error ? error.message : String(error))
    }
  }
  return findings
}

function lateReactions(events: readonly SeenEvent[]): string[] {
  const late = reactionTimes(events).filter((ms) => ms > LONGEST_REACTION_MS)
  return late.map((ms) => `a change reached its status only after ${(ms / 1_000).toFixed(1)} s`)
}
