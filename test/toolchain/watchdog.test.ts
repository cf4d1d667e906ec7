import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'

const HANGS_AFTER_MS = 5 * 60_000
const WATCHDOG = join(import.meta.dirname, '../../sandbox/control-plane/watchdog.ts')

/** A process that starts a child that would outlive it, prints the child's pid, and keeps running. */
const PARENT = `
import { spawn } from 'node:child_process'
import { Watchdog } from ${JSON.stringify(WATCHDOG)}
const watchdog = new Watchdog(process.argv[1])
const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' })
watchdog.watch(child.pid)
process.stdout.write(String(child.pid))
setInterval(() => {}, 1000)
`

it('ends the children and removes their folder when the parent is killed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'open-terrain-watchdog-'))
  const parent: ChildProcess = spawn(process.execPath, ['--input-type=module', '--eval', PARENT, folder])
  const [chunk] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  const child = Number(chunk.toString())
  expect(isRunning(child)).toBe(true)
  parent.kill('SIGKILL')
  await vi.waitUntil(() => !isRunning(child) && !existsSync(folder), { timeout: HANGS_AFTER_MS })
})

/** A process that has ended but was not yet reaped by init counts as ended. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
