import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { POD, SECRET } from '../../operator/kube/resource-types.ts'
import { NODE } from '../resource-types.ts'
import { Delays } from './delays.ts'
import { type Claim, type Container, isTerminating, type Pod, type PodVolume, uidOf } from './models.ts'
import { attach, attached } from './multus/multus.ts'
import { isOperatorPod } from './operator-pods/template.ts'
import { bindsLate, claimsOf, lostClaim, selectNode } from './pod-claims.ts'
import type { PodStatus } from './pod-status.ts'
import * as podStatus from './pod-status.ts'
import { bind, FLUSH_MS, NODE_LABELS, NODE_NAME, nodeOf, placePod, unavailable, watchRoom } from './scheduler.ts'
import { Worker } from './worker.ts'
import { isJobPod, type WorkloadFault, WorkloadFaults, type WorkloadTarget } from './workload-faults.ts'
import * as workloadStatus from './workload-status.ts'
import { BY_CLAIM, type World } from './world.ts'

/** How long a node may be silent, by the default of Kubernetes. */
const SILENCE_MS = 40_000

/** The collector of pods looks this often. */
const COLLECT_MS = 20_000
/** Kubernetes keeps no more of what a container says at its end. */
const MESSAGE_BYTES_MAX = 4_096
/** As a shell tells of a process that was ended by SIGTERM. */
const ENDED_BY_SIGNAL = 143

/** Durations are in milliseconds. */
export interface WorkloadOptions {
  /** From a pod that can be placed to one that is. */
  readonly scheduleMs: number
  /** From a placed pod to running containers. */
  readonly launchMs: number
  /** How long the containers of a Job run. */
  readonly jobMs: number
  /** From the deletion of a running pod to its end. */
  readonly podEndMs: number
  /** Interval between the tries of a kubelet to create the sandbox of a pod. */
  readonly sandboxRetryMs: number
  /** Back-off before the first restart of a container; doubles with each, up to `restartMaxMs`. */
  readonly restartBaseMs: number
  readonly restartMaxMs: number
}

/**
 * Scheduler and kubelet of the pods of Deployments and Jobs, except for the operator's own. Other simulators handle all other pods. Containers do nothing:
 * they run and are ready, and those of a Job end well after a while, unless a script says otherwise. No essential state is in memory: a restarted simulator continues from the state of the
 * cluster. A deleted pod is gone when its processes have ended, which may take its grace period.
 */
export class Workloads {
  readonly worker: Worker
  readonly #world: World
  readonly #options: WorkloadOptions
  readonly #faults: WorkloadFaults
  readonly #delays: Delays
  readonly #tries: Delays
  /** Pods that fitted no node when they were tried last. */
  readonly #parked = new Set<string>()

  constructor(world: World, options: WorkloadOptions) {
    this.#world = world
    this.#options = options
    this.#faults = new WorkloadFaults(() => {
      this.#parked.clear()
      this.#requeue(() => true)
    })
    this.#delays = new Delays(world)
    this.#tries = new Delays(world)
    this.worker = new Worker(world, 'workloads', (key) => this.#reconcile(key))
    world.pods.onChange(({ key, before, after }) => {
      if (isWorkload(after ?? before)) this.worker.queue.add(key)
    })
    watchRoom(world, (mayFit) => {
      this.#requeue((pod) => {
        const isMeant = nodeOf(pod) === undefined && mayFit(pod)
        if (isMeant) this.#parked.delete(uidOf(pod))
        return isMeant
      })
    })
    world.claims.onChange(({ key }) => {
      for (const pod of world.pods.find(BY_CLAIM, key)) {
        if (!isWorkload(pod)) continue
        this.#parked.delete(uidOf(pod))
        this.worker.queue.add(keyOf(pod.metadata))
      }
    })
    for (const store of [world.secrets, world.configMaps]) {
      store.onChange(({ before, after }) => {
        const namespace = before === undefined ? after?.metadata.namespace : undefined
        if (namespace !== undefined) this.#requeue(({ metadata }) => metadata.namespace === namespace)
      })
    }
  }

  /** Injects a fault into the pods of the Deployments and Jobs that match `target`. The latest script wins. Returns a function that ends it. */
  script(target: WorkloadTarget, fault: WorkloadFault): () => void {
    return this.#faults.add(target, fault)
  }

  start(): void {
    this.worker.start()
  }

  async stop(): Promise<void> {
    await this.worker.stop()
  }

  /** Registers the node, as a kubelet does. A node that people have changed, and other nodes, stay as they are. */
  async register(): Promise<void> {
    if (this.#world.nodes.get(NODE_NAME) !== undefined) return
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE_NAME, labels: NODE_LABELS } }
    await this.#world.create(NODE, this.#world.nodes, node).catch((error: unknown) => {
      if (!isApiError(error, 'AlreadyExists')) throw error
    })
  }

  #requeue(isMeant: (pod: Pod) => boolean): void {
    for (const pod of this.#world.pods.values()) {
      if (isWorkload(pod) && isMeant(pod)) this.worker.queue.add(keyOf(pod.metadata))
    }
  }

  async #reconcile(key: string): Promise<void> {
    const pod = this.#world.pods.get(key)
    if (pod === undefined) {
      this.#tries.forget(key)
      return this.#delays.forget(key)
    }
    if (this.#faults.state('nodeLost', pod)?.node === (nodeOf(pod) ?? '')) return await this.#unreported(key, pod)
    if (isTerminating(pod)) return await this.#end(key, pod)
    if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return
    if (nodeOf(pod) === undefined) await this.#schedule(key, pod)
    else if (pod.status?.phase === 'Running') await this.#watchOver(key, pod)
    else await this.#startContainers(key, pod)
  }

  /** The controller of nodes takes readiness away from pods of which it hears no more. What the kubelet said of the containers stays. */
  async #unreported(key: string, pod: Pod): Promise<void> {
    if (!podStatus.isReady(pod) || pod.status === undefined) return
    if (!this.#delays.passed(this.worker, key, `silence ${uidOf(pod)}`, SILENCE_MS)) return
    await this.#write(pod, podStatus.withReadiness(pod.status, false, this.#now()))
  }

  async #schedule(key: string, pod: Pod): Promise<void> {
    if ((pod.spec.schedulingGates ?? []).length > 0)
      return await this.#write(pod, workloadStatus.gated(pod, this.#now()))
    if (this.#parked.has(uidOf(pod))) {
      if (!this.#isFlushed(key, pod)) return
      this.#parked.delete(uidOf(pod))
    }
    const claims = claimsOf(this.#world, pod)
    const unbound = claims.filter(({ status }) => status?.phase !== 'Bound')
    const volumes = claims.flatMap(({ spec }) => this.#world.volumes.get(spec.volumeName ?? '') ?? [])
    const surroundings = { nodes: [...this.#world.nodes.values()], pods: [...this.#world.pods.values()], volumes }
    const scripted = this.#faults.state('unschedulable', pod)
    const obstacle =
      scripted === undefined
        ? this.#claimObstacle(pod, unbound)
        : (scripted.message ?? unavailable(1, '1 Insufficient memory.'))
    const placement = obstacle === undefined ? placePod(pod, surroundings) : { refusal: obstacle }
    if ('refusal' in placement) return await this.#unplaced(pod, placement.refusal)
    await selectNode(this.#world, unbound, placement.node)
    // The scheduler binds a pod only after its claims.
    if (unbound.length > 0) return
    if (!this.#delays.passed(this.worker, key, `schedule ${uidOf(pod)}`, this.#options.scheduleMs)) return
    await bind(this.#world, pod, placement.node)
    this.#world.event(
      pod,
      'Pod',
      'Scheduled',
      `Successfully assigned ${keyOf(pod.metadata)} to ${placement.node}`,
      'Normal',
    )
  }

  #isFlushed(key: string, pod: Pod): boolean {
    return this.#delays.passed(this.worker, key, `flush ${uidOf(pod)}`, FLUSH_MS)
  }

  async #unplaced(pod: Pod, why: string): Promise<void> {
    this.#parked.add(uidOf(pod))
    this.#delays.forget(keyOf(pod.metadata))
    this.#isFlushed(keyOf(pod.metadata), pod)
    const status = workloadStatus.unplaced(pod, why, this.#now())
    if (isDeepStrictEqual(pod.status, status)) return
    await this.#write(pod, status)
    this.#world.event(pod, 'Pod', 'FailedScheduling', why)
  }

  #claimObstacle(pod: Pod, unbound: readonly Claim[]): string | undefined {
    const nodes = Math.max(1, this.#world.nodes.size)
    const lost = lostClaim(this.#world, pod)
    if (lost !== undefined) return unavailable(nodes, lost)
    if (unbound.every((claim) => bindsLate(this.#world, claim))) return undefined
    return unavailable(nodes, 'pod has unbound immediate PersistentVolumeClaims. not found.')
  }

  async #startContainers(key: string, pod: Pod): Promise<void> {
    const networks = this.#faults.state('noMultus', pod) ? undefined : await attach(this.#world, pod)
    const scripted = this.#faults.state('notCreated', pod)
    const problem = networks !== undefined && 'problem' in networks ? networks.problem : undefined
    const stuck = scripted ?? this.#missingMount(pod) ?? (problem === undefined ? undefined : { message: problem })
    if (stuck !== undefined) return await this.#stuck(key, pod, stuck)
    const ready = networks !== undefined && 'status' in networks ? attached(pod, networks.status) : pod
    const held = this.#unpulled(pod) ?? this.#unconfigured(pod)
    if (held !== undefined) return await this.#write(ready, held)
    if (!this.#delays.passed(this.worker, key, `launch ${uidOf(pod)}`, this.#options.launchMs)) return
    await this.#write(ready, workloadStatus.running(pod, !this.#faults.state('notReady', pod), this.#now()))
  }

  /** Each try of a kubelet emits an event, and only the first one changes the pod. */
  async #stuck(
    key: string,
    pod: Pod,
    { message, reason = 'FailedCreatePodSandBox' }: { readonly message: string; readonly reason?: string },
  ): Promise<void> {
    const isFirst = pod.status?.containerStatuses === undefined
    const isAgain = this.#tries.passed(this.worker, key, 'try', this.#options.sandboxRetryMs)
    if (isAgain) {
      this.#tries.forget(key)
      this.#tries.passed(this.worker, key, 'try', this.#options.sandboxRetryMs)
    }
    if (isFirst || isAgain) {
      const id = createHash('sha256')
        .update(`${uidOf(pod)} ${this.#world.clock.now()}`)
        .digest('hex')
      this.#world.event(pod, 'Pod', reason, message.replaceAll('<id>', id))
    }
    await this.#write(
      pod,
      workloadStatus.held(pod, 'ContainerCreating', () => '', this.#now()),
    )
  }

  #missingMount({ metadata: { namespace }, spec }: Pod): { message: string; reason: string } | undefined {
    for (const { name, configMap, secret, projected } of spec.volumes ?? []) {
      const isLost = (kind: 'secrets' | 'configMaps', of: string) => !this.#world[kind].get(`${namespace}/${of}`)
      const what =
        secret !== undefined && secret.optional !== true && isLost('secrets', secret.secretName)
          ? `secret "${secret.secretName}" not found`
          : configMap !== undefined && configMap.optional !== true && isLost('configMaps', configMap.name)
            ? `configmap "${configMap.name}" not found`
            : this.#missingSource(namespace, projected)
      if (what === undefined) continue
      return { reason: 'FailedMount', message: `MountVolume.SetUp failed for volume "${name}" : ${what}` }
    }
    return undefined
  }

  #missingSource(namespace: string | undefined, { sources = [] }: NonNullable<PodVolume['projected']> = {}) {
    for (const { secret } of sources) {
      if (secret === undefined || secret.optional === true) continue
      const found = this.#world.secrets.get(`${namespace}/${secret.name}`)
      if (found === undefined) return `secret "${secret.name}" not found`
      const lost = secret.items?.find(({ key }) => !found.keys.includes(key))
      if (lost !== undefined) return `references non-existent secret key: ${lost.key}`
    }
    return undefined
  }

  /** A kubelet reports the error first, and then the back-off. */
  #unpulled(pod: Pod): PodStatus | undefined {
    const fault = this.#faults.state('imagePull', pod)
    if (fault === undefined) return undefined
    const errorOf = ({ image = '' }: Container) =>
      fault.message ??
      `failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${image}: not found`
    const waits = pod.status?.containerStatuses?.[0]?.state.waiting?.reason
    if (waits !== 'ErrImagePull' && waits !== 'ImagePullBackOff') {
      const [container] = pod.spec.containers
      if (container)
        this.#world.event(pod, 'Pod', 'Failed', `Failed to pull image "${container.image}": ${errorOf(container)}`)
      return workloadStatus.held(pod, 'ErrImagePull', errorOf, this.#now())
    }
    const backOff = (container: Container) =>
      `Back-off pulling image "${container.image}": ErrImagePull: ${errorOf(container)}`
    return workloadStatus.held(pod, 'ImagePullBackOff', backOff, this.#now())
  }

  #unconfigured(pod: Pod): PodStatus | undefined {
    const { namespace } = pod.metadata
    for (const { env = [], envFrom = [] } of pod.spec.containers) {
      const sources = [
        ...envFrom.map(({ secretRef, configMapRef }) => ({ secret: secretRef, configMap: configMapRef })),
        ...env.map(({ valueFrom: { secretKeyRef, configMapKeyRef } = {} }) => ({
          secret: secretKeyRef,
          configMap: configMapKeyRef,
        })),
      ]
      for (const { secret, configMap } of sources) {
        const isSecretLost = secret && !this.#world.secrets.get(`${namespace}/${secret.name}`)
        const isMapLost = configMap && !this.#world.configMaps.get(`${namespace}/${configMap.name}`)
        if (!isSecretLost && !isMapLost) continue
        const what = isSecretLost ? `secret "${secret.name}"` : `configmap "${configMap?.name}"`
        return workloadStatus.held(pod, 'CreateContainerConfigError', () => `${what} not found`, this.#now())
      }
    }
    return undefined
  }

  /** The containers of a Job end once, with what the script says. */
  async #runOut(key: string, pod: Pod): Promise<void> {
    if (this.#faults.state('neverEnds', pod) !== undefined) return
    const crash = this.#faults.state('crashLoop', pod)
    if (!this.#delays.passed(this.worker, key, `run ${uidOf(pod)}`, crash === undefined ? this.#options.jobMs : 0))
      return
    const exit = this.#faults.state('exit', pod)
    const exitCode = exit?.exitCode ?? (crash === undefined ? 0 : (crash.exitCode ?? 1))
    await this.#write(pod, workloadStatus.exited(pod, exitCode, await this.#lastWords(pod, exit?.message), this.#now()))
  }

  async #lastWords(pod: Pod, message: string | undefined): Promise<string | undefined> {
    if (message?.includes('<secret>') !== true) return message
    const values = await Promise.all(secretsOf(pod).map((name) => this.#valuesOf(pod, name)))
    const text = message.replaceAll('<secret>', values.flat().join(' '))
    return Buffer.from(text).subarray(-MESSAGE_BYTES_MAX).toString()
  }

  async #valuesOf({ metadata: { namespace = '' } }: Pod, name: string): Promise<string[]> {
    const { client, signal } = this.#world
    const secret = await find<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(
      client,
      SECRET,
      { namespace, name },
      { signal },
    )
    return Object.values(secret?.data ?? {}).map((value) => Buffer.from(value, 'base64').toString())
  }

  async #watchOver(key: string, pod: Pod): Promise<void> {
    if (isJobPod(pod)) return await this.#runOut(key, pod)
    const fault = this.#faults.state('crashLoop', pod)
    const restarts = workloadStatus.restartsOf(pod)
    const isDown = pod.status?.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff'
    const { restartBaseMs, restartMaxMs } = this.#options
    const waitMs = Math.min(restartMaxMs, restartBaseMs * 2 ** Math.min(restarts, 20))
    if (isDown && !this.#delays.passed(this.worker, key, `back-off ${uidOf(pod)} ${restarts}`, waitMs)) return
    if (fault !== undefined) {
      const count = isDown ? restarts + 1 : restarts
      return await this.#write(pod, workloadStatus.crashLooping(pod, fault, count, this.#now()))
    }
    await this.#write(pod, workloadStatus.running(pod, !this.#faults.state('notReady', pod), this.#now()))
  }

  async #end(key: string, pod: Pod): Promise<void> {
    this.#parked.delete(uidOf(pod))
    const isRunning = pod.status?.phase === 'Running'
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1_000
    const endMs = this.#faults.state('slowEnd', pod) === undefined ? this.#options.podEndMs : graceMs
    if (isRunning && !this.#delays.passed(this.worker, key, `end ${uidOf(pod)}`, endMs)) return
    if (isJobPod(pod) && !(await this.#endJobPod(key, pod))) return
    await this.#world.remove(POD, pod, { gracePeriodSeconds: 0 })
  }

  /** How it ended is written before it is gone. Of a pod without a node, the collector of pods does that. Reports whether that is done. */
  async #endJobPod(key: string, pod: Pod): Promise<boolean> {
    const { phase } = pod.status ?? {}
    if (phase === 'Succeeded' || phase === 'Failed') return true
    if (phase === 'Running') {
      await this.#write(pod, workloadStatus.exited(pod, ENDED_BY_SIGNAL, undefined, this.#now()))
      return false
    }
    if (nodeOf(pod) !== undefined) await this.#write(pod, workloadStatus.neverRan(pod, this.#now()))
    else if (this.#delays.passed(this.worker, key, `collect ${uidOf(pod)}`, COLLECT_MS))
      await this.#write(pod, workloadStatus.neverPlaced(pod))
    return false
  }

  async #write(pod: Pod, status: PodStatus): Promise<void> {
    const known = this.#world.pods.get(keyOf(pod.metadata))
    if (isDeepStrictEqual([known?.status, known?.metadata], [status, pod.metadata])) return
    await this.#world.writeStatus(POD, this.#world.pods, pod, status)
  }

  #now(): string {
    return this.#world.timestamp()
  }
}

function isWorkload(pod: Pod | undefined): boolean {
  if (pod === undefined || isOperatorPod(pod)) return false
  const owners = pod.metadata.ownerReferences ?? []
  return isJobPod(pod) || owners.some(({ controller, kind }) => controller && kind === 'ReplicaSet')
}

/** Returns the names of the Secrets that a pod mounts. */
function secretsOf({ spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ secret, projected }) => [
    ...(secret === undefined ? [] : [secret.secretName]),
    ...(projected?.sources ?? []).flatMap((one) => one.secret?.name ?? []),
  ])
}
