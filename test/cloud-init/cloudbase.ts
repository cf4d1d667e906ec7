import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CloudInitData } from '@open-terrain/constructs/operator'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'

const run = promisify(execFile)
const VERSION = '1.1.9'
const TIMEOUT_MS = 180_000
/** What its code for user data and metadata imports, with what that imports. */
const NEEDED = [
  ...['oslo.config', 'oslo.log', 'oslo.utils', 'oslo.serialization', 'PyYAML', 'netaddr', 'jinja2', 'requests'],
  ...['iso8601', 'cryptography'],
]

/** The folder in which Python finds it. */
export interface CloudbaseInit {
  readonly folder: string
}

/** Finds or installs cloudbase-init: from our cache, or with pip, without changing this machine. If it cannot be had, throws an error that says what to do. */
export async function resolveCloudbaseInit(report: (line: string) => void): Promise<CloudbaseInit> {
  const cached = join(cacheFolderOf(), 'cloudbase-init', VERSION)
  if (await answers(cached)) return { folder: cached }
  const release = await holdLock(`${cached}.lock`, () => report('another process is getting cloudbase-init: waiting'))
  try {
    if (await answers(cached)) return { folder: cached }
    report('getting cloudbase-init (once)')
    await obtain(cached).catch((error: Error) => report(`cannot get cloudbase-init: ${error.message}`))
    if (await answers(cached)) return { folder: cached }
  } finally {
    await release()
  }
  throw new Error(
    'cloudbase-init cannot be found or downloaded here: install pip for python3, or set CLOUD_INIT=skip to leave out the checks that need it.',
  )
}

function answers(folder: string): Promise<boolean> {
  return ask(folder, []).then(
    () => true,
    () => false,
  )
}

/** Gives the folder its name only when it is complete. */
async function obtain(folder: string): Promise<void> {
  await mkdir(join(folder, '..'), { recursive: true })
  const staging = await mkdtemp(`${folder}.`)
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', staging]
  try {
    await run('python3', [...pip, '--no-deps', `cloudbase-init==${VERSION}`], { timeout: TIMEOUT_MS })
    await run('python3', [...pip, ...NEEDED], { timeout: TIMEOUT_MS })
    await rename(staging, folder)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** What cloudbase-init does to Windows with the data of a machine. */
export interface WindowsStart {
  /** Calls of what changes Windows, in their order. */
  readonly calls: readonly (readonly [name: string, ...args: unknown[]])[]
  /** Scripts that it runs, with the program that it takes for them. */
  readonly scripts: readonly (readonly [program: string, text: string])[]
  readonly errors: readonly string[]
}

export async function windowsStarts(
  { folder }: CloudbaseInit,
  documents: readonly CloudInitData[],
): Promise<WindowsStart[]> {
  return (await ask(folder, documents)) as WindowsStart[]
}

async function ask(folder: string, documents: readonly object[]): Promise<unknown> {
  const env = { ...process.env, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }
  const child = run('python3', [join(import.meta.dirname, 'windows.py')], { env, timeout: TIMEOUT_MS })
  child.child.stdin?.end(JSON.stringify(documents))
  const { stdout } = await child
  return JSON.parse(stdout)
}
