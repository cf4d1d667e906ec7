import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const CANARY = join(ROOT, 'test/fixtures/dependency-canary')
const CONFIG = join(ROOT, '.dependency-cruiser.cjs')
const FOLDERS = ['constructs', 'crds-gen', 'operator', 'infra', 'sandbox']

interface Rules {
  readonly forbidden: readonly { readonly name: string }[]
}

interface Result {
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly rule: { readonly name: string } }[]
  }
}

/**
 * Returns rules of .dependency-cruiser.cjs without a breach in the canary folder, and breaches that are not reported for the file whose first line
 * names them. Empty if all rules work.
 */
export function silentRules(): string[] {
  const names = (createRequire(import.meta.url)(CONFIG) as Rules).forbidden.map(({ name }) => name)
  const breaches = globSync('**/*.ts', { cwd: CANARY }).flatMap((file) => {
    const [first = ''] = readFileSync(join(CANARY, file), 'utf8').split('\n', 1)
    const words = first.startsWith('//') ? (first.match(/[a-z-]+/g) ?? []) : []
    return words.filter((word) => names.includes(word)).map((name) => ({ file, name }))
  })
  const reported = new Set(cruise().summary.violations.map(({ from, rule }) => `${rule.name} in ${from}`))
  const silent = breaches.map(({ file, name }) => `${name} in ${file}`).filter((breach) => !reported.has(breach))
  const untried = names.filter((name) => !breaches.some((breach) => breach.name === name))
  return [...untried, ...silent]
}

function cruise(): Result {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  // The rules name folders relative to the root, so the canary is checked as a root of its own. JSON output exits 0 on violations.
  const output = execFileSync(process.execPath, [program, '--config', CONFIG, '--output-type', 'json', ...FOLDERS], {
    cwd: CANARY,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return JSON.parse(output) as Result
}

if (import.meta.main) {
  const silent = silentRules()
  if (silent.length > 0) {
    process.stderr.write(`dependency rules that no longer report anything: ${silent.join(', ')}\n`)
    process.exitCode = 1
  } else {
    process.stdout.write('every dependency rule reports its canary\n')
  }
}
