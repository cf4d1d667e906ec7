import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../operator/base/clock.ts'
import { type Chapter, RUNS } from '../figure.ts'
import { median } from '../statistics.ts'

const OT = join(import.meta.dirname, '../../../dist/ot.mjs')
/** Starts of each command in a run. They take turns, so that all of them meet the same load. */
const STARTS = 15

/** What `ot` asks an API server for. */
const LABS = JSON.stringify({
  metadata: { resourceVersion: '1' },
  items: Array.from({ length: 40 }, (_, at) => ({
    metadata: { name: `lab-${at}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    status: { phase: 'Ready', reason: 'Ready', counts: { total: 3, ready: 3, provisioning: 0, failed: 0 } },
  })),
})

/** Measures from the start of the process to its end, as a ratio to a Node that does nothing. */
export async function measureCommandLine(tell: (line: string) => void): Promise<Chapter> {
  await import('../../../cli/build.ts')
  const folder = mkdtempSync(join(tmpdir(), 'ot-bench-'))
  const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(LABS))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigFor((server.address() as AddressInfo).port))
  const commands = {
    node: ['-e', '0'],
    help: [OT, '--help'],
    labs: [OT, '--kubeconfig', kubeconfig, 'labs'],
  }
  const runs: Record<keyof typeof commands, number>[] = []
  try {
    for (let run = 1; run <= RUNS; run += 1) {
      const times: Record<keyof typeof commands, number[]> = { node: [], help: [], labs: [] }
      for (let start = 0; start < STARTS; start += 1)
        for (const name of ['node', 'help', 'labs'] as const) times[name].push(await startOf(commands[name]))
      const [node, help, labs] = [median(times.node), median(times.help), median(times.labs)]
      runs.push({ node, help, labs })
      tell(
        `ot in run ${run}: node ${node.toFixed(0)} ms, ot --help ${help.toFixed(0)} ms, ot labs ${labs.toFixed(0)} ms`,
      )
    }
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
  return {
    title: 'The command line',
    method: `The median of ${STARTS} starts of \`dist/ot.mjs\` in each of ${RUNS} runs, from the start of the process to its end, in turns with a \`node -e 0\`. \`ot labs\` lists 40 labs of a server that answers at once.`,
    figures: [
      { title: '`node -e 0`', unit: 'ms', values: runs.map(({ node }) => node) },
      { title: '`ot --help`', unit: 'ms', values: runs.map(({ help }) => help) },
      { title: '`ot --help` / `node -e 0`', unit: '', digits: 1, values: runs.map(({ help, node }) => help / node) },
      { title: '`ot labs`', unit: 'ms', values: runs.map(({ labs }) => labs) },
      { title: '`ot labs` / `node -e 0`', unit: '', digits: 1, values: runs.map(({ labs, node }) => labs / node) },
    ],
  }
}

async function startOf(args: readonly string[]): Promise<number> {
  const startedAt = systemClock.monotonic()
  const process_ = spawn(process.execPath, args, { stdio: 'ignore' })
  const [code] = await once(process_, 'exit')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  return systemClock.monotonic() - startedAt
}

function kubeconfigFor(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    clusters: [{ name: 'bench', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'bench', user: {} }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
  })
}
