// Every npm script starts here, on any Node (20 or newer). It installs what package-lock.json names if node_modules
// does not contain it, and runs the task on the Node 24 that comes with the dependencies.
//
//   node tooling/run.mjs <task> [arguments of the task]

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { installDependencies, root } from './install.mjs'

/** Node arguments of each task. */
const TASKS = {
  bench: ['test/bench/main.ts'],
  build: ['tooling/build.ts'],
  check: ['tooling/check.ts'],
  dashboard: ['test/monitoring/main.ts'],
  demo: ['sandbox/demo/main.ts'],
  faults: ['test/faults/main.ts'],
  format: ['tooling/format.ts'],
  fuzz: ['test/fuzz/main.ts'],
  gen: ['crds-gen/main.ts'],
  image: ['tooling/image/main.ts'],
  operator: ['operator/main.ts'],
  ot: ['cli/main.ts'],
  pack: ['tooling/pack/main.ts'],
  prune: ['cli/main.ts', 'prune'],
  recording: ['tooling/demo-picture/main.ts'],
  release: ['tooling/release/main.ts'],
  sandbox: ['sandbox/main.ts'],
  screenshots: ['test/ui/pictures.ts'],
  sbom: ['tooling/sbom.ts'],
  simulate: ['test/simulation/main.ts'],
  soak: ['test/soak/main.ts'],
  synth: ['infra/synth.ts'],
  test: ['node_modules/vitest/vitest.mjs', 'run'],
  'test:deep': ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'deep'],
  'test:node': ['test/node/main.ts'],
  'test:rollout': ['node_modules/vitest/vitest.mjs', 'run', '--mode', 'rollout'],
}

/** Returns the Node that came with the dependencies, else the current one if it can run TypeScript itself. */
function findNode() {
  const own = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(own)) return own
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath
  throw new Error(
    'Node 24 is missing: the npm package "node" brings it, but its install script did not run. ' +
      'Allow install scripts (npm rebuild node), or use Node 24.',
  )
}

/**
 * Tests start hundreds of processes with the same modules: Node compiles each module once for all of them. Go's
 * servers and compilers collect garbage less often: with 400, three scenarios took 57 s in place of 64 s, and the
 * types of everything 12 s of processor time in place of 17 s, with a tenth more memory.
 */
function environmentOf(task) {
  if (!task.startsWith('test') && task !== 'check') return process.env
  return { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'node-compile'), GOGC: '400', ...process.env }
}

/**
 * Runs `node24 ...args` and exits as it exits. Ctrl-C in a terminal reaches the child directly, because it is in
 * the same process group. Without a terminal only this process receives the signal, and forwards it.
 */
function runAndExit(node, args, env) {
  const child = spawn(node, args, { cwd: root, stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal === 'SIGTERM' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  if (process.env.npm_lifecycle_event !== undefined) onLostParent(() => child.kill('SIGTERM'))
  child.on('error', (error) => fail(error))
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 128 + (constants.signals[signal] ?? 0)))
}

/** npm sends SIGTERM to the shell between it and this process. The shell dies without forwarding it: the only sign is a new parent. */
function onLostParent(act) {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    act()
  }, 500)
  watch.unref()
}

function fail(error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

const [task, ...args] = process.argv.slice(2)
const command = TASKS[task]
if (command === undefined) {
  fail(new Error(`usage: node tooling/run.mjs ${Object.keys(TASKS).join('|')} [arguments]`))
} else {
  try {
    await installDependencies()
    runAndExit(findNode(), [...command, ...args], environmentOf(task))
  } catch (error) {
    fail(error)
  }
}
