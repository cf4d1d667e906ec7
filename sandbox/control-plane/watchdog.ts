import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Reads lines of process IDs from the pipe. Each line replaces the previous one. The pipe closes when our process is
 * gone, for any reason (including SIGKILL). The script then kills everything on the last line and removes the folder.
 * Negative IDs are process groups.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r line; do pids=$line; done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
if [ -n "$1" ]; then rm -rf "$1" || { sleep 1; rm -rf "$1"; }; fi
`

/** Kills children when this process ends. A small shell detects the end by a pipe that no other process holds. */
export class Watchdog {
  readonly #process: ChildProcess
  readonly #pids = new Set<number>()

  /** @param folder removed together with the children */
  constructor(folder?: string) {
    this.#process = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', folder ?? ''], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Its own process group: Ctrl-C in the terminal must not kill it before it has cleaned up.
      detached: true,
    })
    this.#process.unref()
    // A pipe is a handle that keeps the event loop alive unless it is unreferenced.
    const pipe = this.#process.stdin as unknown as { unref?: () => void; on: (event: 'error', f: () => void) => void }
    pipe.unref?.()
    pipe.on('error', () => {})
  }

  watch(pid: number): void {
    this.#pids.add(pid)
    this.#send()
  }

  forget(pid: number): void {
    if (this.#pids.delete(pid)) this.#send()
  }

  /** Kills the processes that are still watched, removes the folder, and exits. */
  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const ended = new Promise<void>((resolve) => this.#process.once('exit', () => resolve()))
    this.#process.ref()
    this.#process.stdin?.end()
    await ended
  }

  #send(): void {
    this.#process.stdin?.write(`${[...this.#pids].join(' ')}\n`)
  }
}
