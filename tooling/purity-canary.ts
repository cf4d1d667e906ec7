import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const PARTS = ['biome.json', 'tooling/pure-decisions.grit', 'tooling/no-locale.grit']
const MESSAGES = ['plugin', 'lint/style/noRestrictedGlobals']

interface Report {
  readonly diagnostics: readonly {
    readonly category: string
    readonly location: { readonly path: string; readonly start: { readonly line: number } }
  }[]
}

/** Returns the lines of the canary that Biome does not report. Empty if it reports everything that is forbidden. */
export function silentLines(): string[] {
  // The rules name folders relative to the root, and the root excludes the canary, so the canary is checked in a root of its own.
  const folder = mkdtempSync(join(tmpdir(), 'purity-canary-'))
  try {
    cpSync(join(ROOT, 'test/fixtures/purity-canary'), folder, { recursive: true })
    for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part))
    const reported = new Set(lint(folder))
    return globSync('operator/**/*.ts', { cwd: folder }).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .flatMap((text, at) => (text.startsWith('export') && !reported.has(`${file}:${at + 1}`) ? [text] : [])),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns `<file>:<line>` of each violation of the purity rules. */
function lint(folder: string): string[] {
  const program = join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
  const args = [program, 'lint', '--reporter=json', '--max-diagnostics=none', 'operator']
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const { diagnostics } = JSON.parse(stdout) as Report
  return diagnostics
    .filter(({ category }) => MESSAGES.includes(category))
    .map(({ location }) => `${location.path}:${location.start.line}`)
}

if (import.meta.main) {
  const silent = silentLines()
  if (silent.length > 0) {
    process.stderr.write(`impure lines that the rules for decisions let pass:\n${silent.join('\n')}\n`)
    process.exitCode = 1
  } else {
    process.stdout.write('every impure line of the canary is reported\n')
  }
}
