import { isDeepStrictEqual } from 'node:util'
import { isApiError } from '../../operator/kube/api-error.ts'
import { keyOf } from '../../operator/kube/kube-object.ts'
import { POD, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { Delays } from './delays.ts'
import { KubevirtController, type KubevirtParts } from './kubevirt-controller.ts'
import { answersProbe, type MachineRunFault, PAUSES } from './kubevirt-faults.ts'
import { hasRun, type Instance, type InstancePhase, type InstanceStatus, isFinal } from './kubevirt-models.ts'
import { guestInterfaces } from './kubevirt-network.ts'
import { INSTANCE_FINALIZER, launcherPod } from './kubevirt-objects.ts'
import { type ShortCondition, shortened, withTimes } from './kubevirt-status.ts'
import { disksOf, hasFailed, isReadyToLaunch, type MachineDisk, needsTemporaryPod } from './kubevirt-volumes.ts'
import { type Condition, isTerminating, type Pod, uidOf } from './models.ts'
import { Retries, watchedPartOf } from './retries.ts'
import { nodeOf } from './scheduler.ts'
import { BY_INSTANCE } from './world.ts'

const NOT_ALL_READY: ShortCondition = [
  'DataVolumesReady',
  'False',
  'NotAllDVsReady',
  "Not all of the VMI's DVs are ready",
]
const ALL_READY: ShortCondition = [
  'DataVolumesReady',
  'True',
  'AllDVsReady',
  "All of the VMI's DVs are bound and ready",
]
const NOT_SCHEDULED: ShortCondition = ['Ready', 'False', 'PodNotExists', 'virt-launcher pod has not yet been scheduled']
const POD_TERMINATING: ShortCondition = ['Ready', 'False', 'PodTerminating', 'virt-launcher pod is terminating']
const NOT_RUNNING: ShortCondition = ['Ready', 'False', 'GuestNotRunning', 'Guest VM is not reported as running']

/** KubeVirt adds it to the delay of each probe. */
const PROBE_DELAY_MS = 10_000
/** From a resumed guest to a ready pod. */
const GATE_MS = 1_000
const CONTAINERS_NOT_READY: ShortCondition = [
  'Ready',
  'False',
  'ContainersNotReady',
  'containers with unready status: [compute]',
]
const GATE_CLOSED: ShortCondition = [
  'Ready',
  'False',
  'ReadinessGatesNotReady',
  'the status of pod readiness gate "kubevirt.io/virtual-machine-unpaused" is not "True", but False',
]

/** KubeVirt's instance controller, with the guests of the instances: waits for the disks, creates the launcher pod, boots. */
export class Instances extends KubevirtController {
  readonly #boots = new Delays(this.world)
  readonly #ends = new Delays(this.world)
  readonly #gates = new Delays(this.world)
  readonly #probes = new Delays(this.world)
  readonly #retries = new Retries(this.world, this.options)
  /** How the run of a guest ends, by UID of its instance; undefined if no fault is scripted. */
  readonly #runs = new Map<string, MachineRunFault | undefined>()

  constructor(parts: KubevirtParts) {
    super('kubevirt instances', parts)
  }

  protected async reconcile(key: string): Promise<void> {
    const instance = this.world.instances.get(key)
    if (instance === undefined) {
      this.#boots.forget(key)
      this.#ends.forget(key)
      this.#gates.forget(key)
      this.#probes.forget(key)
      this.#retries.forget(key)
      return
    }
    const pod = this.#launcherOf(instance)
    if (this.outages.isAway) return await this.#goOn(key, instance, pod)
    if (isTerminating(instance) || isFinal(instance)) return await this.#windDown(instance, pod)
    const disks = disksOf(this.world, instance.metadata.namespace ?? '', instance.spec)
    if (pod === undefined && disks.some(hasFailed)) return await this.#enter(instance, 'Failed', [NOT_SCHEDULED])
    if (pod === undefined && hasRun(instance)) return await this.#enter(instance, 'Failed', [NOT_RUNNING])
    if (pod === undefined) return await this.#prepare(key, instance, disks)
    await this.#follow(key, instance, pod)
  }

  /** What virt-handler does by itself: a guest that has a pod and was handed over boots, runs, and may end. */
  async #goOn(key: string, instance: Instance, pod: Pod | undefined): Promise<void> {
    const isHandedOver = instance.status?.phase === 'Scheduled' || instance.status?.phase === 'Running'
    const isThere = pod?.status?.phase === 'Running' && !isTerminating(pod)
    if (isHandedOver && isThere && !isTerminating(instance)) await this.#follow(key, instance, pod)
  }

  /** An instance ends with its launcher pod. Its final phase depends on whether its guest ever ran. */
  async #windDown(instance: Instance, pod: Pod | undefined): Promise<void> {
    const isOver = pod === undefined || hasEnded(pod)
    if (pod !== undefined && !isTerminating(pod) && (isTerminating(instance) || !isOver)) {
      await this.world.remove(POD, pod)
    }
    await this.#removeOthers(instance, pod)
    if (!isOver)
      return await this.#enter(instance, instance.status?.phase ?? 'Pending', withOthers(instance, POD_TERMINATING))
    const ended = isFinal(instance) ? instance : await this.#finish(instance, hasRun(instance) ? 'Succeeded' : 'Failed')
    if (!isTerminating(ended)) return
    this.#runs.delete(uidOf(ended))
    await this.world.releaseFinalizer(VIRTUAL_MACHINE_INSTANCE, this.world.instances, ended, INSTANCE_FINALIZER)
  }

  async #prepare(key: string, instance: Instance, disks: readonly MachineDisk[]): Promise<void> {
    const stale = shortOf(instance, 'PodScheduled')
    const missing = disks.find(({ claim }) => claim === undefined)
    if (missing !== undefined) {
      const text = `PVC ${instance.metadata.namespace}/${missing.name} does not exist, waiting for it to appear`
      if (shortOf(instance, 'Synchronized')[0]?.[3] !== text) {
        this.world.event(instance, instance.kind, 'FailedPvcNotFound', text, 'Normal')
      }
      return await this.#enter(instance, 'Pending', [
        NOT_SCHEDULED,
        ['Synchronized', 'False', 'FailedPvcNotFound', text],
        ['PodScheduled', 'False', 'Unschedulable', text],
      ])
    }
    if (!disks.every(isReadyToLaunch)) {
      const provisioning: ShortCondition[] = disks.some(needsTemporaryPod) ? [['Provisioning', 'True']] : []
      return await this.#enter(instance, 'Pending', [NOT_SCHEDULED, NOT_ALL_READY, ...provisioning, ...stale])
    }
    const state = JSON.stringify([uidOf(instance), watchedPartOf(instance)])
    if (!this.#retries.isDue(this.worker, key, state)) return
    const refusal = await this.#launch(instance)
    if (refusal === undefined) return this.#retries.forget(key)
    this.#retries.refused(this.worker, key, state)
    // Each try has its own event message. The condition keeps the first one.
    this.world.event(instance, instance.kind, 'FailedCreate', `Error creating pod: ${refusal}`)
    const text = sticky(instance, 'FailedCreate') ?? `failed to create virtual machine pod: ${refusal}`
    await this.#enter(instance, 'Pending', [NOT_SCHEDULED, ['Synchronized', 'False', 'FailedCreate', text], ...stale])
  }

  #launchers(instance: Instance): readonly Pod[] {
    return this.world.pods.find(BY_INSTANCE, uidOf(instance))
  }

  /** Returns the pod that has the guest: the source of a migration until that is completed, and its target from then on. */
  #launcherOf(instance: Instance): Pod | undefined {
    const { completed, sourcePod, targetPod } = instance.status?.migrationState ?? {}
    const pods = this.#launchers(instance)
    return named(completed === true ? targetPod : sourcePod, pods) ?? pods[0]
  }

  /** Removes the launcher pods that do not have the guest: the source of a migration that is over, or all but one at the end. */
  async #removeOthers(instance: Instance, launcher: Pod | undefined): Promise<void> {
    for (const pod of this.#launchers(instance))
      if (pod !== launcher && !isTerminating(pod)) await this.world.remove(POD, pod)
  }

  /** Returns why the pod was rejected, or undefined if it was created. */
  async #launch(instance: Instance): Promise<string | undefined> {
    const scripted = this.faults.state('podRefused', instance)
    if (scripted !== undefined) return scripted.message
    try {
      await this.world.create(POD, this.world.pods, launcherPod(instance, this.world.random))
      return undefined
    } catch (error) {
      if (!isApiError(error, 'Rejected')) throw error
      return error.message
    }
  }

  async #follow(key: string, instance: Instance, pod: Pod): Promise<void> {
    if (hasEnded(pod) || isTerminating(pod)) {
      if (hasEnded(pod)) await this.#finish(instance, pod.status?.phase === 'Succeeded' ? 'Succeeded' : 'Failed')
      else await this.#enter(instance, instance.status?.phase ?? 'Scheduling', withOthers(instance, POD_TERMINATING))
      return
    }
    if (pod.status?.phase !== 'Running') return await this.#enter(instance, 'Scheduling', waitingConditions(pod))
    const delayMs = this.options.bootMs + (this.faults.state('slowStart', instance)?.delayMs ?? 0)
    const hasBooted = hasRun(instance) || this.#boots.passed(this.worker, key, `boot ${uidOf(instance)}`, delayMs)
    // From here on the instance belongs to virt-handler, which sets the node.
    if (!hasBooted) return await this.#enter(instance, 'Scheduled', [NOT_RUNNING, ALL_READY], nodeOf(pod))
    if (instance.status?.migrationState?.completed === true) await this.#removeOthers(instance, pod)
    await this.#run(key, instance)
  }

  async #run(key: string, scheduled: Instance): Promise<void> {
    const instance = scheduled.status?.phase === 'Running' ? scheduled : await this.#switchOn(scheduled)
    const uid = uidOf(instance)
    if (!this.#runs.has(uid)) this.#runs.set(uid, this.faults.take(['guestShutdown', 'guestCrash'], instance))
    const running = await this.#show(instance, await this.#runningStatus(instance))
    const end = this.#runs.get(uid)
    if (end === undefined || end.type === 'launcherFails') return
    if (!this.#ends.passed(this.worker, key, `end ${uid}`, end.afterMs ?? 0)) return
    await this.#finish(running, end.type === 'guestShutdown' ? 'Succeeded' : 'Failed')
  }

  /** The guest runs for a moment before it is reported as ready. */
  async #switchOn(instance: Instance): Promise<Instance> {
    const { status = {} } = instance
    const conditions = withTimes([NOT_RUNNING, ALL_READY], status.conditions ?? [], this.world.timestamp())
    return await this.#show(instance, {
      ...this.#inPhase(status, 'Running'),
      conditions: this.#reported(instance, conditions),
    })
  }

  async #runningStatus(instance: Instance): Promise<InstanceStatus> {
    const { status = {}, spec } = instance
    const { sockets = 1, cores = 1, threads = 1 } = spec.domain.cpu ?? {}
    const { migration, topology, memory } = await this.#migrated(instance, { sockets, cores, threads })
    const interfaces = status.interfaces ?? (await guestInterfaces(this.world, instance))
    const conditions = [...this.#guestConditions(instance), ALL_READY, this.#migratable(instance)]
    // The guest gets an added socket only after a migration.
    if (topology.sockets !== sockets) conditions.push(['HotVCPUChange', 'True'])
    if (memory.guestCurrent !== spec.domain.memory?.guest) conditions.push(['HotMemoryChange', 'True'])
    return {
      ...this.#inPhase(status, 'Running'),
      currentCPUTopology: topology,
      memory,
      ...migration,
      interfaces,
      conditions: this.#reported(instance, withTimes(conditions, status.conditions ?? [], this.world.timestamp())),
    }
  }

  /** A guest that has migrated to its second launcher pod has all that its spec says. */
  async #migrated(instance: Instance, wanted: NonNullable<InstanceStatus['currentCPUTopology']>) {
    const { status = {}, spec } = instance
    const guest = spec.domain.memory?.guest
    const asked = { topology: wanted, memory: { ...(guest !== undefined && { guestCurrent: guest }) } }
    const had = { topology: status.currentCPUTopology ?? asked.topology, memory: status.memory ?? asked.memory }
    const { migrationState } = status
    const isUnderWay = migrationState?.completed === false
    if (this.faults.state('migrating', instance)) {
      const begun = isUnderWay ? migrationState : await this.#beginMigration(instance)
      return { migration: begun === undefined ? {} : { migrationState: begun }, ...had }
    }
    const target = named(migrationState?.targetPod, this.#launchers(instance))
    if (!isUnderWay || target?.status?.phase !== 'Running') return { migration: {}, ...had }
    const nodeName = nodeOf(target)
    return {
      migration: { migrationState: { ...migrationState, completed: true }, ...(nodeName && { nodeName }) },
      ...asked,
    }
  }

  /** A migration whose pod is refused does not begin. */
  async #beginMigration(instance: Instance): Promise<InstanceStatus['migrationState']> {
    const source = this.#launcherOf(instance)?.metadata.name
    const other = () => this.#launchers(instance).find(({ metadata }) => metadata.name !== source)
    if (other() === undefined) await this.#launch(instance)
    const target = other()
    if (target === undefined) return instance.status?.migrationState
    return { completed: false, ...(source !== undefined && { sourcePod: source }), targetPod: target.metadata.name }
  }

  /** virt-controller copies the readiness of the pod. While it is stopped, the condition stays as it was. */
  #reported({ status }: Instance, conditions: readonly Condition[]): readonly Condition[] {
    if (!this.outages.isAway) return conditions
    const frozen = (status?.conditions ?? []).filter(({ type }) => type === 'Ready')
    return [...frozen, ...conditions.filter(({ type }) => type !== 'Ready')]
  }

  /** Returns the conditions of a running guest. The readiness gate of its pod is open only while the guest is not paused. */
  #guestConditions(instance: Instance): ShortCondition[] {
    if (this.faults.state('neverReady', instance)) return [CONTAINERS_NOT_READY]
    const paused = this.faults.state('paused', instance)
    // As for a guest without an agent: nothing else shows that it works.
    if (paused !== undefined) return [GATE_CLOSED, ['Paused', 'True', paused.reason, PAUSES[paused.reason]]]
    if (this.#opensGate(instance)) return [GATE_CLOSED]
    const isReady = this.faults.state('podUnready', instance) === undefined && this.#hasAnswered(instance)
    const ready: ShortCondition = isReady ? ['Ready', 'True'] : CONTAINERS_NOT_READY
    return this.faults.state('noAgent', instance) ? [ready] : [ready, ['AgentConnected', 'True']]
  }

  /** Reports whether the probe of the guest succeeds. The first one comes a while after the start. */
  #hasAnswered(instance: Instance): boolean {
    if (instance.spec.readinessProbe === undefined) return true
    const isDue = this.#probes.passed(this.worker, keyOf(instance.metadata), `probe ${uidOf(instance)}`, PROBE_DELAY_MS)
    return isDue && answersProbe(instance, this.faults)
  }

  /** A kubelet evaluates the readiness gate of a pod a moment after its guest resumed. */
  #opensGate(instance: Instance): boolean {
    const wasClosed = instance.status?.conditions?.some(({ reason }) => reason === GATE_CLOSED[2]) === true
    const label = `gate ${uidOf(instance)} ${instance.status?.conditions?.[0]?.lastTransitionTime}`
    return wasClosed && !this.#gates.passed(this.worker, keyOf(instance.metadata), label, GATE_MS)
  }

  #migratable({ metadata, spec }: Instance): ShortCondition {
    const claims = disksOf(this.world, metadata.namespace ?? '', spec)
    const bound = claims.find(({ claim }) => !claim?.spec.accessModes?.includes('ReadWriteMany'))
    if (bound === undefined) return ['LiveMigratable', 'True']
    const text = `cannot migrate VMI: PVC ${bound.name} is not shared, live migration requires that all PVCs must be shared (using ReadWriteMany access mode)`
    return ['LiveMigratable', 'False', 'DisksNotLiveMigratable', text]
  }

  async #finish(instance: Instance, phase: 'Succeeded' | 'Failed'): Promise<Instance> {
    const { status = {} } = instance
    const last = withOthers(instance, POD_TERMINATING)
    const conditions = this.#reported(instance, withTimes(last, status.conditions ?? [], this.world.timestamp()))
    return await this.#show(instance, { ...this.#inPhase(status, phase), conditions })
  }

  async #enter(
    instance: Instance,
    phase: InstancePhase,
    conditions: readonly ShortCondition[],
    nodeName = instance.status?.nodeName,
  ): Promise<void> {
    const { status = {} } = instance
    const dated = withTimes(conditions, status.conditions ?? [], this.world.timestamp())
    const placed = nodeName === undefined ? {} : { nodeName }
    await this.#show(instance, { ...this.#inPhase(status, phase), ...placed, conditions: dated })
  }

  #inPhase(status: InstanceStatus, phase: InstancePhase): InstanceStatus {
    if (status.phase === phase) return status
    const entered = { phase, phaseTransitionTimestamp: this.world.timestamp() }
    return {
      ...status,
      phase,
      phaseTransitionTimestamps: [...(status.phaseTransitionTimestamps ?? []), entered],
    }
  }

  async #show(instance: Instance, status: InstanceStatus): Promise<Instance> {
    if (isDeepStrictEqual(instance.status ?? {}, status)) return instance
    return await this.world.replace(VIRTUAL_MACHINE_INSTANCE, this.world.instances, { ...instance, status })
  }
}

function named(name: string | undefined, pods: readonly Pod[]): Pod | undefined {
  return pods.find(({ metadata }) => metadata.name === name)
}

export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** Keeps the earlier conditions of a guest when it ends, except for the given one. */
function withOthers({ status }: Instance, last: ShortCondition): ShortCondition[] {
  const others = (status?.conditions ?? []).filter(({ type }) => type !== last[0])
  return [last, ...others.map(shortened)]
}

/** Returns the conditions that an instance shows for a launcher pod that does not run yet. */
function waitingConditions(pod: Pod): ShortCondition[] {
  const conditions = [NOT_RUNNING, ALL_READY]
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False') {
    conditions.push(['PodScheduled', 'False', scheduled.reason ?? '', scheduled.message ?? ''])
  }
  const { reason = '', message } = pod.status?.containerStatuses?.[0]?.state.waiting ?? {}
  if (reason === 'ErrImagePull' || reason === 'ImagePullBackOff') {
    conditions.push(['Synchronized', 'False', reason, message ?? ''])
  }
  return conditions
}

/** Returns the first message, which stays as long as the reason does. */
function sticky({ status }: Instance, wanted: string): string | undefined {
  return status?.conditions?.find(({ type, reason }) => type === 'Synchronized' && reason === wanted)?.message
}

function shortOf({ status }: Instance, wanted: string): ShortCondition[] {
  const found = status?.conditions?.find(({ type }) => type === wanted)
  return found === undefined ? [] : [shortened(found)]
}
