// The entry point of `ot`. `npm run build` makes one file of it: dist/ot.mjs. A link of the name kubectl-ot to it makes `kubectl ot` of it.

import { readFile, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { systemClock } from '../operator/base/clock.ts'
import { runOt } from './program.ts'
import type { ClusterChoice } from './surroundings.ts'

/** `ot ui` holds a watch for each kind, and asks beside them. */
const CONNECTIONS = 16

/** Who reads may end before all is printed, as `head` does. */
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })

process.exitCode = await runOt(process.argv.slice(2), {
  clock: systemClock,
  readText: (path) => (path === '-' ? text(process.stdin) : readFile(path, 'utf8')),
  writeNew: (path, content) => writeFile(path, content, { flag: 'wx', mode: 0o600 }),
  print: (words) => process.stdout.write(words),
  tell: (words) => process.stderr.write(words),
  ask: process.stdin.isTTY && process.stderr.isTTY ? ask : undefined,
  screen: process.stdout.isTTY ? () => ({ columns: process.stdout.columns, rows: process.stdout.rows }) : undefined,
  hasColors: process.stdout.isTTY && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb',
  interrupted,
  connect,
})

/** `ot queue -w | head` ends when head does. */
function interrupted(): AbortSignal {
  const controller = new AbortController()
  process.once('SIGINT', () => controller.abort())
  process.once('SIGTERM', () => controller.abort())
  process.stdout.on('error', () => controller.abort())
  return controller.signal
}

async function connect({ kubeconfig, context }: ClusterChoice) {
  const [{ Connection }, { HttpKubeClient }] = await Promise.all([
    import('../operator/kube/connection.ts'),
    import('../operator/kube/http-client.ts'),
  ])
  const connection = Connection.fromEnvironment(CONNECTIONS, kubeconfig, context)
  const client = new HttpKubeClient({ connection, userAgent: 'ot' })
  return {
    client,
    readPath: (path: string) => client.readPath(path),
    namespace: connection.namespace,
    close: () => connection.close(),
  }
}

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}
