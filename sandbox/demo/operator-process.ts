import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OPERATOR_NAMESPACE } from '../control-plane/cluster.ts'
import { Watchdog } from '../control-plane/watchdog.ts'

const ROOT = join(import.meta.dirname, '../..')
const STOP_TIMEOUT_MS = 15_000
const LOG_TAIL_LINES = 15

interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The operator as it is shipped: a separate process, which knows the cluster only by its kubeconfig. */
export class OperatorProcess {
  readonly logFile: string
  readonly #ended: Promise<ProcessEnd>
  #isStopping = false
  readonly #child: ChildProcess
  readonly #watchdog = new Watchdog()

  /** @param onLost called when the process ends and `stop` was not called */
  constructor(kubeconfig: string, logFile: string, onLost: (end: ProcessEnd) => void) {
    this.logFile = logFile
    const log = openSync(logFile, 'a')
    this.#child = spawn(process.execPath, ['operator/main.ts'], {
      cwd: ROOT,
      env: { ...process.env, KUBECONFIG: kubeconfig, OPERATOR_NAMESPACE, POD_NAME: 'demo' },
      stdio: ['ignore', log, log],
      // Its own process group: we handle Ctrl-C in the terminal, so that it ends in our order.
      detached: true,
    })
    closeSync(log)
    const { pid } = this.#child
    if (pid !== undefined) this.#watchdog.watch(pid)
    this.#ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        if (pid !== undefined) this.#watchdog.forget(pid)
        if (!this.#isStopping) onLost({ code, signal })
        resolve({ code, signal })
      }
      this.#child.once('exit', end)
      this.#child.once('error', () => end(null, null))
    })
  }

  /** Sends SIGTERM, then SIGKILL if the process does not exit. Resolves when it is gone, with its exit status and the duration. */
  async stop(): Promise<ProcessEnd & { readonly ms: number }> {
    const startedAt = performance.now()
    this.#isStopping = true
    this.#child.kill('SIGTERM')
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    const end = await this.#ended
    clearTimeout(force)
    const ms = Math.round(performance.now() - startedAt)
    await this.#watchdog.close()
    return { ...end, ms }
  }

  async logTail(): Promise<string[]> {
    const text = await readFile(this.logFile, 'utf8').catch(() => '')
    return text.trimEnd().split('\n').slice(-LOG_TAIL_LINES)
  }
}
