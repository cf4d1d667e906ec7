import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'

const run = promisify(execFile)
/** Nothing that we run is slower on a machine that has what it needs. */
const TIMEOUT_MS = 180_000
const MODULES = 'import jsonschema, yaml, cloudinit.config.schema, cloudinit.net.sysconfig'
const PYTHONS = ['/usr/bin/python3', 'python3']
const NO_CONNECTION = [
  '-o',
  'Acquire::Retries=1',
  '-o',
  'Acquire::http::Timeout=20',
  '-o',
  'Acquire::https::Timeout=20',
]

/** A Python that can import cloud-init and what it needs. */
export interface CloudInit {
  readonly python: string
  /** For the environment of that Python. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Finds cloud-init, or gets it: the one in the folder that `CLOUD_INIT` names, that of this machine, our cache, the distribution's packages taken out of their archives into the
 * cache (needs apt and dpkg-deb, no rights). Throws one sentence that says what to do when none is possible.
 */
export async function resolveCloudInit(report: (line: string) => void): Promise<CloudInit> {
  const cache = await cacheFolder()
  const present = await findIn(cache)
  if (present !== undefined) return present

  const release = await holdLock(`${cache}.lock`, () => report('another process is getting cloud-init: waiting'))
  try {
    await obtain(cache, report).catch((error: Error) => report(`cannot get cloud-init: ${error.message}`))
    const found = await findIn(cache)
    if (found !== undefined) return found
  } finally {
    await release()
  }
  throw new Error(
    'cloud-init cannot be found or downloaded here: install cloud-init and the jsonschema module for python3, or set ' +
      'CLOUD_INIT=skip to leave out the checks that need it.',
  )
}

/** `~/.cache/open-terrain/cloud-init/<distribution and its version>` */
async function cacheFolder(): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const [id = process.platform, version = ''] = ['ID', 'VERSION_ID'].map((key) => fieldOf(release, key))
  return join(base, 'open-terrain', 'cloud-init', `${id}-${version}`)
}

function fieldOf(release: string, key: string): string | undefined {
  return new RegExp(`^${key}="?([A-Za-z0-9._-]+)"?$`, 'm').exec(release)?.[1]
}

async function findIn(cache: string): Promise<CloudInit | undefined> {
  const named = process.env['CLOUD_INIT']
  // What it needs beside itself may be in the cache.
  const places = named ? [`${named}:${cache}`] : [undefined, cache]
  for (const PYTHONPATH of places) {
    for (const python of PYTHONS) {
      const env = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' }
      const canImport = await run(python, ['-c', MODULES], { env, timeout: TIMEOUT_MS }).then(
        () => true,
        () => false,
      )
      if (canImport) return { python, env }
    }
  }
  return undefined
}

/** Under its final name only once it is whole. */
async function obtain(cache: string, report: (line: string) => void): Promise<void> {
  report('getting cloud-init (once)')
  await mkdir(join(cache, '..'), { recursive: true })
  const staging = await mkdtemp(`${cache}.`)
  try {
    await download(staging)
    const root = join(staging, 'root')
    for (const file of await readdir(staging)) {
      if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(staging, file), root], { timeout: TIMEOUT_MS })
    }
    await rm(cache, { recursive: true, force: true })
    await rename(join(root, 'usr', 'lib', 'python3', 'dist-packages'), cache)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** With the package lists of this machine; with fresh ones of our own where those are missing or out of date. */
async function download(folder: string): Promise<void> {
  try {
    await downloadWith([], folder)
  } catch {
    const lists = ['-o', `Dir::State::Lists=${join(folder, 'lists')}`, '-o', `Dir::Cache=${join(folder, 'apt')}`]
    for (const path of ['lists/partial', 'apt/archives/partial']) await mkdir(join(folder, path), { recursive: true })
    await apt('apt-get', [...lists, 'update'], folder)
    await downloadWith(lists, folder)
  }
}

async function downloadWith(options: readonly string[], folder: string): Promise<void> {
  const optional = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(
    (kind) => `--no-${kind}`,
  )
  const closure = await apt('apt-cache', [...options, 'depends', '--recurse', ...optional, 'cloud-init'], folder)
  const names = new Set(closure.split('\n').filter((line) => /^python3-[a-z0-9.+-]+$/.test(line)))
  // Compiled for one version of Python alone, and nothing that we use needs it.
  names.delete('python3-minimal')
  await apt('apt-get', [...options, 'download', 'cloud-init', ...names], folder)
}

async function apt(command: string, args: readonly string[], cwd: string): Promise<string> {
  // As root apt would become another user, who may not write here.
  const options = ['-q', '-o', 'APT::Sandbox::User=root', ...NO_CONNECTION]
  const { stdout } = await run(command, [...options, ...args], {
    cwd,
    timeout: TIMEOUT_MS,
    env: { ...process.env, LC_ALL: 'C' },
  })
  return stdout
}
