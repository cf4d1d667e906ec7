import type { Policy } from '@open-terrain/constructs'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { sooner } from '../../runtime/wake.ts'
import { MACHINE, type MachineCaches } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import {
  FINALIZER,
  MACHINE_CHILDREN,
  type MachinePlan,
  type MachineRemoval,
  SECRET_LOOK,
} from './decide/machine-plan.ts'
import { paceOf } from './decide/pace.ts'
import { planMachine } from './decide/plan.ts'
import { logFacts } from './decide/status.ts'
import { factsOf, type MachineMetrics } from './machine-metrics.ts'
import { hasOurs, observeMachine, parsedSpec } from './observe.ts'
import { ObstacleWatch } from './obstacle-watch.ts'
import { listenForTriggers } from './triggers.ts'
import type { MachineView } from './views.ts'
import type { CloudInit } from './world.ts'

export interface MachineControllerOptions extends Services {
  readonly caches: MachineCaches
  readonly metrics: MachineMetrics
  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences: ReferenceCount
  readonly policy: () => Policy
  /** Calls back at each change of the policy; returns how to stop that. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** VirtualMachines, for as long as this process leads. */
export class MachineController {
  readonly #options: MachineControllerOptions
  readonly #controller: ObjectController<MachineView, MachineRemoval, MachinePlan, CloudInit>
  readonly #cloudInit: CloudInitSource
  readonly #obstacles: ObstacleWatch
  readonly #refusals = new Refusals()

  constructor(options: MachineControllerOptions) {
    const { client, caches, clock, countReferences } = options
    this.#options = options
    this.#cloudInit = new CloudInitSource(client, caches.shared.secrets)
    this.#obstacles = new ObstacleWatch({ ...options, onNews: (key) => this.#controller.queue.add(key) })
    this.#controller = new ObjectController(options, caches.reflectors, {
      type: MACHINE,
      finalizer: FINALIZER,
      children: MACHINE_CHILDREN,
      store: caches.machines,
      prepare: (vm, signal) => this.#renderCloudInit(vm, signal),
      plan: (vm, cloudInit) => this.#plan(vm, cloudInit),
      looks: { hasOurs, countReferences },
      pace: (vm, plan, sinceWriteMs) => paceOf(vm.status, plan, sinceWriteMs, caches.waitingWith(vm, plan.status)),
      factsBetween: (_vm, status) => logFacts(status, clock.now()),
      refusals: this.#refusals,
    })
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, onPolicyChange, metrics } = this.#options
    const stops = [
      listenForTriggers(caches, (key) => this.#controller.queue.add(key)),
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
    metrics.readFrom(() => Array.from(caches.machines.values(), ({ status }) => factsOf(status)))
    this.#addAll()
    try {
      await Promise.all([this.#controller.run(signal), this.#obstacles.run(signal)])
    } finally {
      for (const stop of stops) stop()
      metrics.readFrom(undefined)
    }
  }

  #addAll(): void {
    for (const key of this.#options.caches.machines.keys()) this.#controller.queue.add(key)
  }

  #forget(vm: MachineView): void {
    const { uid = '' } = vm.metadata
    this.#obstacles.drop(vm)
    this.#controller.forget(uid)
    this.#cloudInit.forget(uid)
  }

  async #renderCloudInit(vm: MachineView, signal: AbortSignal): Promise<CloudInit> {
    const parsed = parsedSpec(vm.spec)
    if (!parsed.ok || vm.metadata.deletionTimestamp !== undefined) return { kind: 'missing', message: '' }
    return await this.#cloudInit.render(vm, parsed.spec, signal)
  }

  #plan(vm: MachineView, cloudInit: CloudInit): MachinePlan | undefined {
    const { caches, policy, clock } = this.#options
    const refusal = this.#refusals.of(vm.metadata.uid ?? '')
    const world = observeMachine(vm, caches, { policy: policy(), cloudInit, refusal })
    const start = this.#obstacles.look(world)
    // What was told of it stays, until this process has looked itself.
    if (start?.isAwaited) return undefined
    const plan = planMachine({ ...world, obstacle: start?.obstacle }, clock.now())
    // A machine that has a disk goes on without it.
    const isUnread = cloudInit.kind === 'missing' && cloudInit.isRefused === true && plan.status.clone !== undefined
    return isUnread ? { ...plan, wake: sooner(plan.wake, SECRET_LOOK) } : plan
  }
}
