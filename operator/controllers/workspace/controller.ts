import type { Policy } from '@open-terrain/constructs'
import { FINALIZERS } from '@open-terrain/constructs'
import { isChildOf } from '../../cluster/ownership.ts'
import { isAsMadeBy } from '../../images/decide/ensure-image.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { ChildRefusals } from '../../runtime/child-refusals.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { PhaseGauge } from '../../runtime/phase-gauge.ts'
import type { ReferenceCount } from '../../runtime/preconditions.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { WORKSPACE, type WorkspaceCaches } from './caches.ts'
import { WRITTEN_TYPES } from './decide/kinds.ts'
import { planWorkspace } from './decide/plan.ts'
import { hangingPods } from './decide/pod-trouble.ts'
import { workspacePaceOf } from './decide/status.ts'
import { observeWorkspace } from './observe.ts'
import { PodWarnings } from './pod-warnings.ts'
import { listenForWorkspaceTriggers } from './triggers.ts'
import type { WorkspacePlan, WorkspaceView } from './world.ts'

/** Dozens of children of one workspace may change at once. This delay lets one reconcile handle them together. */
const CHILDREN_SETTLE_MS = 100

type Options = Services & {
  readonly caches: WorkspaceCaches
  readonly phases: PhaseGauge
  /** Counts the references to an image with live reads. Throws ApiError. */
  readonly countReferences: ReferenceCount
  readonly policy: () => Policy
  /** Calls `listener` on each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** Reconciles Workspaces while this process leads. */
export class WorkspaceController extends ObjectController<WorkspaceView, WorkspacePlan, undefined> {
  constructor(options: Options) {
    const { caches, phases, clock, countReferences, policy, onPolicyChange } = options
    const refusals = new Refusals()
    const childRefusals = new ChildRefusals(options)
    const podWarnings = new PodWarnings({ ...options, onChange: (key) => this.queue.add(key) })
    super(options, caches.reflectors, {
      type: WORKSPACE,
      finalizer: FINALIZERS.workspace,
      children: WRITTEN_TYPES,
      store: caches.workspaces,
      // Each workspace is a group of its own.
      groupOf: (key) => key,
      listen: (queue) => [
        ...listenForWorkspaceTriggers(
          caches,
          () => policy().imageNamespace,
          (key) => queue.addAfter(key, CHILDREN_SETTLE_MS),
        ),
        onPolicyChange(() => {
          for (const key of caches.workspaces.keys()) queue.add(key)
        }),
      ],
      onGone: (workspace) => podWarnings.forget(keyOf(workspace.metadata)),
      gauges: phases,
      loops: [podWarnings],
      plan: (workspace) => {
        if (!caches.cluster.workspaces.isComplete) return undefined
        const { uid = '' } = workspace.metadata
        const world = observeWorkspace(workspace, caches, {
          policy: policy(),
          refusals: childRefusals.of(uid),
          isUndecided: childRefusals.isUndecided(uid),
          refusal: refusals.of(uid),
        })
        const key = keyOf(workspace.metadata)
        const warnings = podWarnings.look(key, key, hangingPods(world))
        return planWorkspace({ ...world, podWarnings: warnings }, clock.now())
      },
      looks: { hasOurs: (found, workspace) => found.some((one) => isOurs(one, workspace)), countReferences },
      pace: ({ status }, plan, sinceWriteMs) => workspacePaceOf(status, plan.status, sinceWriteMs),
      factsBetween: (_before, status) => ({ components: (status as WorkspaceView['status']).ready }),
      refusals,
      childRefusals,
      isOurs,
    })
  }
}

/** No workspace owns an image. An image to be corrected counts as ours if this workspace was the last to write its spec. */
function isOurs(found: KubeObject, workspace: WorkspaceView): boolean {
  return isChildOf(found, workspace) || isAsMadeBy(workspace, found)
}
