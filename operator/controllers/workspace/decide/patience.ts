import { WORKSPACE_CONDITIONS } from '@open-terrain/constructs/operator'
import { fromTime } from '../../../base/time.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { WorkspaceWorld } from '../world.ts'

/** How long a pod that cannot do its work is left alone before it is replaced: the first one of a trouble, and any. */
export const PATIENCE_MS = { first: 30_000, longest: 600_000 } as const

/** Returns when the workspace stopped being ready. A new one has never been. */
export function troubledSince({ workspace }: Pick<WorkspaceWorld, 'workspace'>, now: number): number {
  const { conditions = [] } = workspace.status
  const ready = conditions.find(({ type }) => type === WORKSPACE_CONDITIONS.Ready)
  return (ready?.status === 'False' ? fromTime(ready.lastTransitionTime) : undefined) ?? now
}

/**
 * Returns how long a pod is left alone before it is replaced. That doubles from pod to pod, as each of them may last as long as the trouble had lasted
 * when it was created. So the intervals need no record, and a change of leader does not shorten them.
 */
export function patienceMs(pod: KubeObject, since: number, firstMs: number = PATIENCE_MS.first): number {
  const lastedMs = createdAt(pod, since) - since
  return Math.min(PATIENCE_MS.longest, Math.max(firstMs, lastedMs))
}

/** The clocks of the API server and of the operator differ, and Kubernetes records when a pod was created in whole seconds. */
const SKEW_MS = 30_000

/** Reports whether a pod was created when the workspace was not ready, so that nobody has worked with it. */
export function isNewSince(pod: KubeObject, since: number): boolean {
  return createdAt(pod, 0) + SKEW_MS > since
}

export function createdAt({ metadata }: KubeObject, otherwise: number): number {
  return fromTime(metadata.creationTimestamp) ?? otherwise
}
