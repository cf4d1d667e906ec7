import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ALLOCATOR, NODE_FLAGS } from '../../operator/node-flags.ts'
import { Watchdog } from '../../sandbox/control-plane/watchdog.ts'

const MAIN = join(import.meta.dirname, '../../operator/main.ts')

/** Environment variables, in the format of the operator. */
export interface LeaseEnvironment {
  readonly LEASE_DURATION: string
  readonly LEASE_RENEW_DEADLINE: string
  readonly LEASE_RETRY_PERIOD: string
}

/** Short, because the operator after one that is killed waits for its end; long enough that a busy machine does not cost the lead. */
const SHORT_LEASE: LeaseEnvironment = {
  LEASE_DURATION: '4s',
  LEASE_RENEW_DEADLINE: '3500ms',
  LEASE_RETRY_PERIOD: '500ms',
}

/** What an operator process needs. A World has all of it. */
interface Surroundings {
  readonly cluster: { readonly controlPlane: { readonly kubeconfigPath: string } }
  readonly operatorNamespace: string
  readonly operatorKubeconfig?: string
  /** Also receives its output, for the error of a wait that times out. */
  readonly logs?: { readonly lines: string[] }
}

export interface OperatorProcessOptions {
  /** Default: the kubeconfig of the operator's ServiceAccount, or an administrator's if there is none. */
  readonly kubeconfig?: string
  /** What to run. Default: the operator from source; a bundle starts sooner. */
  readonly entry?: string
  /** Null: the operator's own defaults. */
  readonly lease?: LeaseEnvironment | null
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>
}

/** Ends the operators when the process of the tests does, however that ends. */
let watchdog: Watchdog | undefined

/** The operator as people run it: in its own process, which can be killed. */
export class OperatorProcess implements AsyncDisposable {
  readonly lines: string[] = []
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(world: Surroundings, name: string, options: OperatorProcessOptions = {}) {
    const { operatorKubeconfig = world.cluster.controlPlane.kubeconfigPath } = world
    const { kubeconfig = operatorKubeconfig, entry = MAIN, lease = SHORT_LEASE } = options
    this.#child = spawn(process.execPath, [...NODE_FLAGS, entry], {
      env: {
        ...ALLOCATOR,
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        KUBECONFIG: kubeconfig,
        OPERATOR_NAMESPACE: world.operatorNamespace,
        POD_NAME: name,
        ...lease,
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { pid } = this.#child
    watchdog ??= new Watchdog()
    if (pid !== undefined) watchdog.watch(pid)
    const keep = (lines: readonly string[]) => {
      this.lines.push(...lines)
      world.logs?.lines.push(...lines.filter((line) => line !== ''))
    }
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => keep(text.split('\n')))
    }
    // Not `exit`, which comes before its last lines are read.
    this.#exited = once(this.#child, 'close').then(([code, signal]) => {
      if (pid !== undefined) watchdog?.forget(pid)
      keep([`the operator's process ${name} ended: ${signal ?? `exit code ${code}`}`])
    })
  }

  /** Sends SIGKILL: the process cannot finish or release anything. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  /** Sends SIGSTOP: the process does nothing, and does not notice. */
  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child.kill('SIGCONT')
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
