import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Enclave } from './enclave.ts'

/** Not below a folder that nodes overlay with one of their own, as `$TMPDIR` could be. */
const FOLDER = '/tmp'
const PREFIX = 'open-terrain-node-'
const OWNER = 'owner'
/** Parent of the cgroups of all clusters, in each hierarchy. */
const CGROUPS = '/sys/fs/cgroup'

/**
 * Waits until the pipe closes, which it does when our process is gone, for any reason. Then it waits until nothing runs in the
 * cgroups, and removes these and the folder. Mounts and links need nothing: they went with their namespaces.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r line; do pids="$pids $line"; done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
for attempt in $(seq 100); do
  for group in ${CGROUPS}/*/"$2"; do
    [ -d "$group" ] && find "$group" -depth -type d -exec rmdir {} + 2>/dev/null
  done
  ls -d ${CGROUPS}/*/"$2" >/dev/null 2>&1 || break
  for tasks in $(find ${CGROUPS}/*/"$2" -name cgroup.procs 2>/dev/null); do
    for pid in $(cat "$tasks" 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
  done
  sleep 0.1
done
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

/** What would outlive the namespaces of a cluster: its folder and its cgroups. They are removed however this process ends. */
export class Remains {
  readonly directory: string
  /** Below the root of each cgroup hierarchy. */
  readonly cgroup: string
  readonly #watchdog: ChildProcess

  private constructor(directory: string) {
    this.directory = directory
    this.cgroup = `/${basename(directory)}`
    this.#watchdog = watchdog(directory)
  }

  /** Also removes what clusters of processes that are gone have left, if their watchdogs were killed too. */
  static async take(): Promise<Remains> {
    await sweep()
    const directory = await mkdtemp(join(FOLDER, PREFIX))
    await writeFile(join(directory, OWNER), String(process.pid))
    return new Remains(directory)
  }

  watch(enclave: Enclave): void {
    this.#watchdog.stdin?.write(`${enclave.pid}\n`)
  }

  async clear(): Promise<void> {
    if (this.#watchdog.exitCode !== null || this.#watchdog.signalCode !== null) return
    const ended = once(this.#watchdog, 'exit')
    this.#watchdog.ref()
    this.#watchdog.stdin?.end()
    await ended
  }
}

function watchdog(directory: string): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', directory, basename(directory)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Its own process group: Ctrl-C in the terminal must not kill it before it has cleaned up.
    detached: true,
  })
  child.unref()
  const pipe = child.stdin as unknown as { unref?: () => void; on: (event: 'error', f: () => void) => void }
  pipe.unref?.()
  pipe.on('error', () => {})
  return child
}

async function sweep(): Promise<void> {
  for (const name of (await readdir(FOLDER)).filter((one) => one.startsWith(PREFIX))) {
    const owner = await readFile(join(FOLDER, name, OWNER), 'utf8').catch(() => '')
    if (owner === '' || existsSync(`/proc/${owner}`)) continue
    const cleaner = watchdog(join(FOLDER, name))
    const ended = once(cleaner, 'exit')
    cleaner.ref()
    cleaner.stdin?.end()
    await ended
  }
}
