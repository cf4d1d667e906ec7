import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Reads lines of process ids from the pipe; each replaces the last. The pipe closes when our process is gone, however
 * it went (SIGKILL included). Then everything on the last line is killed and the folder removed. `-1 2`-style negative
 * ids are process groups.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r line; do pids=$line; done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
if [ -n "$1" ]; then rm -rf "$1" || { sleep 1; rm -rf "$1"; }; fi
`

/** Lets children die with this process. One small shell, which notices our end by a pipe that nobody else holds. */
export class Watchdog {
  readonly #process: ChildProcess
  readonly #pids = new Set<number>()

  /** @param folder removed together with the children */
  constructor(folder?: string) {
    this.#process = spawn('/bin/sh', ['-c', SCRIPT, 'watchdog', folder ?? ''], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Its own process group: a Ctrl-C in the terminal must not end it before it has done its work.
      detached: true,
    })
    this.#process.unref()
    // A pipe is a handle that keeps the event loop alive unless told otherwise.
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

  /** The work is over: kills what is still watched, removes the folder, and ends. */
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
