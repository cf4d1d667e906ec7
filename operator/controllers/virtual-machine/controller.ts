import type { Policy } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs'
import { isTerminating } from '../../kube/kube-object.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { MACHINE, type MachineCaches } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import { MACHINE_CHILDREN, type MachinePlan } from './decide/machine-plan.ts'
import { planMachine } from './decide/plan.ts'
import { logFacts, machinePaceOf } from './decide/status.ts'
import type { MachineMetrics } from './machine-metrics.ts'
import { hasMachineDisk, observeMachine, parsedMachineSpec } from './observe.ts'
import { ObstacleWatch } from './obstacle-watch.ts'
import { listenForMachineTriggers } from './triggers.ts'
import type { CloudInit, MachineView } from './world.ts'

interface Options extends Services {
  readonly caches: MachineCaches
  readonly metrics: MachineMetrics
  /** Counts everything that refers to an image, by a live read. Throws ApiError. */
  readonly countReferences: ReferenceCount
  readonly policy: () => Policy
  /** Calls the listener at each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** Reconciles VirtualMachines while this process leads. */
export class MachineController extends ObjectController<MachineView, MachinePlan, CloudInit> {
  constructor(options: Options) {
    const { client, caches, clock, metrics, countReferences, policy } = options
    const refusals = new Refusals()
    const cloudInits = new CloudInitSource(client, caches.cluster.secrets)
    const obstacles = new ObstacleWatch({ ...options, onChange: (key) => this.queue.add(key) })
    super(options, caches.reflectors, {
      type: MACHINE,
      finalizer: FINALIZERS.virtualMachine,
      children: MACHINE_CHILDREN,
      store: caches.machines,
      listen: (queue) => [
        ...listenForMachineTriggers(caches, (key) => queue.add(key)),
        options.onPolicyChange(() => {
          for (const key of caches.machines.keys()) queue.add(key)
        }),
        caches.machines.onChange(({ before, after }) => {
          if (before === undefined || after === undefined) return
          metrics.kicked(before.status.kicks, after.status.kicks)
          metrics.provisioned(before.status, after.status)
        }),
      ],
      onGone: (vm) => {
        obstacles.drop(vm)
        cloudInits.forget(vm.metadata.uid ?? '')
      },
      gauges: metrics,
      loops: [obstacles],
      prepare: async (vm, signal) => {
        const parsed = parsedMachineSpec(vm.spec)
        if (!parsed.ok || isTerminating(vm)) return { kind: 'missing', message: '' }
        return await cloudInits.render(vm, parsed.spec, signal)
      },
      plan: (vm, cloudInit) => {
        if (!caches.isComplete) return undefined
        const refusal = refusals.of(vm.metadata.uid ?? '')
        const world = observeMachine(vm, caches, { policy: policy(), cloudInit, refusal })
        const start = obstacles.look(world)
        // The status stays unchanged until this process has made a live look of its own.
        if (start?.isAwaited) return undefined
        return planMachine({ ...world, obstacle: start?.obstacle }, clock.now())
      },
      looks: { hasOurs: hasMachineDisk, countReferences },
      pace: (vm, { status }, sinceWriteMs) =>
        machinePaceOf(vm.status, status, sinceWriteMs, caches.waitingWith(vm, status)),
      factsBetween: (_vm, status) => logFacts(status, clock.now()),
      refusals,
    })
  }
}
