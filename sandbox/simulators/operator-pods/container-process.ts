import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Watchdog } from '../../control-plane/watchdog.ts'

export interface ProcessOptions {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Kills the process when this process ends, for any reason. */
  readonly watchdog: Watchdog
  /** Called for each line of its output. */
  readonly onLine: (line: string) => void
}

/** How a process ended: its exit code, or 128 plus the number of the signal, as a container runtime reports it. */
export interface Exit {
  readonly exitCode: number
  readonly finishedAt: string
}

const SIGNALS: Readonly<Record<string, number>> = { SIGKILL: 9, SIGTERM: 15 }

/** The first process of a container. */
export class ContainerProcess {
  readonly startedAt = new Date().toISOString()
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess

  constructor({ argv: [file = '', ...args], env, watchdog, onLine }: ProcessOptions) {
    const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    this.#child = child
    const { pid } = child
    if (pid !== undefined) watchdog.watch(pid)
    for (const input of [child.stdout, child.stderr]) {
      createInterface({ input }).on('line', (line) => {
        if (line !== '') onLine(line)
      })
    }
    this.exited = new Promise((resolve) => {
      const gone = (exitCode: number) => {
        if (pid !== undefined) watchdog.forget(pid)
        resolve({ exitCode, finishedAt: new Date().toISOString() })
      }
      // Not `exit`, which comes before its last lines are read.
      child.once('close', (code, signal) => gone(code ?? 128 + (SIGNALS[signal ?? ''] ?? 0)))
      // The file does not exist.
      child.once('error', () => gone(127))
    })
  }

  /** Sends SIGTERM, then SIGKILL if the process has not exited after `graceMs`. */
  async end(graceMs: number): Promise<Exit> {
    this.#child.kill('SIGTERM')
    const force = setTimeout(() => this.kill(), graceMs)
    try {
      return await this.exited
    } finally {
      clearTimeout(force)
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
