import { type ChildProcess, spawn } from 'node:child_process'
import type { Watchdog } from '../../control-plane/watchdog.ts'

export interface ProcessOptions {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** It dies with this process, whatever ends it. */
  readonly watchdog: Watchdog
  /** Each line of its output. */
  readonly onLine: (line: string) => void
}

/** How a process ended: a code, or 128 and the number of the signal, as a container runtime tells it. */
export interface Exit {
  readonly exitCode: number
  readonly finishedAt: string
}

const SIGNALS: Readonly<Record<string, number>> = { SIGKILL: 9, SIGTERM: 15 }

/** A container's first process. */
export class ContainerProcess {
  readonly startedAt = new Date().toISOString()
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess

  constructor({ argv: [file = '', ...args], env, watchdog, onLine }: ProcessOptions) {
    const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    this.#child = child
    const { pid } = child
    if (pid !== undefined) watchdog.watch(pid)
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) if (line !== '') onLine(line)
      })
    }
    this.exited = new Promise((resolve) => {
      const gone = (exitCode: number) => {
        if (pid !== undefined) watchdog.forget(pid)
        resolve({ exitCode, finishedAt: new Date().toISOString() })
      }
      child.once('exit', (code, signal) => gone(code ?? 128 + (SIGNALS[signal ?? ''] ?? 0)))
      // There is no such file.
      child.once('error', () => gone(127))
    })
  }

  /** SIGTERM, and SIGKILL when it has not ended after the time that it is given. */
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
