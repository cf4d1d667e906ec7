import { firstFew } from '../../../base/messages.ts'
import { fromTime } from '../../../base/time.ts'
import { endingWaits, isOrphaning } from '../../../cluster/dependents.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { NAMESPACE, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { NOTHING_TO_DO, removalOf } from '../../../runtime/plan.ts'
import type { WorkspacePlan, WorkspaceWorld } from '../world.ts'
import { componentWaiting, idOf, idOfObject } from './component.ts'
import { withdrawnInternet } from './components/internet-access.ts'
import type { Judged } from './judge.ts'
import { lastIn } from './removal-order.ts'
import { workspaceStatusOf } from './status.ts'

const LOOK_MS = 60_000
/** Objects that the message names. More are only counted. */
const SHOWN_MAX = 3

/**
 * Deletes the objects of a deleted workspace kind by kind, the last kind first: machines, containers, what they use, and the namespace at the end.
 * Nothing is removed before everything that may use it is gone. The finalizer is released when nothing is left. Orphaned children stay.
 */
export function planWorkspaceDeletion(world: WorkspaceWorld, now: number): WorkspacePlan {
  const { workspace } = world
  const { status } = workspace
  if (isOrphaning(workspace)) return { ...NOTHING_TO_DO, status }
  const next = lastIn(world)
  if (next.length === 0) {
    // The cache may not know the namespace yet. Everything else is deleted with it.
    const namespace = { absent: [{ type: NAMESPACE, name: workspace.metadata.name }], whose: 'ours' } as const
    return { ...NOTHING_TO_DO, status, finalizer: 'release', onlyIf: [namespace] }
  }
  const since = Math.min(...next.map(({ metadata }) => fromTime(metadata.deletionTimestamp) ?? now))
  const isLate = now - since >= LOOK_MS
  const home =
    isLate && next.every(isClaim) ? world.children.get(idOf(NAMESPACE.kind, workspace.metadata.name)) : undefined
  const late = isLate ? lateText(home) : ''
  // Caches have no order that lasts.
  const message = `being deleted: waiting for ${firstFew(next.map(idOfObject).toSorted(), SHOWN_MAX)}${late}`
  const phase = status.phase === 'Failed' ? 'Failed' : 'Provisioning'
  const problem = { phase, why: 'Deleting', message } as const
  const plan = {
    ...NOTHING_TO_DO,
    status: workspaceStatusOf(world, { judged: left(world), leaving: next, problem }, now),
    remove: [...withdrawnInternet(world), ...[...next, home].flatMap((one) => removalOf(one))],
    requeue: { afterMs: LOOK_MS, because: 'what is being deleted should be gone by then' },
  } as const
  return { ...plan, ...endingWaits(plan, next, now) }
}

function isClaim({ kind }: KubeObject): boolean {
  return kind === PERSISTENT_VOLUME_CLAIM.kind
}

/**
 * A claim stays while a pod mounts it. All members of the workspace are gone by then, so that pod is somebody else's, or is of a Deployment that the
 * operator cannot see any more, since somebody has taken its label off. Both go with the namespace.
 */
function lateText(home: KubeObject | undefined): string {
  if (home === undefined) return '; see which finalizers and conditions that has'
  return '; something that is no member uses that: it is deleted with its namespace now'
}

/** Returns the components of which objects are left. */
function left({ components, children }: WorkspaceWorld): Judged[] {
  return components.flatMap((component) => {
    const objects = component.objects.map((one) => children.get(idOfObject(one))).filter((one) => one !== undefined)
    if (objects.length === 0) return []
    const message = objects.some(isTerminating) ? 'it is being deleted' : 'it is deleted once nothing uses it any more'
    return [{ component, summary: componentWaiting('Deleting', message), isThere: false }]
  })
}
