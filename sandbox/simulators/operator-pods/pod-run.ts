import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse, stringify } from 'yaml'
import { type Clock, sleep } from '../../../operator/base/clock.ts'
import { isApiError } from '../../../operator/kube/api-error.ts'
import type { KubeClient } from '../../../operator/kube/kube-client.ts'
import { POD } from '../../../operator/kube/resource-types.ts'
import type { Logger } from '../../../operator/runtime/log.ts'
import type { ControlPlane } from '../../control-plane/control-plane.ts'
import type { Watchdog } from '../../control-plane/watchdog.ts'
import { NODE_NAME } from '../scheduler.ts'
import { ContainerProcess, type Exit } from './container-process.ts'
import { type ContainerState, statusOf } from './pod-status.ts'
import { probe } from './probe.ts'
import {
  type ContainerImage,
  commandOf,
  type OperatorContainer,
  type OperatorPod,
  type ProbeSpec,
  probeUrl,
} from './template.ts'

/** Lifetime of the ServiceAccount token of a pod. No pod here lives that long. */
const TOKEN_SECONDS = 3_607
const RETRY_MS = 500
const RESTART_MAX_MS = 300_000

/** What a node provides to its pods. */
export interface Node {
  readonly client: KubeClient
  readonly controlPlane: Pick<ControlPlane, 'request' | 'kubeconfigYaml'>
  /** Undefined: no such image was pushed. */
  readonly imageOf: (image: string) => ContainerImage | undefined
  readonly watchdog: Watchdog
  /** Folder for files of the pods. */
  readonly folder: string
  readonly log: Logger
  readonly clock: Clock
  /** Wait before the first restart of a container, in milliseconds; doubles with each restart. */
  readonly restartBaseMs: number
  readonly onLine: (pod: OperatorPod, line: string) => void
}

/** The lifecycle of one pod, from its binding to a node until its end. */
export class PodRun {
  readonly #node: Node
  readonly #pod: OperatorPod
  readonly #leaving = new AbortController()
  #graceMs = 0
  #isOver = false
  #process: ContainerProcess | undefined
  #container: ContainerState = {
    state: { waiting: { reason: 'ContainerCreating' } },
    isRunning: false,
    isReady: false,
    restarts: 0,
  }
  #reporting: Promise<void> = Promise.resolve()

  constructor(node: Node, pod: OperatorPod) {
    this.#node = node
    this.#pod = pod
  }

  /** The pod was deleted: it has this time for a graceful stop. */
  leave(graceMs: number): void {
    this.#graceMs = graceMs
    this.#leaving.abort()
  }

  /** The pod does not exist anymore, or the node goes down: kills its process at once, and reports nothing. */
  abandon(): void {
    this.#isOver = true
    this.#leaving.abort()
    this.#process?.kill()
  }

  /** Never throws. */
  async run(): Promise<void> {
    await this.#persist(() => this.#bind())
    while (!this.#leaving.signal.aborted) {
      const exit = await this.#persist(() => this.#runContainer())
      if (exit === undefined || this.#leaving.signal.aborted) break
      await this.#backOff(exit)
    }
    if (!this.#isOver) await this.#persist(() => this.#confirmEnd(), true)
  }

  async #bind(): Promise<void> {
    if (this.#pod.spec.nodeName !== undefined) return
    const { namespace, name } = this.#pod.metadata
    const target = { apiVersion: 'v1', kind: 'Node', name: NODE_NAME }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, namespace }, target }
    await this.#ask('POST', '/binding', binding, [409])
  }

  /** Runs until the container exits, fails its liveness probe, or the pod is deleted. */
  async #runContainer(): Promise<Exit> {
    const [container] = this.#pod.spec.containers
    if (container === undefined) throw new Error(`pod ${this.#pod.metadata.name} has no container`)
    const image = this.#node.imageOf(container.image)
    if (image === undefined) {
      this.#report({ state: { waiting: { reason: 'ErrImagePull', message: `${container.image}: not found` } } })
      throw new Error(`there is no image ${container.image}`)
    }
    const { argv, env } = commandOf(this.#pod, container, image)
    const access = await this.#access()
    const { watchdog, onLine } = this.#node
    const started = new ContainerProcess({
      argv,
      env: { ...access, ...env },
      watchdog,
      onLine: (line) => onLine(this.#pod, line),
    })
    this.#process = started
    if (this.#isOver) started.kill()
    this.#report({ state: { running: { startedAt: started.startedAt } }, isRunning: true })
    const ended = new AbortController()
    const probing = this.#probe(container, started, ended.signal)
    const leaving = Promise.withResolvers<void>()
    this.#leaving.signal.addEventListener('abort', () => leaving.resolve(), { once: true })
    if (this.#leaving.signal.aborted) leaving.resolve()
    await Promise.race([started.exited, leaving.promise])
    const exit = await (this.#isOver ? started.exited : started.end(this.#graceMs))
    ended.abort()
    await probing
    this.#report({ state: terminated(started, exit), isRunning: false, isReady: false })
    return exit
  }

  async #probe(container: OperatorContainer, started: ContainerProcess, signal: AbortSignal): Promise<void> {
    const { livenessProbe, readinessProbe } = container
    const { clock } = this.#node
    const watch = async (spec: ProbeSpec | undefined, onVerdict: (isGood: boolean) => void) => {
      if (spec === undefined) return
      const url = probeUrl(this.#pod, container, spec)
      // A kubelet drops the result of a probe that it cannot send.
      if (url !== undefined) await probe(clock, spec, url, signal, onVerdict)
    }
    if (readinessProbe === undefined) this.#report({ isReady: true })
    await Promise.all([
      watch(readinessProbe, (isReady) => this.#report({ isReady })),
      watch(livenessProbe, (isAlive) => {
        if (!isAlive) void started.end((this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000)
      }),
    ])
  }

  async #backOff(exit: Exit): Promise<void> {
    const { restarts, state } = this.#container
    const waitMs = Math.min(RESTART_MAX_MS, this.#node.restartBaseMs * 2 ** Math.min(restarts, 20))
    this.#node.log.warn({ pod: this.#pod.metadata.name, ...exit }, 'a container ended, and is started again')
    this.#report({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: state, restarts: restarts + 1 })
    await sleep(this.#node.clock, waitMs, this.#leaving.signal).catch(() => undefined)
  }

  /** Writes a kubeconfig of the pod's ServiceAccount, with a token that is bound to the pod. */
  async #access(): Promise<Readonly<Record<string, string>>> {
    const { namespace, name, uid = '' } = this.#pod.metadata
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid }
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${this.#pod.spec.serviceAccountName}/token`
    const spec = { audiences: [], expirationSeconds: TOKEN_SECONDS, boundObjectRef }
    const { controlPlane, folder } = this.#node
    const { status, text } = await controlPlane.request('POST', path, { ...request, spec })
    if (status !== 201) throw new Error(`no token for pod ${name}: ${text}`)
    const { token } = (JSON.parse(text) as { status: { token: string } }).status
    const config = parse(controlPlane.kubeconfigYaml) as { users: { name: string }[] }
    const users = config.users.map((user) => ({ name: user.name, user: { token } }))
    const home = join(folder, uid)
    await mkdir(home, { recursive: true })
    const file = join(home, 'kubeconfig')
    await writeFile(file, stringify({ ...config, users }), { mode: 0o600 })
    // A container has no other home directory and no other program than its own.
    return { KUBECONFIG: file, HOME: home }
  }

  /** The final step of a kubelet: without it, the API server keeps a deleted pod. */
  async #confirmEnd(): Promise<void> {
    await this.#reporting
    // A ReplicaSet uses no name twice.
    await this.#ask('DELETE', '?gracePeriodSeconds=0', undefined, [404])
  }

  async #ask(method: string, suffix: string, body: object | undefined, fine: readonly number[]): Promise<void> {
    const { namespace, name } = this.#pod.metadata
    const path = `/api/v1/namespaces/${namespace}/pods/${name}${suffix}`
    const { status, text } = await this.#node.controlPlane.request(method, path, body)
    if (status >= 300 && !fine.includes(status))
      throw new Error(`${method} ${path} is answered with ${status}: ${text}`)
  }

  /** Writes changes one after the other, without blocking the container. */
  #report(changes: Partial<ContainerState>): void {
    this.#container = { ...this.#container, ...changes }
    this.#reporting = this.#reporting.then(() => this.#persist(() => this.#writeStatus(), true))
  }

  async #writeStatus(): Promise<void> {
    const { client } = this.#node
    const pod = await client.get<OperatorPod>(POD, this.#pod.metadata).catch((error: unknown) => {
      if (!isApiError(error, 'NotFound')) throw error
    })
    if (pod === undefined || pod.metadata.uid !== this.#pod.metadata.uid) return
    const status = statusOf(pod, this.#container, `${new Date().toISOString().slice(0, 19)}Z`)
    if (isDeepStrictEqual(status, pod.status)) return
    await client.replaceStatus(POD, { ...pod, status } as OperatorPod)
  }

  /** Retries until `work` succeeds or is not needed anymore. `isLast`: it is still needed for a pod that ends. */
  async #persist<T>(work: () => Promise<T>, isLast = false): Promise<T | undefined> {
    while (!this.#isOver && (isLast || !this.#leaving.signal.aborted)) {
      try {
        return await work()
      } catch (error) {
        this.#node.log.info({ pod: this.#pod.metadata.name, error: String(error) }, 'the node tries again')
        await sleep(this.#node.clock, RETRY_MS, isLast ? undefined : this.#leaving.signal).catch(() => undefined)
      }
    }
    return undefined
  }
}

function terminated({ startedAt }: ContainerProcess, { exitCode, finishedAt }: Exit): object {
  return { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt } }
}
