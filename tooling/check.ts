import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { MARKDOWN } from './format.ts'

const ROOT = join(import.meta.dirname, '..')
const PACKAGES = 'node_modules'
/** The compiler in native code takes less than half the processor time. It has no programming interface yet, so tools that need one have version 6. */
const COMPILER = `${PACKAGES}/typescript-7/bin/tsc`

/** All checks except the tests: the title of each, and the Node arguments that run it. */
const CHECKS: readonly (readonly [title: string, ...args: string[]])[] = [
  ['Format and lint', `${PACKAGES}/@biomejs/biome/bin/biome`, 'check', '--error-on-warnings'],
  ['Format of Markdown', ...MARKDOWN, '--check'],
  ['Types', COMPILER, '--noEmit'],
  ['Types of the page of ot ui', COMPILER, '--noEmit', '--project', 'cli/ui/page'],
  [
    'Dependency rules',
    `${PACKAGES}/dependency-cruiser/bin/dependency-cruiser.mjs`,
    '--config',
    '.dependency-cruiser.cjs',
    'cli',
    'constructs',
    'crds-gen',
    'infra',
    'operator',
    'sandbox',
    'test',
    'tooling',
  ],
  ['Dependency rules still bite', 'tooling/dependency-canary.ts'],
  ['Rules of purity still bite', 'tooling/purity-canary.ts'],
  ['Unused code', `${PACKAGES}/knip/bin/knip.js`],
  ['Generated files are up to date', 'crds-gen/main.ts', '--check'],
  ['Lockfile names every platform', 'tooling/complete-lockfile.mjs', '--check'],
  ['Shell scripts and workflows', 'tooling/lint/main.ts'],
]
const TESTS: readonly (readonly [title: string, ...args: string[]])[] = [
  ['Tests', `${PACKAGES}/vitest/vitest.mjs`, 'run'],
]

/** Runs all checks even after a failure, so that one run reports everything. */
function runAll(checks: typeof CHECKS): string[] {
  return checks.flatMap(([title, ...args]) => {
    process.stdout.write(`\n=== ${title}\n`)
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' })
    return status === 0 ? [] : [title]
  })
}

const withoutTests = process.argv.includes('--no-tests')
const failed = runAll(withoutTests ? CHECKS : [...CHECKS, ...TESTS])
if (failed.length > 0) {
  process.stderr.write(`\nfailed: ${failed.join(', ')}\n`)
  process.exitCode = 1
}
