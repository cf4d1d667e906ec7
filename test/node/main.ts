// Runs the scenarios on nodes that really run things, or says in one sentence why they are not run here.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { whyNoNodes } from '../../sandbox/node/prerequisites.ts'

const root = join(import.meta.dirname, '../..')
const reason = process.env['NODE_KUBECONFIG'] ? undefined : await whyNoNodes()

if (reason === undefined) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--mode', 'node', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = await once(child, 'exit')
  process.exitCode = code ?? 1
} else {
  const line = `The scenarios on real nodes were not run: ${reason}`
  process.stdout.write(`${line}\n`)
  if (process.env['NODE_SUMMARY']) await writeFile(process.env['NODE_SUMMARY'], `${line}\n`)
}
