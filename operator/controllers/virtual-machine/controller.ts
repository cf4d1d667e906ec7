import {
  FINALIZERS,
  type Policy,
  quietReasons,
  VIRTUAL_MACHINE_CONDITION_RULES,
  VIRTUAL_MACHINE_REASON_HELP,
} from '@open-terrain/constructs/operator'
import { type CloneSource, cloneSourceKey, unfinishedCloneOf } from '../../cluster/clone-sources.ts'
import type { Neighbours } from '../../cluster/neighbours.ts'
import { viewDataVolume } from '../../cluster/views.ts'
import type { ClaimsOn } from '../../images/references.ts'
import { isApiError } from '../../kube/api-error.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { LiveReads, ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { MACHINE, type MachineCaches, parsedMachineSpec, viewMachine } from './caches.ts'
import { CloudInitSource } from './cloud-init.ts'
import { awaitedNeighbours } from './decide/absence.ts'
import { MACHINE_CHILDREN, type MachinePlan } from './decide/machine-plan.ts'
import { planMachine } from './decide/plan.ts'
import { logFacts, machineThrottleOf } from './decide/status.ts'
import type { MachineMetrics } from './machine-metrics.ts'
import { hasMachineDisk, observeMachine } from './observe.ts'
import { ObstacleWatch } from './obstacle-watch.ts'
import { waitingRestoreOf } from './restore-look.ts'
import { listenForMachineTriggers } from './triggers.ts'
import type { CloudInit, MachineView, Restoring } from './world.ts'

interface Options extends Services {
  readonly caches: MachineCaches
  readonly metrics: MachineMetrics
  readonly neighbours: Pick<Neighbours, 'await' | 'forget' | 'noteFailure'>
  /** Counts everything that refers to an image, by a live read. Throws ApiError. */
  readonly countReferences: ReferenceCount
  readonly claimsOn: ClaimsOn
  readonly policy: () => Policy
  /** See `ServerClock`. */
  readonly serverNow: () => number | undefined
  /** Calls the listener at each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** No Secret is read for a machine that gets no guest. */
const NOT_ASKED: CloudInit = { kind: 'missing', reason: 'MissingPasswordSecret', message: '' }

/** What is read live for each plan. */
interface Prepared {
  readonly cloudInit: CloudInit
  /** A restore of KubeVirt that has switched the machine off, and waits for its guest to stop. */
  readonly restore: Restoring | undefined
}

/** A live look for unfinished clones of anybody, in any namespace. Throws ApiError. */
function isClonedBy(client: Services['client']): NonNullable<LiveReads<MachineView>['isCloned']> {
  return async ({ uncloned }, _vm, signal) => {
    const project = (object: KubeObject) => unfinishedCloneOf(viewDataVolume(object))
    const sources = await listWhole(client, DATA_VOLUME, { signal, project })
    return sources.flat().includes(cloneSourceKey(uncloned as CloneSource))
  }
}

/** Reports whether a plan asks for a root disk. */
function asksForRoot({ apply, status }: MachinePlan): boolean {
  const names = [status.clone?.name, status.replacement?.disk.name]
  return apply.some(({ kind, metadata }) => kind === DATA_VOLUME.kind && names.includes(metadata.name))
}

/** Reconciles VirtualMachines while this process leads. */
export class MachineController extends ObjectController<MachineView, MachinePlan, Prepared> {
  constructor(options: Options) {
    const { client, caches, clock, metrics, neighbours, countReferences, claimsOn, policy, serverNow } = options
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
        neighbours.forget(vm.metadata.uid ?? '')
        cloudInits.forget(vm.metadata.uid ?? '')
        caches.asking.delete(vm.metadata.uid ?? '')
      },
      whole: viewMachine,
      gauges: metrics,
      // An image that is refreshed changes no phase of a machine.
      quietReasons: quietReasons(VIRTUAL_MACHINE_REASON_HELP),
      states: { reasons: VIRTUAL_MACHINE_REASON_HELP, conditions: VIRTUAL_MACHINE_CONDITION_RULES },
      loops: [obstacles],
      prepare: async (vm, signal) => {
        const parsed = parsedMachineSpec(vm)
        if (!parsed.ok || isTerminating(vm)) return { cloudInit: NOT_ASKED, restore: undefined }
        const restore = await waitingRestoreOf(vm, parsed.spec, caches, client, signal)
        return { cloudInit: await cloudInits.render(vm, parsed.spec, signal), restore }
      },
      plan: (vm, { cloudInit, restore }) => {
        if (!caches.isComplete) return undefined
        const refusal = refusals.of(vm.metadata.uid ?? '')
        const more = { policy: policy(), cloudInit, refusal, claimsOn, serverNow: serverNow() }
        const seen = observeMachine(vm, caches, more)
        const world = restore === undefined || seen.restoring !== undefined ? seen : { ...seen, restoring: restore }
        const start = obstacles.look(world)
        // The status stays unchanged until this process has made a live look of its own.
        if (start?.isAwaited) return undefined
        const key = keyOf(vm.metadata)
        const awaited = awaitedNeighbours(world)
        const known = neighbours.await(vm.metadata.uid ?? '', awaited, () => this.queue.add(key))
        const plan = planMachine({ ...world, obstacle: start?.obstacle, neighbours: known }, clock.now())
        const { uid = '' } = vm.metadata
        if (asksForRoot(plan)) caches.asking.add(uid)
        else caches.asking.delete(uid)
        return plan
      },
      reads: { hasOurs: hasMachineDisk, countReferences, isCloned: isClonedBy(client) },
      throttle: (vm, { status, remove }, sinceWriteMs) =>
        machineThrottleOf(vm.status, status, sinceWriteMs, caches.waitingWith(vm, status), remove.length > 0),
      factsBetween: (_vm, status) => logFacts(status, clock.now()),
      refusals,
      onError: (vm, error) => {
        // What was asked for may not come. Others look again in their time: to requeue them at once would void the backoff of all.
        caches.asking.delete(vm.metadata.uid ?? '')
        if (isApiError(error)) neighbours.noteFailure(error.message)
      },
    })
  }
}
