import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  FINALIZERS,
  type Policy,
  quietReasons,
  WORKSPACE_SNAPSHOT_CONDITION_RULES,
  WORKSPACE_SNAPSHOT_REASON_HELP,
  workspace,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { triggersOf } from '../../cluster/triggers.ts'
import { isTerminating, type KubeObject, namespaceOf } from '../../kube/kube-object.ts'
import {
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
  VOLUME_SNAPSHOT,
} from '../../kube/resource-types.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { PhaseGauge } from '../../runtime/phase-gauge.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { type Change, type Readable, whenContentChanged } from '../../runtime/store.ts'
import type { WorkQueue } from '../../runtime/work-queue.ts'
import { type LabWorkspace, WORKSPACE_SNAPSHOT, type WorkspaceSnapshotCaches } from './caches.ts'
import { planWorkspaceSnapshot, type WorkspaceSnapshotPlan } from './decide/plan.ts'
import { snapshotThrottleOf } from './decide/status.ts'
import { isKnownEnough, observeWorkspaceSnapshot } from './observe.ts'
import type { WorkspaceSnapshotView } from './world.ts'

type Options = Services & {
  readonly caches: WorkspaceSnapshotCaches
  readonly phases: PhaseGauge
  readonly policy: () => Policy
  /** Time of the API server. */
  readonly serverNow: () => number | undefined
  /** Calls `listener` on each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** Reconciles WorkspaceSnapshots, as long as this process leads. */
export class WorkspaceSnapshotController extends ObjectController<
  WorkspaceSnapshotView,
  WorkspaceSnapshotPlan,
  undefined
> {
  constructor(options: Options) {
    const { caches, phases, clock, policy, onPolicyChange, serverNow } = options
    const refusals = new Refusals()
    /** Uids of those whose first members are being written, or were sent without an answer. They hold a place of the limit. */
    const beginning = new Set<string>()
    super(options, caches.reflectors, {
      type: WORKSPACE_SNAPSHOT,
      children: [
        { type: VIRTUAL_MACHINE_SNAPSHOT, propagationPolicy: 'Background' },
        { type: VOLUME_SNAPSHOT, propagationPolicy: 'Background' },
        { type: VIRTUAL_MACHINE_RESTORE, propagationPolicy: 'Background' },
        { type: PERSISTENT_VOLUME_CLAIM, propagationPolicy: 'Background' },
        // It is told which claims its volumes have.
        { type: workspace, propagationPolicy: 'Background' },
      ],
      areChildrenApart: true,
      finalizer: FINALIZERS.workspaceSnapshot,
      store: caches.snapshots,
      listen: (queue) => [...listenForTriggers(caches, queue), onPolicyChange(() => queueWaiting(caches, queue))],
      onGone: ({ metadata }) => beginning.delete(metadata.uid ?? ''),
      gauges: phases,
      quietReasons: quietReasons(WORKSPACE_SNAPSHOT_REASON_HELP),
      states: { reasons: WORKSPACE_SNAPSHOT_REASON_HELP, conditions: WORKSPACE_SNAPSHOT_CONDITION_RULES },
      plan: (snapshot) => {
        if (!isKnownEnough(snapshot, caches)) return undefined
        const refusal = refusals.of(snapshot.metadata.uid ?? '')
        const seen = { refusal, serverNow: serverNow(), beginning }
        return planWorkspaceSnapshot(observeWorkspaceSnapshot(snapshot, caches, policy(), seen), clock.now())
      },
      onBegin: ({ metadata, status }, plan) => {
        const { uid = '' } = metadata
        const begins = status.members === undefined && plan.status.members !== undefined
        if (begins) beginning.add(uid)
        // The cache has its members, or it cannot begin any more and its place is free.
        else if (beginning.delete(uid)) queueWaiting(caches, this.queue)
        return undefined
      },
      throttle: ({ status }, plan, sinceWriteMs) => snapshotThrottleOf(status, plan.status, sinceWriteMs),
      factsBetween: (_before, status) => ({ snapshots: (status as WorkspaceSnapshotView['status']).ready }),
      refusals,
    })
  }
}

function isWaiting({ status }: WorkspaceSnapshotView): boolean {
  return status.members === undefined
}

/** What is said of a restore that has failed may have to be corrected. */
function isRestored({ status: { restore } }: WorkspaceSnapshotView): boolean {
  return restore?.phase === 'InProgress' || restore?.phase === 'Failed' || restore?.unfilled !== undefined
}

function queueWaiting({ snapshots }: WorkspaceSnapshotCaches, queue: WorkQueue): void {
  triggersOf(snapshots, (key) => queue.add(key)).all([...snapshots.values()].filter(isWaiting))
}

function listenForTriggers(caches: WorkspaceSnapshotCaches, queue: WorkQueue) {
  const { snapshots, machineSnapshots, machineRestores, lab, cluster, reflectors } = caches
  const { all, refersTo } = triggersOf(snapshots, (key) => queue.add(key))
  const inNamespace = (namespace: string) => snapshots.find(BY_NAMESPACE, namespace)
  const within = whenContentChanged(({ key }: Change<KubeObject>) => all(inNamespace(namespaceOf(key))))
  /** What a workspace has matters only until the members are written down. */
  const waitingFor = <T extends KubeObject>(store: Readable<T>, about: (one: T | undefined) => unknown) =>
    store.onChange(({ key, before, after }) => {
      if (!isSame(about(before), about(after))) all(inNamespace(namespaceOf(key)).filter(isWaiting))
    })
  /** The state of KubeVirt's machines, and of claims, matters while they are restored. */
  const restored = ({ key }: Change<KubeObject>) => all(inNamespace(namespaceOf(key)).filter(isRestored))
  return [
    // One that is gone, or begins, concerns those that wait for it.
    snapshots.onChange(({ key }) => all(inNamespace(namespaceOf(key)).filter(isWaiting))),
    machineSnapshots.onChange(within),
    machineRestores.onChange(within),
    cluster.snapshots.onChange(within),
    refersTo(cluster.namespaces, BY_NAMESPACE, isTerminating),
    lab.workspaces.onChange(({ key, before, after }) => {
      if (!isSame(existence(before), existence(after))) all(inNamespace(key))
      else if (!isSame(aboutRestore(before), aboutRestore(after))) all(inNamespace(key).filter(isRestored))
    }),
    waitingFor(lab.machines, existence),
    waitingFor(lab.kubevirt, existence),
    lab.kubevirt.onChange(whenContentChanged(restored)),
    cluster.claims.onChange(whenContentChanged(restored)),
    waitingFor(cluster.claims, (claim) => [existence(claim), claim?.phase]),
    reflectors.onInstalled(() => all(snapshots.values())),
  ]
}

/** What a restore of volumes goes by, and ends with. */
function aboutRestore(lab: LabWorkspace | undefined): unknown {
  return lab && [lab.metadata.generation, lab.metadata.annotations?.[ANNOTATIONS.volumeClaims]]
}

function existence(object: KubeObject | undefined): unknown {
  return object && [object.metadata.uid, isTerminating(object)]
}
