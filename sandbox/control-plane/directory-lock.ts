import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 500
const TOUCH_MS = 10_000
/** An owner touches its lock all the time. One that was not touched for this long is abandoned. */
const UNTOUCHED_MS = 60_000

/**
 * Acquires `folder` as a lock between processes, also those of other machines or containers that share the file system.
 * Waits while another live process holds it. Returns the function that releases it. Two owners must do no harm to what the
 * lock protects (files are renamed into place): in theory, two processes can take over the lock of a dead owner at the same time.
 */
export async function holdLock(folder: string, onWait: () => void): Promise<() => Promise<void>> {
  await mkdir(dirname(folder), { recursive: true })
  let waiting = false
  for (;;) {
    if (await take(folder)) return keep(folder)
    if (await isAbandoned(folder)) {
      await rm(folder, { recursive: true, force: true })
      continue
    }
    if (!waiting) onWait()
    waiting = true
    await sleep(POLL_MS)
  }
}

async function take(folder: string): Promise<boolean> {
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  await writeFile(join(folder, 'owner'), `${process.pid} ${hostname()}`)
  return true
}

/** Touches a lock until it is released. */
function keep(folder: string): () => Promise<void> {
  const touch = () => {
    const now = new Date()
    // It does not matter if one fails.
    utimes(folder, now, now).catch(() => undefined)
  }
  const touching = setInterval(touch, TOUCH_MS).unref()
  return async () => {
    clearInterval(touching)
    await rm(folder, { recursive: true, force: true })
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  const [pid, host] = (await readFile(join(folder, 'owner'), 'utf8').catch(() => '')).split(' ')
  if (pid && host === hostname() && !isAlive(Number(pid))) return true
  // Nothing else shows whether a process of another machine or container is alive.
  const touched = await stat(folder).catch(() => undefined)
  return touched !== undefined && Date.now() - touched.mtimeMs > UNTOUCHED_MS
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
