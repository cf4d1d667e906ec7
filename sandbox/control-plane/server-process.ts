import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { tailOf } from './output-tail.ts'
import type { Watchdog } from './watchdog.ts'

const READY_POLL_MS = 50
/** A probe that gets no answer at all is asked again. */
const PROBE_TIMEOUT_MS = 5_000

export interface ServerProcessOptions {
  /** As people call it, in error messages. */
  readonly name: string
  readonly binary: string
  readonly args: readonly string[]
  /** Output goes here. */
  readonly logFile: string
  /** True once it serves. A throw counts as not yet. */
  readonly isReady: () => Promise<boolean>
  readonly watchdog: Watchdog
  readonly startTimeoutMs?: number
  /** How long it may take to end by itself after SIGTERM. */
  readonly stopTimeoutMs?: number
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

  /** Resolves when it serves. Throws with the end of its log when it ends before, or takes too long. */
  async start(): Promise<void> {
    const { name, startTimeoutMs = 60_000 } = this.#options
    if (this.#child !== undefined) throw new Error(`${name} is running already`)
    const child = this.#spawn()
    const deadline = performance.now() + startTimeoutMs
    while (!(await this.#isReady())) {
      if (this.#child !== child) throw new Error(`${name} ended before it served:\n${await this.#logTail()}`)
      if (performance.now() > deadline) {
        await this.kill()
        throw new Error(`${name} did not serve within ${startTimeoutMs / 1_000} s:\n${await this.#logTail()}`)
      }
      await sleep(READY_POLL_MS)
    }
  }

  /** SIGTERM, then SIGKILL when it takes too long. Resolves when the process is gone. */
  async stop(): Promise<void> {
    const child = this.#child
    if (child === undefined) return
    child.ref()
    child.kill('SIGTERM')
    const force = setTimeout(() => child.kill('SIGKILL'), this.#options.stopTimeoutMs ?? 15_000)
    await this.#exited
    clearTimeout(force)
  }

  /** SIGKILL. Resolves when the process is gone. */
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
      // Its own process group: a Ctrl-C in the terminal is ours to handle, and the servers end after their clients.
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
