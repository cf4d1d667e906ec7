import { execFileSync } from 'node:child_process'
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
  readonly summary: { readonly violations: readonly { readonly rule: { readonly name: string } }[] }
}

/** Rules of .dependency-cruiser.cjs whose breach in the canary folder is not reported. Empty when all of them work. */
export function silentRules(): string[] {
  const { forbidden } = createRequire(import.meta.url)(CONFIG) as Rules
  const reported = new Set(cruise().summary.violations.map(({ rule }) => rule.name))
  return forbidden.map(({ name }) => name).filter((name) => !reported.has(name))
}

function cruise(): Result {
  const program = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs')
  // The rules name folders from the root, so the canary is checked from its own. JSON output exits 0 on violations.
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
