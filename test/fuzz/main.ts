import { Connection } from '../../operator/kube/connection.ts'
import { commandOptions } from '../../sandbox/command-options.ts'
import { type Cluster, startCluster } from '../../sandbox/control-plane/cluster.ts'
import { comparePolicies } from './policy-campaign.ts'
import { type FuzzResult, hasFindings, resultText, writeReport } from './report.ts'
import { compareVerdicts, replaySpec, SPEC_CONNECTIONS } from './spec-campaign.ts'

const USAGE = `usage: npm run fuzz -- [--specs N] [--policies N] [--seed S] [--report FILE]
       npm run fuzz -- --specs 0 --policies 1 --seed S --path P    one finding again (policies)
       npm run fuzz -- --seed S --path P                           one finding again (specs)
`

const values = commandOptions(USAGE, {
  specs: { type: 'string', default: '5000' },
  policies: { type: 'string', default: '5000' },
  seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  path: { type: 'string' },
  report: { type: 'string' },
})

function wholeNumber(name: 'specs' | 'policies' | 'seed'): number {
  if (/^[0-9]{1,10}$/.test(values[name])) return Number(values[name])
  throw new Error(`--${name} must be a whole number\n${USAGE}`)
}

const say = (line: string) => process.stdout.write(`${line}\n`)

async function withCluster<T>(work: (cluster: Cluster, connection: Connection) => Promise<T>): Promise<T> {
  await using cluster = await startCluster()
  const connection = Connection.fromEnvironment(SPEC_CONNECTIONS, cluster.controlPlane.kubeconfigPath)
  try {
    return await work(cluster, connection)
  } finally {
    await connection.close()
  }
}

async function replay(seed: number, path: string): Promise<boolean> {
  if (wholeNumber('specs') === 0) {
    const { finding } = await comparePolicies({ seed, count: 1, path })
    say(finding === undefined ? 'no difference' : `${finding.difference}\n${finding.writes}`)
    return finding !== undefined
  }
  const finding = await withCluster((_cluster, connection) => replaySpec(connection, seed, path))
  say(finding === undefined ? 'no difference' : `${finding.difference}\n${finding.body}`)
  return finding !== undefined
}

async function explore(seed: number): Promise<boolean> {
  const startedAt = new Date()
  const specs = await withCluster((_cluster, connection) =>
    compareVerdicts({
      connection,
      seed,
      count: wholeNumber('specs'),
      onProgress: (judged) => {
        if (judged % 10_000 === 0) say(`${judged} specs judged`)
      },
    }),
  )
  const policies = await comparePolicies({ seed, count: wholeNumber('policies') })
  const result: FuzzResult = { seed, startedAt, endedAt: new Date(), specs, policies }
  say(resultText(result))
  if (values.report !== undefined) await writeReport(values.report, result)
  return hasFindings(result)
}

async function main(): Promise<void> {
  const seed = wholeNumber('seed')
  const isDifferent = values.path === undefined ? await explore(seed) : await replay(seed, values.path)
  process.exitCode = isDifferent ? 1 : 0
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
