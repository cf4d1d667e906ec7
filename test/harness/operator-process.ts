import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { World } from './world.ts'

const MAIN = join(import.meta.dirname, '../../operator/main.ts')

/** The operator as people run it: a process of its own, which can be killed. */
export class OperatorProcess implements AsyncDisposable {
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(world: World, name: string) {
    this.#child = spawn(process.execPath, [MAIN], {
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        KUBECONFIG: world.cluster.controlPlane.kubeconfigPath,
        OPERATOR_NAMESPACE: world.operatorNamespace,
        POD_NAME: name,
        LEASE_DURATION: '2s',
        LEASE_RENEW_DEADLINE: '1500ms',
        LEASE_RETRY_PERIOD: '300ms',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.lines.push(...text.split('\n')))
    }
    this.#exited = once(this.#child, 'exit')
  }

  /** SIGKILL: no last word to anybody. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** SIGTERM; resolves with the exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    await this.#exited
    return this.#child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill()
  }
}
