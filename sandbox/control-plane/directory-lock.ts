import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 500
/** An owner writes its name right after making the folder; one without a name for so long died in between. */
const NAMELESS_MS = 10_000

/**
 * Takes `folder` as a lock between processes, waiting while another living process of this machine has it. Returns how
 * to let go. What the lock protects must bear two owners (files are renamed into place): a lock whose owner died could
 * in theory be taken over twice at once.
 */
export async function holdLock(folder: string, onWait: () => void): Promise<() => Promise<void>> {
  await mkdir(dirname(folder), { recursive: true })
  let waiting = false
  for (;;) {
    if (await take(folder)) return () => rm(folder, { recursive: true, force: true })
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

async function isAbandoned(folder: string): Promise<boolean> {
  const [pid, host] = (await readFile(join(folder, 'owner'), 'utf8').catch(() => '')).split(' ')
  if (pid && host) return host === hostname() && !isAlive(Number(pid))
  const made = await stat(folder).catch(() => undefined)
  return made !== undefined && Date.now() - made.mtimeMs > NAMELESS_MS
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
