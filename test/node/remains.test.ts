import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'

const CHILD = join(import.meta.dirname, 'bare-cluster-child.ts')

/** What shows that a cluster was here: its folder is in the arguments of its processes, in its mounts, and names its cgroups. */
function tracesOf(directory: string): string[] {
  const name = basename(directory)
  const processes = globSync('/proc/[0-9]*/cmdline').filter((file) => textOf(file).includes(directory))
  const mounts = globSync('/proc/[0-9]*/mountinfo').filter((file) => textOf(file).includes(directory))
  const cgroups = globSync(`/sys/fs/cgroup/*/${name}`)
  return [...processes, ...mounts, ...cgroups, ...(existsSync(directory) ? [directory] : [])]
}

/** Empty if the process has gone. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

describe.skipIf(process.env['NODE_KUBECONFIG'] !== undefined)('a cluster made here', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)('leaves nothing behind when its process ends by %s', async (signal) => {
    const links = textOf('/proc/net/dev')
    const child = spawn(process.execPath, [CHILD], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [directory] = (await once(createInterface(child.stdout), 'line')) as [string]
    expect(tracesOf(directory).length).toBeGreaterThan(10)
    child.kill(signal)
    await once(child, 'exit')
    await expect.poll(() => tracesOf(directory)).toEqual([])
    const names = (text: string) => text.split('\n').map((line) => line.split(':')[0])
    // A link of another cluster that starts meanwhile may be here for a moment.
    await expect.poll(() => names(textOf('/proc/net/dev'))).toEqual(names(links))
  })
})
