import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { commandOptions } from '../../sandbox/command-options.ts'
import { buildBundle, useBundle } from './bundled-operator.ts'
import type { Chapter } from './figure.ts'
import { measureCommandLine } from './figures/command-line.ts'
import { measureCost } from './figures/cost.ts'
import { type DataSyncLoad, measureDataSyncs } from './figures/data-syncs.ts'
import { measureForeign } from './figures/foreign.ts'
import { measureIdle } from './figures/idle.ts'
import { measureKilled } from './figures/killed.ts'
import { type MachineLoad, measureMachines } from './figures/machines.ts'
import { measurePage } from './figures/page.ts'
import { measurePlan } from './figures/plan.ts'
import { measurePolicy } from './figures/policy.ts'
import { measureQueue, type QueueLoad } from './figures/queue.ts'
import { measureQueued, measureStored } from './figures/stored.ts'
import { measureSwitched } from './figures/switched.ts'
import { measureTakeOver } from './figures/take-over.ts'
import { measureTenant } from './figures/tenant.ts'
import { measureWorkspaces, type WorkspaceLoad } from './figures/workspaces.ts'
import { commitFact, loadFact, machineFacts, processorFact } from './machine.ts'
import { type MeasuredChapter, renderReport } from './report.ts'

const SMALL: QueueLoad = {
  images: 24,
  seconds: 3,
  limit: 4,
  spread: 1,
  runs: 3,
  ratio: 1.05,
  older: {
    ratio: '4.1 to 4.5',
    p50: '7.2 s',
    p99: '17.2 s',
    inversions: '21 to 31',
    inParallel: '',
    requests: '11.9 to 12.1 1/image',
    memory: '51 MiB',
    cpu: '',
  },
}
const MEDIUM: QueueLoad = {
  images: 200,
  seconds: 1,
  limit: 10,
  spread: 4,
  runs: 3,
  ratio: 1.08,
  cpuMs: 25,
  older: {
    ratio: '10.8 to 11.2',
    p50: '9.4 to 9.6 s',
    p99: '19 to 28 s',
    inversions: '2,599 to 3,054',
    inParallel: '10',
    requests: '19 1/image',
    memory: '56 MiB',
    cpu: '26 ms/image',
  },
}
const LARGE: QueueLoad = { images: 10_000, seconds: 1, limit: 10, spread: 8, runs: 1, ratio: 1.08, cpuMs: 25 }
const MACHINES: readonly MachineLoad[] = [
  { machines: 200, images: 1, runs: 3 },
  { machines: 1_000, images: 10, runs: 1 },
]

const WORKSPACES: WorkspaceLoad = { workspaces: 200, runs: 1 }
const DATA_SYNCS: DataSyncLoad = { dataSyncs: 40, vms: 5, runs: 3 }

type Measure = (tell: (line: string) => void) => Promise<Chapter>

/** Measurements that `--only` accepts, in the order of the report. */
const MEASURES: Readonly<Record<string, Measure>> = {
  'queue-24': (tell) => measureQueue(SMALL, tell),
  'queue-200': (tell) => measureQueue(MEDIUM, tell),
  'queue-10k': (tell) => measureQueue(LARGE, tell),
  'killed-40': measureKilled,
  idle: measureIdle,
  'stored-10k': measureStored,
  'queued-10k': measureQueued,
  machines: (tell) => measureMachines(MACHINES, tell),
  'data-syncs': (tell) => measureDataSyncs(DATA_SYNCS, tell),
  workspaces: (tell) => measureWorkspaces(WORKSPACES, tell),
  switched: measureSwitched,
  plan: measurePlan,
  ot: measureCommandLine,
  ui: measurePage,
  foreign: measureForeign,
  tenant: measureTenant,
  policy: measurePolicy,
  'take-over': measureTakeOver,
  cost: measureCost,
}
/** Take longer than 15 minutes, so they run only on request. */
const LONG: ReadonlySet<string> = new Set(['queue-10k'])

const USAGE = `usage: npm run bench -- [--images-10k] [--only NAME,...] [--report FILE | --bundle FILE]
  Measures the bundled operator on a control plane of its own, and prints the report.
  --images-10k   10,000 images through the queue as well (about 20 minutes more)
  --only         only these: ${Object.keys(MEASURES).join(', ')}
  --report FILE  writes the report there, for example docs/benchmarks.md; what it has of other measurements stays, where only the processor differs
  --bundle FILE  measures this operator.mjs, such as that of an earlier version, with the simulators of the sources; run both in turn to compare them
`

const values = commandOptions(USAGE, {
  'images-10k': { type: 'boolean', default: false },
  only: { type: 'string' },
  report: { type: 'string' },
  bundle: { type: 'string' },
})

await main()

async function main(): Promise<void> {
  const names = chosen()
  // Each chapter names its processor.
  const facts = (await machineFacts()).filter(([name]) => name !== 'processor')
  const { report: path } = values
  const earlier = path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : ''
  takeBundle()
  const chapters: MeasuredChapter[] = []
  const failures: string[] = []
  const render = () => renderReport({ facts, chapters, failures }, earlier)
  for (const name of names) {
    try {
      chapters.push(...(await measure(name)))
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`)
      process.stderr.write(`${name}: failed: ${error instanceof Error ? error.stack : String(error)}\n`)
    }
    // Written after each chapter, because the next ones may take an hour and fail.
    if (path !== undefined) writeFileSync(path, render())
  }
  if (path === undefined) process.stdout.write(render())
  if (failures.length > 0) process.exitCode = 1
}

function takeBundle(): void {
  const { report, bundle } = values
  if (report !== undefined && bundle !== undefined) throw new Error(`a report is of the sources only\n${USAGE}`)
  if (bundle === undefined) buildBundle()
  else useBundle(bundle)
}

async function measure(name: string): Promise<MeasuredChapter[]> {
  const startedAt = performance.now()
  const measured = `with commit ${commitFact()}, ${new Date().toISOString()}, on ${processorFact()}; load average at its start ${loadFact()}`
  const tell = (line: string) => process.stderr.write(`${name}: ${line}\n`)
  const chapter = await MEASURES[name]?.(tell)
  tell(`took ${Math.round((performance.now() - startedAt) / 1_000)} s`)
  return chapter === undefined ? [] : [{ ...chapter, measured }]
}

function chosen(): string[] {
  const all = Object.keys(MEASURES)
  const names = values.only?.split(',') ?? all.filter((name) => values['images-10k'] || !LONG.has(name))
  const unknown = names.filter((name) => !all.includes(name))
  if (unknown.length > 0) throw new Error(`no such measurement: ${unknown.join(', ')}\n${USAGE}`)
  return names
}
