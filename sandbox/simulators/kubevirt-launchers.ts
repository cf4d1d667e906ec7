import { PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { KUBELET_FINALIZER, SELECTED_NODE } from './annotations.ts'
import { Delays } from './delays.ts'
import type { MachineFaults } from './kubevirt-faults.ts'
import { hasEnded, NODE } from './kubevirt-instances.ts'
import { type Instance, isFinal } from './kubevirt-models.ts'
import type { KubevirtOptions } from './kubevirt-options.ts'
import { type Claim, isTerminating, type Pod, uidOf } from './models.ts'
import * as podStatus from './pod-status.ts'
import { needsConsumer } from './storage.ts'
import { Worker } from './worker.ts'
import { instanceUid, type World } from './world.ts'

const UNBOUND = '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'

/** Scheduler and kubelet of launcher pods, the first consumers of their claims. A deleted one ends as importer pods do. */
export class Launchers {
  readonly worker: Worker
  readonly #world: World
  readonly #options: KubevirtOptions
  readonly #faults: MachineFaults
  readonly #delays: Delays

  constructor(world: World, options: KubevirtOptions, faults: MachineFaults) {
    this.#world = world
    this.#options = options
    this.#faults = faults
    this.#delays = new Delays(world)
    this.worker = new Worker(world, 'launchers', (key) => this.#reconcile(key))
  }

  async #reconcile(key: string): Promise<void> {
    const pod = this.#world.pods.get(key)
    if (pod === undefined) return this.#delays.forget(key)
    const instance = this.#instanceOf(pod)
    if (isTerminating(pod)) return await this.#end(key, pod, instance)
    if (hasEnded(pod) || instance === undefined) return
    if (pod.status?.phase === 'Running') return await this.#watchOver(pod, instance)
    await this.#schedule(key, pod, instance)
  }

  /** The pod ends with its guest. */
  async #watchOver(pod: Pod, instance: Instance): Promise<void> {
    if (!isFinal(instance)) return
    const end = instance.status?.phase === 'Succeeded' ? 'completed' : 'evicted'
    await this.#write(pod, podStatus.ended(pod, { type: end }, this.#now()))
  }

  async #schedule(key: string, pod: Pod, instance: Instance): Promise<void> {
    const unbound = this.#claimsOf(pod).filter(({ status }) => status?.phase !== 'Bound')
    const obstacle = this.#unplaced(instance, unbound) ?? this.#obstacle(pod, instance)
    if (this.#faults.state('unschedulable', instance) === undefined) await this.#selectNodes(unbound)
    if (obstacle !== undefined || unbound.length > 0) {
      await this.#write(pod, obstacle ?? { phase: 'Pending' })
      return
    }
    if (!this.#delays.passed(this.worker, key, `launch ${uidOf(pod)}`, this.#options.launchMs)) return
    if (this.#faults.take(['launcherFails'], instance)) {
      await this.#write(pod, podStatus.ended(pod, { type: 'evicted' }, this.#now()))
    } else {
      await this.#write(pod, podStatus.running(pod, 0, undefined, this.#now()))
    }
  }

  /** What the scheduler says of a pod that finds no node. Claims that wait for it are no reason: they get the node. */
  #unplaced(instance: Instance, unbound: readonly Claim[]): podStatus.PodStatus | undefined {
    const scripted = this.#faults.state('unschedulable', instance)
    if (scripted !== undefined) return podStatus.unschedulable(this.#now(), scripted.message)
    return unbound.some((claim) => !this.#bindsLate(claim)) ? podStatus.unschedulable(this.#now(), UNBOUND) : undefined
  }

  #obstacle(pod: Pod, instance: Instance): podStatus.PodStatus | undefined {
    if (this.#faults.state('imagePull', instance)) return imagePull(pod)
    const { namespace } = pod.metadata
    const secrets = (pod.spec.volumes ?? []).flatMap(({ secret }) => secret?.secretName ?? [])
    const missing = secrets.find((name) => this.#world.secrets.get(`${namespace}/${name}`) === undefined)
    const stuck =
      this.#faults.state('notCreated', instance)?.message ??
      (missing && `MountVolume.SetUp failed for volume "${missing}" : secret "${missing}" not found`)
    if (stuck === undefined) return undefined
    const isNews = pod.status?.containerStatuses === undefined
    if (isNews) this.#world.event(pod, 'Pod', missing === undefined ? 'FailedCreatePodSandBox' : 'FailedMount', stuck)
    return podStatus.waiting(pod, 'ContainerCreating', '')
  }

  async #end(key: string, pod: Pod, instance: Instance | undefined): Promise<void> {
    const isRunning = pod.status?.phase === 'Running'
    const delayMs = this.#options.shutdownMs
    if (isRunning && !this.#delays.passed(this.worker, key, `end ${uidOf(pod)}`, delayMs)) return
    const { finalizers = [] } = pod.metadata
    if (!finalizers.includes(KUBELET_FINALIZER)) return
    const isClean = isRunning && instance !== undefined
    const end = isClean ? podStatus.ended(pod, { type: 'completed' }, this.#now()) : podStatus.stopped(pod, this.#now())
    const last = hasEnded(pod) ? pod : await this.#write(pod, end)
    await this.#world.patch(POD, this.#world.pods, last, {
      metadata: {
        resourceVersion: last.metadata.resourceVersion,
        finalizers: (last.metadata.finalizers ?? []).filter((finalizer) => finalizer !== KUBELET_FINALIZER),
      },
    })
  }

  /** What the scheduler tells a provisioner that waits for the first consumer. */
  async #selectNodes(claims: readonly Claim[]): Promise<void> {
    for (const claim of claims) {
      const storageClass = this.#world.storageClasses.get(claim.spec.storageClassName ?? '')
      if (storageClass === undefined || !needsConsumer(storageClass, claim)) continue
      const patch = { metadata: { annotations: { [SELECTED_NODE]: NODE } } }
      await this.#world.patch(PERSISTENT_VOLUME_CLAIM, this.#world.claims, claim, patch)
    }
  }

  #bindsLate({ spec }: Claim): boolean {
    return this.#world.storageClasses.get(spec.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer'
  }

  #claimsOf({ metadata, spec }: Pod): Claim[] {
    const names = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
    return names.flatMap((name) => this.#world.claims.get(`${metadata.namespace}/${name}`) ?? [])
  }

  #instanceOf(pod: Pod): Instance | undefined {
    const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'VirtualMachineInstance')
    const found = owner && this.#world.instances.get(`${pod.metadata.namespace}/${owner.name}`)
    return found !== undefined && uidOf(found) === instanceUid(pod) ? found : undefined
  }

  async #write(pod: Pod, status: podStatus.PodStatus): Promise<Pod> {
    if (podStatus.isSameWait(pod.status, status)) return pod
    return await this.#world.writeStatus(POD, this.#world.pods, pod, status)
  }

  #now(): string {
    return this.#world.timestamp()
  }
}

/** A kubelet says the error first, and then that it waits. */
function imagePull(pod: Pod): podStatus.PodStatus {
  const hasTried = pod.status?.containerStatuses?.[0]?.state.waiting !== undefined
  return hasTried
    ? podStatus.waiting(pod, 'ImagePullBackOff', 'Back-off pulling image')
    : podStatus.waiting(pod, 'ErrImagePull', 'failed to pull image')
}
