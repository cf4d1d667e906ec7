import { keyOf } from '../../operator/kube/kube-object.ts'
import { POD } from '../../operator/kube/resource-types.ts'
import { DATA_VOLUME_NAME, IMPORTER_LABEL, IMPORTER_LABEL_VALUE, KUBELET_FINALIZER, POD_PHASE } from './annotations.ts'
import { Delays } from './delays.ts'
import type { Egress } from './egress.ts'
import type { FaultScript } from './faults.ts'
import { ImportRun } from './import-run.ts'
import { type ContainerState, type DataVolume, isTerminating, type Pod, uidOf } from './models.ts'
import * as podStatus from './pod-status.ts'
import type { Transfer } from './transfer.ts'
import { Worker } from './worker.ts'
import { BY_CLAIM, type World } from './world.ts'

/** Number of importers handled at once, each by one worker. */
export const IMPORTERS_AT_ONCE = 16
/** Time for which a kubelet shows `terminated` before it shows CrashLoopBackOff, approximately. */
const TERMINATED_MS = 1_000

export interface KubeletOptions {
  /** From a bound claim to a started container. */
  readonly scheduleMs: number
  /** From the deletion of a running pod to its end. */
  readonly podEndMs: number
  /** From the end of the container with exit code 0 to the phase Succeeded. A kubelet takes some two seconds. */
  readonly phaseLagMs: number
  /** Back-off before the first restart of a container; doubles with each, up to `restartMaxMs`. */
  readonly restartBaseMs: number
  readonly restartMaxMs: number
}

interface Held {
  readonly uid: string
  readonly run: ImportRun
}

/**
 * Runs importer pods: waits for their claims, Secrets and ConfigMaps, starts the container, restarts it indefinitely
 * with back-off, and ends it when the pod is deleted.
 *
 * Our own finalizer holds a deleted pod until its transfer has stopped. A real kubelet uses the grace period, which
 * {@link KubeClient} cannot confirm. The state of a container is in the pod's status. A run that the status shows and
 * this process does not know was lost with another process, as in a node crash: the container starts again from byte 0,
 * with one more restart.
 */
export class Kubelet {
  readonly worker: Worker
  readonly #world: World
  readonly #options: KubeletOptions
  readonly #faults: FaultScript
  readonly #transfer: Transfer
  readonly #egress: Egress
  readonly #delays: Delays
  readonly #held = new Map<string, Held>()
  /** Starts whose status write is pending or lost its response: the container still has to begin. By key of the pod. */
  readonly #told = new Map<string, string>()

  constructor(world: World, options: KubeletOptions, faults: FaultScript, transfer: Transfer, egress: Egress) {
    this.#world = world
    this.#options = options
    this.#faults = faults
    this.#transfer = transfer
    this.#egress = egress
    this.#delays = new Delays(world)
    this.worker = new Worker(world, 'kubelet', (key) => this.#reconcile(key))
    world.pods.onChange(({ key, before, after }) => {
      if (isImporter(after ?? before)) this.worker.queue.add(key)
    })
    world.claims.onChange(({ key }) => {
      for (const pod of world.pods.find(BY_CLAIM, key)) if (isImporter(pod)) this.worker.queue.add(keyOf(pod.metadata))
    })
    world.secrets.onChange(({ before, after }) => this.#wakeWaiting((after ?? before)?.metadata.namespace))
    world.configMaps.onChange(({ before, after }) => {
      if (before === undefined || after === undefined) this.#wakeWaiting((after ?? before)?.metadata.namespace)
    })
  }

  start(): void {
    this.worker.start(IMPORTERS_AT_ONCE)
  }

  async stop(): Promise<void> {
    await this.worker.stop()
    await Promise.all([...this.#held.values()].map(({ run }) => run.stop()))
    this.#held.clear()
  }

  /** Called when the fault script changes. Requeues all importer pods that have not succeeded. */
  wake(): void {
    this.#wakeWaiting(undefined)
  }

  /** Returns the progress that the importer's metrics endpoint would report. */
  progressOf(pod: Pod): string | undefined {
    const held = this.#held.get(keyOf(pod.metadata))
    return held?.uid === uidOf(pod) ? held.run.progress : undefined
  }

  /** Requeues importer pods that have not succeeded. Only those that have not started wait for anything in their namespace. */
  #wakeWaiting(namespace: string | undefined): void {
    for (const pod of this.#world.pods.values()) {
      if (namespace !== undefined && pod.metadata.namespace !== namespace) continue
      if (isImporter(pod) && pod.status?.phase !== 'Succeeded') this.worker.queue.add(keyOf(pod.metadata))
    }
  }

  async #reconcile(key: string): Promise<void> {
    const pod = this.#world.pods.get(key)
    const held = this.#held.get(key)
    if (held !== undefined && held.uid !== pod?.metadata.uid) {
      await held.run.stop()
      this.#held.delete(key)
    }
    if (pod === undefined) {
      this.#told.delete(key)
      return this.#delays.forget(key)
    }
    if (isTerminating(pod)) return await this.#end(key, pod)
    if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return
    const container = pod.status?.containerStatuses?.[0]
    const { running, terminated, waiting } = container?.state ?? {}
    if (running !== undefined) return await this.#watchOver(key, pod)
    if (terminated?.exitCode === 0) return await this.#succeed(key, pod)
    if (terminated !== undefined) return await this.#backOff(key, pod, { terminated })
    if (waiting?.reason === 'CrashLoopBackOff') return await this.#restart(key, pod, container?.restartCount ?? 0)
    await this.#firstStart(key, pod)
  }

  async #firstStart(key: string, pod: Pod): Promise<void> {
    if (!this.#claimsBound(pod)) return
    if (!this.#delays.passed(this.worker, key, `schedule ${uidOf(pod)}`, this.#options.scheduleMs)) return
    const obstacle = this.#obstacle(pod)
    if (obstacle === undefined) await this.#run(key, pod, 0, undefined)
    else if (obstacle !== 'wait') await this.#write(pod, obstacle)
  }

  async #watchOver(key: string, pod: Pod): Promise<void> {
    const held = this.#held.get(key)
    const container = pod.status?.containerStatuses?.[0]
    if (held === undefined) {
      const restarts = container?.restartCount ?? 0
      // Any other container without a download was lost with the previous kubelet.
      if (this.#told.get(key) === startOf(pod, restarts)) this.#begin(key, pod)
      else await this.#run(key, pod, restarts + 1, podStatus.lost(pod, this.#world.timestamp()))
    } else if (held.run.end !== undefined) {
      await this.#write(pod, podStatus.ended(pod, held.run.end, this.#world.timestamp()))
      this.#held.delete(key)
    }
  }

  async #succeed(key: string, pod: Pod): Promise<void> {
    if (!this.#delays.passed(this.worker, key, `phase ${uidOf(pod)}`, this.#options.phaseLagMs)) return
    await this.#write(pod, podStatus.stopped(pod, this.#world.timestamp()))
  }

  async #backOff(key: string, pod: Pod, lastState: ContainerState): Promise<void> {
    const restarts = pod.status?.containerStatuses?.[0]?.restartCount ?? 0
    const shownMs = Math.min(TERMINATED_MS, this.#backOffMs(restarts) / 2)
    if (!this.#delays.passed(this.worker, key, `terminated ${uidOf(pod)} ${restarts}`, shownMs)) return
    await this.#write(pod, podStatus.crashLooping(pod, lastState))
  }

  async #restart(key: string, pod: Pod, restarts: number): Promise<void> {
    if (!this.#delays.passed(this.worker, key, `back-off ${uidOf(pod)} ${restarts}`, this.#backOffMs(restarts))) return
    await this.#run(key, pod, restarts + 1, pod.status?.containerStatuses?.[0]?.lastState)
  }

  #backOffMs(restarts: number): number {
    return Math.min(this.#options.restartMaxMs, this.#options.restartBaseMs * 2 ** Math.min(restarts, 20))
  }

  /** Writes the status first, then downloads. A download that no status shows could start twice. */
  async #run(key: string, pod: Pod, restartCount: number, lastState: ContainerState | undefined): Promise<void> {
    this.#told.set(key, startOf(pod, restartCount))
    await this.#write(pod, podStatus.running(pod, restartCount, lastState, this.#world.timestamp()))
    this.#begin(key, pod)
  }

  #begin(key: string, pod: Pod): void {
    this.#told.delete(key)
    const dataVolume = this.#dataVolumeOf(pod)
    const env = new Map(pod.spec.containers[0]?.env?.map(({ name, value }) => [name, value ?? '']))
    const order = {
      url: env.get('IMPORTER_ENDPOINT') ?? '',
      sourceType: env.get('IMPORTER_SOURCE') ?? 'http',
      checksum: env.get('IMPORTER_CHECKSUM'),
      fault: dataVolume && this.#faults.takeRun(dataVolume),
    }
    const run = new ImportRun(order, this.#transfer, this.#egress, () => this.worker.queue.add(key))
    this.#held.set(key, { uid: uidOf(pod), run })
  }

  async #end(key: string, pod: Pod): Promise<void> {
    const held = this.#held.get(key)
    const slow = this.#faults.state('slowEnd', this.#dataVolumeOf(pod))
    if (!slow?.downloading) await held?.run.stop()
    const { running, terminated } = pod.status?.containerStatuses?.[0]?.state ?? {}
    const { podEndMs, phaseLagMs } = this.#options
    const cleanUpMs = terminated !== undefined && pod.status?.phase === 'Running' ? phaseLagMs : 0
    const delayMs = running === undefined ? cleanUpMs : (slow?.delayMs ?? podEndMs)
    if (!this.#delays.passed(this.worker, key, `end ${uidOf(pod)}`, delayMs)) return
    await held?.run.stop()
    this.#held.delete(key)
    if (!pod.metadata.finalizers?.includes(KUBELET_FINALIZER)) return
    const end = this.#endOf(pod)
    const last = end === undefined ? pod : await this.#write(pod, end)
    await this.#world.releaseFinalizer(POD, this.#world.pods, last, KUBELET_FINALIZER)
  }

  /** Returns the last status that a kubelet writes for a deleted pod; undefined if it is written already, or if the kubelet never had the pod. */
  #endOf(pod: Pod): podStatus.PodStatus | undefined {
    const { phase, containerStatuses } = pod.status ?? {}
    if (phase === 'Running') return podStatus.stopped(pod, this.#world.timestamp())
    return phase === 'Pending' && containerStatuses !== undefined ? podStatus.neverRan(pod) : undefined
  }

  /** Returns the status of a pod whose container cannot start; `wait` if a kubelet reports nothing. */
  #obstacle(pod: Pod): podStatus.PodStatus | 'wait' | undefined {
    const { namespace = '' } = pod.metadata
    const dataVolume = this.#dataVolumeOf(pod)
    if (this.#faults.state('unschedulable', dataVolume)) return podStatus.unschedulable(this.#world.timestamp())
    if (this.#isFilled(pod)) return podStatus.waiting(pod, 'ContainerCreating', '')
    const configMap = pod.spec.volumes?.find((volume) => volume.configMap !== undefined)?.configMap?.name
    if (configMap !== undefined && !this.#world.configMaps.get(`${namespace}/${configMap}`)) return 'wait'
    if (this.#faults.state('imagePull', dataVolume)) {
      return podStatus.waiting(pod, 'ImagePullBackOff', 'Back-off pulling image')
    }
    const mounted = pod.spec.volumes?.find((volume) => volume.secret !== undefined)?.secret?.secretName
    if (mounted !== undefined && !this.#world.secrets.get(`${namespace}/${mounted}`)) return 'wait'
    const lack = this.#lackedSecret(pod)
    return lack === undefined ? undefined : podStatus.waiting(pod, 'CreateContainerConfigError', lack)
  }

  /** Returns what a kubelet says of the first value that a container is to get from a Secret and that is not there. */
  #lackedSecret({ metadata: { namespace }, spec }: Pod): string | undefined {
    for (const { valueFrom } of spec.containers[0]?.env ?? []) {
      const { name, key = '' } = valueFrom?.secretKeyRef ?? {}
      if (name === undefined) continue
      const secret = this.#world.secrets.get(`${namespace}/${name}`)
      if (secret === undefined) return `secret "${name}" not found`
      if (!secret.keys.includes(key)) return `couldn't find key ${key} in Secret ${namespace}/${name}`
    }
    return undefined
  }

  #claimsBound(pod: Pod): boolean {
    return (pod.spec.volumes ?? []).every(({ persistentVolumeClaim: claim }) => {
      if (claim === undefined) return true
      return this.#world.claims.get(`${pod.metadata.namespace}/${claim.claimName}`)?.status?.phase === 'Bound'
    })
  }

  /** The volume of such a claim belongs to another one, so that no kubelet mounts it. */
  #isFilled({ metadata, spec }: Pod): boolean {
    return (spec.volumes ?? []).some(({ persistentVolumeClaim: claim }) => {
      const found = claim && this.#world.claims.get(`${metadata.namespace}/${claim.claimName}`)
      return found?.metadata.annotations?.[POD_PHASE] === 'Succeeded'
    })
  }

  async #write(pod: Pod, status: podStatus.PodStatus): Promise<Pod> {
    if (podStatus.isSameWait(pod.status, status)) return pod
    return await this.#world.writeStatus(POD, this.#world.pods, pod, status)
  }

  #dataVolumeOf(pod: Pod): DataVolume | undefined {
    const name = pod.metadata.annotations?.[DATA_VOLUME_NAME]
    return name === undefined ? undefined : this.#world.dataVolumes.get(`${pod.metadata.namespace}/${name}`)
  }
}

/** Identifies one start of a pod's container. */
function startOf(pod: Pod, restartCount: number): string {
  return `${uidOf(pod)} ${restartCount}`
}

/** Pods of CDI that only read a size have the same label, and no claim that is downloaded to. */
function isImporter(pod: Pod | undefined): boolean {
  const { labels, annotations } = pod?.metadata ?? {}
  return labels?.[IMPORTER_LABEL] === IMPORTER_LABEL_VALUE && annotations?.[DATA_VOLUME_NAME] !== undefined
}
