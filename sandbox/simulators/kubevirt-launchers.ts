import { createHash } from 'node:crypto'
import { POD } from '../../operator/kube/resource-types.ts'
import { KUBELET_FINALIZER } from './annotations.ts'
import { Delays } from './delays.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import { answersProbe, type MachineFault } from './kubevirt-faults.ts'
import { hasEnded } from './kubevirt-instances.ts'
import { type Instance, isFinal } from './kubevirt-models.ts'
import { type Claim, isTerminating, type Pod, uidOf } from './models.ts'
import { type Attaching, attach, attached } from './multus/multus.ts'
import { bindsLate, claimsOf, lostClaim, selectNode } from './pod-claims.ts'
import * as podStatus from './pod-status.ts'
import { on, type Placement, placePod } from './scheduler.ts'
import { instanceUid } from './world.ts'

/** The longest back-off of a kubelet for an image. */
const PULL_EVERY_MS = 300_000
const TRY = 'try'
const UNBOUND = '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'

/** Why a kubelet does not start a container. */
type Stuck = Omit<Extract<MachineFault, { type: 'notCreated' }>, 'type'>

/** Scheduler and kubelet of launcher pods, which are the first consumers of their claims. A deleted pod ends as importer pods do. */
export class Launchers extends KubevirtController {
  readonly #delays = new Delays(this.world)

  constructor(parts: KubevirtParts) {
    super('launchers', parts)
  }

  protected async reconcile(key: string): Promise<void> {
    const pod = this.world.pods.get(key)
    if (pod === undefined) return this.#delays.forget(key)
    const instance = this.#instanceOf(pod)
    if (isTerminating(pod)) return await this.#end(key, pod, instance)
    if (hasEnded(pod) || instance === undefined) return
    if (pod.status?.phase === 'Running') return await this.#watchOver(pod, instance)
    await this.#schedule(key, pod, instance)
  }

  /** The pod ends with its guest. The pod of a lost node is evicted, but nothing on that node notices. */
  async #watchOver(pod: Pod, instance: Instance): Promise<void> {
    if (this.faults.state('nodeLost', instance) !== undefined) return await this.world.remove(POD, pod)
    if (!isFinal(instance)) return await this.#showReadiness(pod, instance)
    const end = instance.status?.phase === 'Succeeded' ? 'completed' : 'evicted'
    await this.#write(pod, podStatus.ended(pod, { type: end }, this.#now()))
  }

  /** The kubelet probes the guest, and evaluates the readiness gate that a pause closes. */
  async #showReadiness(pod: Pod, instance: Instance): Promise<void> {
    const causes = ['neverReady', 'podUnready', 'paused'] as const
    const isUntroubled = causes.every((cause) => this.faults.state(cause, instance) === undefined)
    const isReady = isUntroubled && answersProbe(instance, this.faults)
    if (pod.status === undefined || podStatus.isReady(pod) === isReady) return
    await this.#write(pod, podStatus.withReadiness(pod.status, isReady, this.#now()))
  }

  async #schedule(key: string, pod: Pod, instance: Instance): Promise<void> {
    const claims = claimsOf(this.world, pod)
    const unbound = claims.filter(({ status }) => status?.phase !== 'Bound')
    const placement = this.#place(pod, instance, claims, unbound)
    if ('refusal' in placement) {
      await this.#write(pod, podStatus.unschedulable(this.#now(), placement.refusal))
      return
    }
    const networks = await attach(this.world, pod)
    const obstacle = this.#obstacle(key, pod, instance, networks)
    await selectNode(this.world, unbound, placement.node)
    if (obstacle !== undefined || unbound.length > 0) {
      await this.#write(pod, obstacle ?? { phase: 'Pending' })
      return
    }
    if (!this.#delays.passed(this.worker, key, `launch ${uidOf(pod)}`, this.options.launchMs)) return
    if (this.faults.take(['launcherFails'], instance)) {
      await this.#write(pod, podStatus.ended(pod, { type: 'evicted' }, this.#now()))
    } else {
      const connected = networks !== undefined && 'status' in networks ? attached(pod, networks.status) : pod
      await this.#write(
        on(connected, placement.node),
        podStatus.withReadiness(podStatus.running(pod, 0, undefined, this.#now()), true, this.#now()),
      )
    }
  }

  /** Finds a node, unless a script or a claim prevents it. Claims that wait for the pod do not: they get its node. */
  #place(pod: Pod, instance: Instance, claims: readonly Claim[], unbound: readonly Claim[]): Placement {
    const { nodes, pods, volumes } = this.world
    const scripted = this.faults.state('unschedulable', instance)
    if (scripted !== undefined) return { refusal: scripted.message ?? podStatus.NO_MEMORY }
    const lost = pod.status?.containerStatuses === undefined ? lostClaim(this.world, pod) : undefined
    if (lost !== undefined) return { refusal: `0/1 nodes are available: ${lost}` }
    if (unbound.some((claim) => !bindsLate(this.world, claim))) return { refusal: UNBOUND }
    const known = claims.flatMap(({ spec }) => volumes.get(spec.volumeName ?? '') ?? [])
    return placePod(pod, { nodes: [...nodes.values()], pods: [...pods.values()], volumes: known })
  }

  /** Returns the status if the kubelet cannot start the container. Each try emits an event, and only the first try changes the pod. */
  #obstacle(
    key: string,
    pod: Pod,
    instance: Instance,
    networks: Attaching | undefined,
  ): podStatus.PodStatus | undefined {
    if (this.faults.state('imagePull', instance)) return this.#imagePull(key, pod)
    const stuck = this.faults.state('notCreated', instance) ?? this.#missingSecret(pod) ?? this.#unconnected(networks)
    if (stuck === undefined) return undefined
    const { reason = 'FailedCreatePodSandBox', message, everyMs } = stuck
    if (this.#tries(key, pod, everyMs)) {
      const id = createHash('sha256')
        .update(`${uidOf(pod)} ${this.#now()}`)
        .digest('hex')
      this.world.event(pod, 'Pod', reason, message.replaceAll('<id>', id))
    }
    return podStatus.waiting(pod, 'ContainerCreating', '')
  }

  #unconnected(networks: Attaching | undefined): Stuck | undefined {
    if (networks === undefined || !('problem' in networks)) return undefined
    return { message: networks.problem, everyMs: this.options.sandboxRetryMs }
  }

  #missingSecret({ metadata: { namespace }, spec }: Pod): Stuck | undefined {
    const secrets = (spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? [])
    const missing = secrets.find((name) => this.world.secrets.get(`${namespace}/${name}`) === undefined)
    if (missing === undefined) return undefined
    return {
      reason: 'FailedMount',
      message: `MountVolume.SetUp failed for volume "${missing}" : secret "${missing}" not found`,
    }
  }

  #imagePull(key: string, pod: Pod): podStatus.PodStatus {
    if (this.#tries(key, pod, PULL_EVERY_MS)) {
      this.world.event(pod, 'Pod', 'Failed', `Failed to pull image "${pod.spec.containers[0]?.image}": not found`)
      this.world.event(pod, 'Pod', 'Failed', 'Error: ErrImagePull')
    }
    return imagePull(pod)
  }

  /** Reports whether the kubelet tries now: the first time, and again after each `everyMs`. */
  #tries(key: string, pod: Pod, everyMs: number | undefined): boolean {
    const isFirst = pod.status?.containerStatuses === undefined
    if (everyMs === undefined || !this.#delays.passed(this.worker, key, TRY, everyMs)) return isFirst
    this.#delays.forget(key)
    this.#delays.passed(this.worker, key, TRY, everyMs)
    return true
  }

  async #end(key: string, pod: Pod, instance: Instance | undefined): Promise<void> {
    const isRunning = pod.status?.phase === 'Running'
    if (isRunning && instance !== undefined && this.faults.state('nodeLost', instance) !== undefined) return
    const delayMs = this.options.shutdownMs
    if (isRunning && !this.#delays.passed(this.worker, key, `end ${uidOf(pod)}`, delayMs)) return
    if (!pod.metadata.finalizers?.includes(KUBELET_FINALIZER)) return
    const isClean = isRunning && instance !== undefined
    const end = isClean ? podStatus.ended(pod, { type: 'completed' }, this.#now()) : podStatus.stopped(pod, this.#now())
    const last = hasEnded(pod) ? pod : await this.#write(pod, end)
    await this.world.releaseFinalizer(POD, this.world.pods, last, KUBELET_FINALIZER)
  }

  #instanceOf(pod: Pod): Instance | undefined {
    const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'VirtualMachineInstance')
    const found = owner && this.world.instances.get(`${pod.metadata.namespace}/${owner.name}`)
    return found !== undefined && uidOf(found) === instanceUid(pod) ? found : undefined
  }

  async #write(pod: Pod, status: podStatus.PodStatus): Promise<Pod> {
    if (podStatus.isSameWait(pod.status, status)) return pod
    return await this.world.writeStatus(POD, this.world.pods, pod, status)
  }

  #now(): string {
    return this.world.timestamp()
  }
}

/** A kubelet reports the error first, and then the back-off. */
function imagePull(pod: Pod): podStatus.PodStatus {
  const hasTried = pod.status?.containerStatuses?.[0]?.state.waiting !== undefined
  return hasTried
    ? podStatus.waiting(pod, 'ImagePullBackOff', 'Back-off pulling image')
    : podStatus.waiting(pod, 'ErrImagePull', 'failed to pull image')
}
