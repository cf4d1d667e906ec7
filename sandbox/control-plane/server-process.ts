import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { tailOf } from './output-tail.ts'
import type { Watchdog } from './watchdog.ts'

const READY_POLL_MS = 50
const START_TIMEOUT_MS = 60_000
/** Time to exit after SIGTERM before SIGKILL is sent. */
const STOP_TIMEOUT_MS = 15_000
/** A probe without a response is retried after this time. */
const PROBE_TIMEOUT_MS = 5_000

export interface ServerProcessOptions {
  /** Name for error messages. */
  readonly name: string
  readonly binary: string
  readonly args: readonly string[]
  /** File to which the output is appended. */
  readonly logFile: string
  /** Returns true once the server is ready. An error counts as not ready. */
  readonly isReady: () => Promise<boolean>
  readonly watchdog: Watchdog
}

/** A server that can be started, stopped, killed and started again with the same arguments. */
export class ServerProcess {
  readonly #options: ServerProcessOptions
  #child: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()

  constructor(options: ServerProcessOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /** Resolves when the server is ready. Throws an error with the end of its log if it exits first or takes too long. */
  async start(): Promise<void> {
    const { name } = this.#options
    if (this.#child !== undefined) throw new Error(`${name} is running already`)
    const child = this.#spawn()
    const deadline = performance.now() + START_TIMEOUT_MS
    while (!(await this.#isReady())) {
      if (this.#child !== child) throw new Error(`${name} ended before it served:\n${await this.#logTail()}`)
      if (performance.now() > deadline) {
        await this.kill()
        throw new Error(`${name} did not serve within ${START_TIMEOUT_MS / 1_000} s:\n${await this.#logTail()}`)
      }
      await sleep(READY_POLL_MS)
    }
  }

  /** Sends SIGTERM, then SIGKILL if the process takes too long to exit. Resolves when it is gone. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    child.ref()
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await this.#exited
    clearTimeout(force)
  }

  /** Sends SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    this.#child?.ref()
    this.#child?.kill('SIGKILL')
    await this.#exited
  }

  #isReady(): Promise<boolean> {
    const tooLong = sleep(PROBE_TIMEOUT_MS, false, { ref: false })
    return Promise.race([this.#options.isReady().catch(() => false), tooLong])
  }

  #spawn(): ChildProcess {
    const { binary, args, logFile, watchdog } = this.#options
    const log = openSync(logFile, 'a')
    const child = spawn(binary, args, {
      stdio: ['ignore', log, log],
      // Its own process group: we handle Ctrl-C in the terminal, so that servers stop after their clients.
      detached: true,
    })
    closeSync(log)
    child.unref()
    this.#child = child
    const { pid } = child
    if (pid !== undefined) watchdog.watch(pid)
    this.#exited = new Promise((resolve) => {
      const gone = () => {
        if (pid !== undefined) watchdog.forget(pid)
        if (this.#child === child) this.#child = undefined
        resolve()
      }
      child.once('exit', gone)
      child.once('error', gone)
    })
    return child
  }

  async #logTail(): Promise<string> {
    const text = await readFile(this.#options.logFile, 'utf8').catch(() => '')
    return tailOf(text)
  }
}
