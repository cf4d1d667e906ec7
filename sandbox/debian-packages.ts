import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheFolderOf } from './cache-folder.ts'
import { holdLock } from './control-plane/directory-lock.ts'

const run = promisify(execFile)
/** Longer than any command takes on a machine that has what it needs. */
const TIMEOUT_MS = 180_000
const NO_CONNECTION = [
  '-o',
  'Acquire::Retries=1',
  '-o',
  'Acquire::http::Timeout=20',
  '-o',
  'Acquire::https::Timeout=20',
]

/** Runs an apt command and returns its output. */
export type Apt = (command: string, ...args: readonly string[]) => Promise<string>

/** Returns the packages to download, as `apt-get download` takes them: `name` or `name=version`. */
type Selection = (apt: Apt) => Promise<readonly string[]>

export interface DebianTool<T> {
  /** Used in messages, and as the name of the cache folder. */
  readonly name: string
  /** Returns the packages that it needs. */
  readonly packages: Selection
  /** The part of the unpacked packages that is kept, as a path from their root. */
  readonly kept: string
  /** Looks for the tool on this machine and in the cache folder. */
  readonly findIn: (cache: string) => Promise<T | undefined>
  /** What to do where it can be neither found nor downloaded: follows "cannot be found or downloaded here: ". */
  readonly remedy: string
}

/**
 * Finds a tool or installs it. If `findIn` finds nothing, unpacks the distribution's packages into
 * `~/.cache/open-terrain/<name>/<distribution and its version>` (needs apt and dpkg-deb, not root). If both fail, `report` gets the reason, and the
 * error says what to do.
 */
export async function resolveDebianTool<T>(tool: DebianTool<T>, report: (line: string) => void): Promise<T> {
  const cache = await cacheFolder(tool.name)
  const present = await tool.findIn(cache)
  if (present !== undefined) return present

  const release = await holdLock(`${cache}.lock`, () => report(`another process is getting ${tool.name}: waiting`))
  try {
    const late = await tool.findIn(cache)
    if (late !== undefined) return late
    report(`getting ${tool.name} (once)`)
    await obtain(tool, cache).catch((error: Error) => report(`cannot get ${tool.name}: ${error.message}`))
    const obtained = await tool.findIn(cache)
    if (obtained !== undefined) return obtained
    throw new Error(`${tool.name} cannot be found or downloaded here: ${tool.remedy}`)
  } finally {
    await release()
  }
}

async function cacheFolder(name: string): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const [id = process.platform, version = ''] = ['ID', 'VERSION_ID'].map((key) => fieldOf(release, key))
  return join(cacheFolderOf(), name, `${id}-${version}`)
}

function fieldOf(release: string, key: string): string | undefined {
  return new RegExp(`^${key}="?([A-Za-z0-9._-]+)"?$`, 'm').exec(release)?.[1]
}

/** Gives the folder its final name only when it is complete. */
async function obtain(
  { packages, kept }: Pick<DebianTool<unknown>, 'packages' | 'kept'>,
  cache: string,
): Promise<void> {
  await mkdir(join(cache, '..'), { recursive: true })
  const staging = await mkdtemp(`${cache}.`)
  try {
    await downloadPackages(packages, staging)
    const root = join(staging, 'root')
    for (const file of await readdir(staging)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(staging, file), root], { timeout: TIMEOUT_MS })
    }
    await rm(cache, { recursive: true, force: true })
    await rename(join(root, kept), cache)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/**
 * Downloads packages of the distribution into `folder`, without root. Uses the package lists of this machine; if they are missing or stale, fresh
 * ones, which leave those of the machine as they are.
 */
export async function downloadPackages(packages: Selection, folder: string): Promise<void> {
  try {
    await downloadWith([], packages, folder)
  } catch {
    await downloadNewest(packages, folder)
  }
}

/**
 * Like `downloadPackages`, always with fresh lists.
 * @param architecture of the packages, in Debian's words; default: that of the machine
 */
export async function downloadNewest(packages: Selection, folder: string, architecture?: string): Promise<void> {
  const lists = ['-o', `Dir::State::Lists=${join(folder, 'lists')}`, '-o', `Dir::Cache=${join(folder, 'apt')}`]
  // Without what is installed here, which is of the machine's own architecture.
  if (architecture !== undefined)
    for (const option of ['Architecture', 'Architectures']) lists.push('-o', `APT::${option}=${architecture}`)
  if (architecture !== undefined) lists.push('-o', 'Dir::State::status=/dev/null')
  for (const path of ['lists/partial', 'apt/archives/partial']) await mkdir(join(folder, path), { recursive: true })
  await callApt('apt-get', [...lists, 'update'], folder)
  await downloadWith(lists, packages, folder)
}

/** Returns packages, with all that they need to work: what they depend on, and so on. */
export async function closureOf(apt: Apt, ...packages: readonly string[]): Promise<string[]> {
  const optional = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(
    (kind) => `--no-${kind}`,
  )
  const closure = await apt('apt-cache', 'depends', '--recurse', ...optional, ...packages)
  return [...new Set(closure.split('\n').filter((line) => /^[a-z0-9][a-z0-9.+-]+$/.test(line)))]
}

const MERGED = ['bin', 'sbin', 'lib', 'lib64']
const WHOLE = '.complete'

/** Makes the folder of unpacked packages a file system to run them in, once. Packages still contain /bin and /lib. A Debian system has links there. */
export async function mergeUsr(folder: string): Promise<void> {
  if (existsSync(join(folder, WHOLE))) return
  for (const name of MERGED) {
    const path = join(folder, name)
    if (existsSync(path)) await run('cp', ['-a', `${path}/.`, join(folder, 'usr', name)])
    await rm(path, { recursive: true, force: true })
    await symlink(`usr/${name}`, path)
  }
  await writeFile(join(folder, WHOLE), '')
}

async function downloadWith(options: readonly string[], packages: Selection, folder: string): Promise<void> {
  const apt: Apt = (command, ...args) => callApt(command, [...options, ...args], folder)
  await apt('apt-get', 'download', ...(await packages(apt)))
}

async function callApt(command: string, args: readonly string[], cwd: string): Promise<string> {
  // When run as root, apt switches to another user, which cannot write here.
  const options = ['-q', '-o', 'APT::Sandbox::User=root', ...NO_CONNECTION]
  const { stdout } = await run(command, [...options, ...args], {
    cwd,
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
  })
  return stdout
}
