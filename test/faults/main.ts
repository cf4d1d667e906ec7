import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandOptions } from '../../sandbox/command-options.ts'
import { startCluster } from '../../sandbox/control-plane/cluster.ts'
import { buildBundle } from '../bench/bundled-operator.ts'
import { commitFact, machineFacts } from '../bench/machine.ts'
import { READABLE_STORAGE } from '../harness/etcd-history.ts'
import type { LeaseEnvironment } from '../harness/operator-process.ts'
import { FaultStage } from './fault-stage.ts'
import { type FrozenWatch, freezeWatches } from './frozen-watches.ts'
import { type Server, surviveOutage } from './outage.ts'
import { type FaultReport, renderFaults } from './report.ts'
import { PATIENT_LEASE, type StormTally, weatherStorm } from './storm.ts'

const ENTRY = join(import.meta.dirname, '../../dist/operator.mjs')
const SERVERS: readonly Server[] = ['API server', 'etcd']
const FROZEN_IMAGES = 6

const USAGE = `usage: npm run faults -- [--minutes N] [--outages N] [--freezes N] [--report FILE]
  Disturbs the bundled operator's requests, watches and servers, checks every revision, and prints the report.
  --minutes N    how long three of ten requests go wrong; default 10
  --outages N    how often each of the servers is killed and started again; default 20
  --freezes N    how often all watches fall silent; default 3
  --report FILE  writes the report there, for example docs/faults.md
`

const values = commandOptions(USAGE, {
  minutes: { type: 'string', default: '10' },
  outages: { type: 'string', default: '20' },
  freezes: { type: 'string', default: '3' },
  report: { type: 'string' },
})

await main()

async function main(): Promise<void> {
  const [minutes, outages, freezes] = [values.minutes, values.outages, values.freezes].map(Number) as [
    number,
    number,
    number,
  ]
  if (!(minutes > 0 && outages > 0 && freezes > 0)) throw new Error(USAGE)
  buildBundle()
  const startedAt = performance.now()
  const report = await disturb(minutes, outages, freezes)
  const duration = `${((performance.now() - startedAt) / 60_000).toFixed(1)} min`
  const facts = [
    ['commit', commitFact()],
    ['date', new Date().toISOString()],
    ...(await machineFacts()),
    ['duration', duration],
  ] as const
  const text = renderFaults({ facts, ...report })
  if (values.report === undefined) process.stdout.write(text)
  else writeFileSync(values.report, text)
  for (const finding of report.findings) process.stderr.write(`finding: ${finding}\n`)
  if (report.findings.length > 0) process.exitCode = 1
}

async function disturb(minutes: number, outages: number, freezes: number): Promise<Omit<FaultReport, 'facts'>> {
  const findings: string[] = []
  let storm: StormTally | undefined
  const times = new Map<Server, number[]>()
  const frozen: FrozenWatch[] = []
  /** Each part has its own cluster, so that a failure in one does not affect the others. */
  const part = async (name: string, act: (stage: FaultStage) => Promise<void>, lease?: LeaseEnvironment) => {
    process.stderr.write(`${name}\n`)
    try {
      await using cluster = await startCluster({ apiServerFlags: READABLE_STORAGE })
      await using stage = await FaultStage.start(cluster, { entry: ENTRY, concurrency: 3, ...(lease && { lease }) })
      await act(stage)
    } catch (error) {
      findings.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  const makeStorm = async (stage: FaultStage) => {
    storm = await weatherStorm(stage, minutes * 60_000)
  }
  await part('storm of errors', makeStorm, PATIENT_LEASE)
  for (const server of SERVERS) {
    const told: number[] = []
    times.set(server, told)
    const killAll = async (stage: FaultStage) => {
      for (let round = 1; round <= outages; round += 1) told.push(await surviveOutage(stage, server, round))
      await stage.world.finish({ isOrderChecked: false })
    }
    await part(`${server} killed`, killAll, PATIENT_LEASE)
  }
  const freezeAll = async (stage: FaultStage) => {
    for (let round = 1; round <= freezes; round += 1) {
      const names = Array.from({ length: FROZEN_IMAGES }, (_, at) => `image-${round}-${at}`)
      frozen.push(...(await freezeWatches(stage, names)))
    }
    await stage.world.finish()
  }
  await part('watches frozen', freezeAll)
  return { stormMinutes: minutes, storm, outages: times, frozen, findings }
}
