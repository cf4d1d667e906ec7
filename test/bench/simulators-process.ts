import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { ImageEgress } from '../../sandbox/simulators/index.ts'
import { cpuSecondsOf } from './process-stats.ts'

export interface SimulatorPlan {
  readonly kubeconfig: string
  /** How long each download takes. Nothing is moved, only counted. */
  readonly durationMs: number
  readonly sizeBytes: number
  /** Downloads into DataVolumes whose name begins so end with an error, each time. */
  readonly failing?: { readonly namePrefix: string; readonly afterBytes: number }
}

export interface Question {
  readonly id: number
}

export interface EgressReport {
  readonly bytes: number
  /** The most downloads that ran at once. */
  readonly maxImporting: number
  /** By URL. */
  readonly images: Readonly<Record<string, ImageEgress>>
}

/** The simulators in a process of their own, so that their work does not delay what the observer sees. */
export class SimulatorsProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  #asked = 0

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(plan: SimulatorPlan): Promise<SimulatorsProcess> {
    const child = fork(join(import.meta.dirname, 'simulators-child.ts'), [JSON.stringify(plan)], { execArgv: [] })
    const ended = once(child, 'exit').then(() => {
      throw new Error('the simulators ended before they were ready')
    })
    await Promise.race([once(child, 'message'), ended])
    ended.catch(() => undefined)
    return new SimulatorsProcess(child)
  }

  async egress(): Promise<EgressReport> {
    const id = ++this.#asked
    const answer = Promise.withResolvers<EgressReport>()
    const onMessage = (message: unknown) => {
      const report = message as EgressReport & Question
      if (report.id === id) answer.resolve(report)
    }
    this.#child.on('message', onMessage)
    this.#child.send({ id })
    try {
      return await answer.promise
    } finally {
      this.#child.off('message', onMessage)
    }
  }

  cpuSeconds(): Promise<number> {
    return cpuSecondsOf(this.#child.pid ?? 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.disconnect()
    await exited
  }
}
