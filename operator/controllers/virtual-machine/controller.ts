import { isDeepStrictEqual } from 'node:util'
import type { Policy } from '@open-terrain/constructs'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { ResourceType } from '../../kube/kube-object.ts'
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
import { mergeConditions } from '../../runtime/conditions.ts'
import { Controller, type Wake } from '../../runtime/controller.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RuntimeMetrics } from '../../runtime/metrics.ts'
import { PlanWriter } from '../../runtime/plan-writer.ts'
import { redactUrls } from '../../runtime/redact.ts'
import { WorkQueue } from '../../runtime/work-queue.ts'
import { MACHINE, type MachineCaches } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import type { MachineMetrics } from './machine-metrics.ts'
import { FINALIZER, type MachinePlan, type MachineRemoval } from './machine-plan.ts'
import { observeMachine, parsedSpec } from './observe.ts'
import { planMachine } from './plan.ts'
import { isWorthWriting, MOVES_EVERY_MS, reasonOf } from './status.ts'
import { listenForTriggers } from './triggers.ts'
import type { CloneSource, MachineView } from './views.ts'
import type { CloudInit } from './world.ts'

const WORKERS = 8

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
  /** What the API server refused last, by uid. */
  readonly #refusals = new Map<string, string>()

  constructor(options: MachineControllerOptions) {
    const { client, caches, clock, events, imageType } = options
    this.#options = options
    this.#queue = new WorkQueue(clock)
    this.#cloudInit = new CloudInitSource(client, caches.shared.secrets)
    this.#writer = new PlanWriter({
      client,
      caches,
      clock,
      events,
      type: MACHINE,
      finalizer: FINALIZER,
      children: { ...CHILDREN, VMDiskImage: { type: imageType, propagationPolicy: 'Background' } },
      isHeldBack: async ({ unlessThere }, _machine, signal) =>
        unlessThere !== undefined && (await this.#isThere(unlessThere, signal)),
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
        if (before !== undefined && after === undefined) this.#forget(before.metadata.uid ?? '')
      }),
    ]
    metrics.readFrom(() => this.#facts())
    this.#addAll()
    try {
      await controller.run(signal)
    } finally {
      for (const stop of stops) stop()
      metrics.readFrom(undefined)
    }
  }

  #forget(uid: string): void {
    this.#writer.forget(uid)
    this.#cloudInit.forget(uid)
    this.#refusals.delete(uid)
  }

  #addAll(): void {
    for (const key of this.#options.caches.machines.keys()) this.#queue.add(key)
  }

  *#facts() {
    for (const { status } of this.#options.caches.machines.values()) {
      const isFullCopy = status.conditions?.some(({ type }) => type === 'FullCopy') === true
      yield { phase: status.phase ?? 'Provisioning', reason: reasonOf(status) ?? '', isFullCopy }
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Wake | undefined> {
    const { caches, clock, policy, metrics } = this.#options
    const vm = caches.machines.get(key)
    if (vm === undefined) return undefined
    const cloudInit = await this.#renderCloudInit(vm, signal)
    // Reading a Secret takes its time: what was true before it may not be any more.
    const current = caches.machines.get(key)
    if (current === undefined) return undefined
    const { uid = '' } = current.metadata
    const more = { policy: policy(), cloudInit, refusal: this.#refusals.get(uid) }
    const plan = await this.#plan(
      current,
      () => planMachine(observeMachine(current, caches, more), clock.now()),
      signal,
    )
    const sinceMs = this.#writer.sinceStatusWriteMs(uid)
    const isDue = plan.finalizer !== 'release' && isWorthWriting(current.status, plan.status, sinceMs)
    await this.#writer.write(current, plan, isDue, signal)
    if (this.#refusals.delete(uid)) this.#queue.add(key)
    if (plan.remove.some(({ kind }) => kind === 'VirtualMachineInstance')) metrics.kicked()
    const isBehind = !isDue && !isDeepStrictEqual(current.status, plan.status)
    const soon: Wake = { afterMs: MOVES_EVERY_MS, because: 'progress is written by then' }
    return isBehind && (plan.wake?.afterMs ?? Number.POSITIVE_INFINITY) > soon.afterMs ? soon : plan.wake
  }

  async #renderCloudInit(vm: MachineView, signal: AbortSignal): Promise<CloudInit> {
    const parsed = parsedSpec(vm.spec)
    if (!parsed.ok || vm.metadata.deletionTimestamp !== undefined) return { kind: 'missing', message: '' }
    return await this.#cloudInit.render(vm, parsed.spec, signal)
  }

  /** Tells people, where that much can be written, of a machine that cannot be planned. */
  async #plan(vm: MachineView, make: () => MachinePlan, signal: AbortSignal): Promise<MachinePlan> {
    try {
      return make()
    } catch (error) {
      const { client, clock, caches } = this.#options
      const text = redactUrls(error instanceof Error ? error.message : String(error))
      const message = `the operator met an error of its own: ${text}; see its log, and report it`
      const stalled = { type: 'Stalled', status: 'True', reason: 'InternalError', message } as const
      const conditions = mergeConditions(vm.status.conditions ?? [], [stalled], vm.metadata.generation, clock.now())
      const status = { ...vm.status, message, conditions } as MachineView['status']
      if (!isDeepStrictEqual(status, vm.status))
        caches.observeWrite(MACHINE, await client.replaceStatus(MACHINE, { ...vm, status }, { signal }))
      throw error
    }
  }

  #onError(key: string, error: unknown): void {
    const vm = this.#options.caches.machines.get(key)
    if (vm === undefined || !isApiError(error, 'Rejected')) return
    // The next look tells it in the status.
    const isNews = this.#refusals.get(vm.metadata.uid ?? '') !== redactUrls(error.message)
    this.#refusals.set(vm.metadata.uid ?? '', redactUrls(error.message))
    if (isNews) this.#queue.add(key)
  }

  async #isThere({ kind, namespace, name }: CloneSource, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#options.client.get(SOURCES[kind], { namespace, name }, { signal })
      return true
    } catch (error) {
      if (isApiError(error, 'NotFound')) return false
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
