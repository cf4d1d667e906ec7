import { isDeepStrictEqual } from 'node:util'
import { type Policy, vmChildNames } from '@open-terrain/constructs'
import { type ApiError, isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  SECRET,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../kube/resource-types.ts'
import type { Clock } from '../../runtime/clock.ts'
import { Controller } from '../../runtime/controller.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import { FailureCount } from '../../runtime/failure-count.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RuntimeMetrics } from '../../runtime/metrics.ts'
import { PlanWriter } from '../../runtime/plan-writer.ts'
import { redactUrls } from '../../runtime/redact.ts'
import { sooner, type Wake } from '../../runtime/wake.ts'
import { WorkQueue } from '../../runtime/work-queue.ts'
import { BY_IMAGE, imageOf, MACHINE, type MachineCaches } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import { isRefused, isStarting, tellsOfHang } from './judge.ts'
import { factsOf, type MachineMetrics } from './machine-metrics.ts'
import { FINALIZER, hasDisk, type MachinePlan, type MachineRemoval, SECRET_LOOK } from './machine-plan.ts'
import { diskOf, observeMachine, parsedSpec } from './observe.ts'
import { ObstacleWatch, type Start } from './obstacle-watch.ts'
import { planMachine } from './plan.ts'
import { refusedOf } from './plan-retries.ts'
import { referenceOf } from './references.ts'
import { isWorthWriting, logFacts, movesEveryMs } from './status.ts'
import { listenForTriggers } from './triggers.ts'
import type { CloneSource, MachineView } from './views.ts'
import type { CloudInit, World } from './world.ts'

const WORKERS = 8
/** Watches bring it soon. */
const NOT_SEEN: Wake = { afterMs: 1_000, because: 'the caches should have by then what a live look has found' }

/** Its status tells what refers to an image, a while after that came. */
const NOT_COUNTED: Wake = { afterMs: 10_000, because: 'the image should tell by then what else refers to it' }

export interface MachineControllerOptions {
  readonly client: KubeClient
  readonly caches: MachineCaches
  readonly clock: Clock
  readonly random: () => number
  readonly log: Logger
  readonly events: EventRecorder
  readonly runtimeMetrics: RuntimeMetrics
  readonly metrics: MachineMetrics
  /** Kind of images, for those that are made from a template. */
  readonly imageType: ResourceType
  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences: (image: ObjectKey, signal: AbortSignal) => Promise<{ readonly names: readonly string[] }>
  readonly policy: () => Policy
  /** Calls back at each change of the policy; returns how to stop that. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** VirtualMachines, for as long as this process leads: a key becomes observe, plan, apply. */
export class MachineController {
  readonly #options: MachineControllerOptions
  readonly #queue: WorkQueue
  readonly #writer: PlanWriter<MachineView, MachineRemoval>
  readonly #cloudInit: CloudInitSource
  readonly #obstacles: ObstacleWatch
  /** What the API server refused last, by uid. */
  readonly #refusals = new Map<string, string>()
  /** How often in a row the API server could not carry out what it was asked, by uid. */
  readonly #failures = new FailureCount()

  constructor(options: MachineControllerOptions) {
    const { client, caches, clock, random, log, events, runtimeMetrics, imageType } = options
    this.#options = options
    this.#queue = new WorkQueue(clock)
    this.#cloudInit = new CloudInitSource(client, caches.shared.secrets)
    const onNews = (key: string) => this.#queue.add(key)
    this.#obstacles = new ObstacleWatch({ client, clock, random, log, runtimeMetrics, onNews })
    this.#writer = new PlanWriter({
      client,
      caches: caches.reflectors,
      clock,
      log,
      events,
      type: MACHINE,
      finalizer: FINALIZER,
      children: { ...CHILDREN, VMDiskImage: { type: imageType, propagationPolicy: 'Background' } },
      isHeldBack: async ({ unlessThere }, _machine, signal) =>
        unlessThere !== undefined && (await this.#isThere(unlessThere, signal)),
      factsBetween: (_machine, status) => logFacts(status, clock.now()),
    })
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log, runtimeMetrics, caches, onPolicyChange, metrics } = this.#options
    const controller = new Controller({
      name: 'virtualmachine',
      queue: this.#queue,
      reconcile: (key, stop) => this.#reconcile(key, stop),
      onError: (key, error) => this.#onError(key, error),
      workers: WORKERS,
      clock,
      random,
      log,
      metrics: runtimeMetrics.forController('virtualmachine'),
    })
    const stops = [
      listenForTriggers(caches, (key) => this.#queue.add(key)),
      onPolicyChange(() => this.#addAll()),
      caches.machines.onChange(({ before, after }) => {
        if (before === undefined) return
        if (after === undefined) this.#forget(before)
        else {
          metrics.kicked(before.status.kicks, after.status.kicks)
          metrics.provisioned(before.status, after.status)
        }
      }),
    ]
    metrics.readFrom(() => this.#facts())
    this.#addAll()
    try {
      await Promise.all([controller.run(signal), this.#obstacles.run(signal)])
    } finally {
      for (const stop of stops) stop()
      metrics.readFrom(undefined)
    }
  }

  #forget(vm: MachineView): void {
    const { uid = '' } = vm.metadata
    this.#obstacles.drop(vm)
    this.#writer.forget(uid)
    this.#cloudInit.forget(uid)
    this.#refusals.delete(uid)
    this.#failures.forget(uid)
  }

  #addAll(): void {
    for (const key of this.#options.caches.machines.keys()) this.#queue.add(key)
  }

  *#facts() {
    for (const { status } of this.#options.caches.machines.values()) yield factsOf(status)
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { caches, clock } = this.#options
    const vm = caches.machines.get(key)
    if (vm === undefined) return undefined
    const cloudInit = await this.#renderCloudInit(vm, signal)
    // Reading a Secret takes its time: what was true before it may not be any more.
    const current = caches.machines.get(key)
    if (current === undefined) return undefined
    const { uid = '' } = current.metadata
    let plan: MachinePlan
    try {
      const world = this.#observe(current, cloudInit)
      const start = this.#start(world)
      // What was told of it stays, until this process has looked itself.
      if (start?.isAwaited) return undefined
      plan = planMachine({ ...world, obstacle: start?.obstacle }, clock.now())
    } catch (error) {
      await this.#writer.tellBug(current, error, signal)
      throw error
    }
    if (await this.#overlooksDisk(current, plan, signal)) return NOT_SEEN
    if (await this.#overlooksReference(current, plan, signal)) return NOT_COUNTED
    const sinceMs = this.#writer.sinceStatusWriteMs(uid)
    const everyMs = movesEveryMs(this.#waitingWith(current, plan))
    const isDue = plan.finalizer !== 'release' && isWorthWriting(current.status, plan.status, sinceMs, everyMs)
    await this.#writer.write(current, plan, isDue, signal)
    this.#failures.forget(uid)
    if (this.#refusals.delete(uid)) this.#queue.add(key)
    const isBehind = !isDue && !isDeepStrictEqual(current.status, plan.status)
    // A machine that has a disk goes on without it.
    const isUnread = cloudInit.kind === 'missing' && cloudInit.isRefused === true && plan.status.clone !== undefined
    const wake = isUnread ? sooner(plan.wake, SECRET_LOOK) : plan.wake
    return isBehind ? sooner(wake, { afterMs: everyMs, because: 'progress is written by then' }) : wake
  }

  /** How many machines wait for the same image, itself included. */
  #waitingWith(vm: MachineView, { status }: MachinePlan): number {
    const [image] = status.clone === undefined ? imageOf(vm) : []
    return image === undefined ? 1 : this.#options.caches.machines.count(BY_IMAGE, image)
  }

  #observe(vm: MachineView, cloudInit: CloudInit): World {
    const { caches, policy } = this.#options
    const refusal = this.#refusals.get(vm.metadata.uid ?? '')
    return observeMachine(vm, caches, { policy: policy(), cloudInit, refusal })
  }

  /** What is known of its start; undefined where it is not starting. */
  #start(world: World): Start | undefined {
    const { vm, spec, instance } = world
    const refused = refusedOf(world)
    if (!spec.ok || !(isStarting(world) || isRefused(world))) {
      this.#obstacles.drop(vm)
      return undefined
    }
    const networks = (spec.spec.interfaces ?? []).map(({ network }) => network)
    return this.#obstacles.note(vm, {
      instanceUid: instance?.metadata.uid,
      networks,
      refusedUid: refused?.object.metadata.uid,
      hasHung: tellsOfHang(vm.status),
    })
  }

  async #renderCloudInit(vm: MachineView, signal: AbortSignal): Promise<CloudInit> {
    const parsed = parsedSpec(vm.spec)
    if (!parsed.ok || vm.metadata.deletionTimestamp !== undefined) return { kind: 'missing', message: '' }
    return await this.#cloudInit.render(vm, parsed.spec, signal)
  }

  #onError(key: string, error: unknown): void {
    const { uid } = this.#options.caches.machines.get(key)?.metadata ?? {}
    if (uid === undefined || !this.#isRefusal(uid, error)) return
    // The next look tells it in the status. A text that is never the same must not make that a loop.
    const isNews = !this.#refusals.has(uid)
    this.#refusals.set(uid, redactUrls(error.message))
    if (isNews) this.#queue.add(key)
  }

  /** A webhook that does not work is an answer too, if it comes again and again. */
  #isRefusal(uid: string, error: unknown): error is ApiError {
    if (isApiError(error, 'Rejected')) return true
    if (!isApiError(error, 'Unavailable')) return false
    return this.#failures.add(uid)
  }

  async #isThere({ kind, namespace, name }: CloneSource, signal: AbortSignal): Promise<boolean> {
    return (await this.#find(SOURCES[kind], { namespace, name }, signal)) !== undefined
  }

  /** Whether the plan takes a disk to be missing that is there: the caches may be behind. They know it from then on. */
  async #overlooksDisk(vm: MachineView, { remove }: MachinePlan, signal: AbortSignal): Promise<boolean> {
    if (!remove.some(({ unlessDisk }) => unlessDisk)) return false
    const { reflectors } = this.#options.caches
    const { namespace = '', name } = vm.metadata
    const look = async (type: ResourceType) => {
      const found = await this.#find(type, { namespace, name: vmChildNames(name).clone }, signal)
      if (found !== undefined) reflectors.observeWrite(type, found)
      return found
    }
    const [clone, claim] = await Promise.all([look(DATA_VOLUME), look(PERSISTENT_VOLUME_CLAIM)])
    return hasDisk(diskOf(vm, clone, claim))
  }

  /** Whether the plan changes an image that is taken for its own, and something else refers to. */
  async #overlooksReference(vm: MachineView, { unlessShared }: MachinePlan, signal: AbortSignal): Promise<boolean> {
    if (unlessShared === undefined) return false
    const { names } = await this.#options.countReferences(unlessShared, signal)
    return names.some((name) => name !== referenceOf(vm))
  }

  async #find(type: ResourceType, key: ObjectKey, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#options.client.get(type, key, { signal })
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined
      throw error
    }
  }
}

const SOURCES = {
  VolumeSnapshot: VOLUME_SNAPSHOT,
  PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
  DataSource: DATA_SOURCE,
} as const

const CHILDREN = {
  // Its instance, and with it the guest, is to be gone before the disk.
  VirtualMachine: { type: KUBEVIRT_VIRTUAL_MACHINE, propagationPolicy: 'Foreground' },
  VirtualMachineInstance: { type: VIRTUAL_MACHINE_INSTANCE, propagationPolicy: 'Background' },
  DataVolume: { type: DATA_VOLUME, propagationPolicy: 'Foreground' },
  Secret: { type: SECRET, propagationPolicy: 'Background' },
} as const
