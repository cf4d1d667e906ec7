import { OOM_KILLED, SCRATCH_MESSAGE } from './dv-status.ts'
import type { RunEnd } from './import-run.ts'
import type { ContainerState, ContainerStatus, Pod } from './models.ts'

/** What a scheduler and a kubelet write to the status of a pod with one container. */
export type PodStatus = NonNullable<Pod['status']>

export const NO_MEMORY = '0/1 nodes are available: 1 Insufficient memory.'

export function unschedulable(now: string, message = NO_MEMORY): PodStatus {
  const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: now }
  return { phase: 'Pending', conditions: [scheduled] }
}

/** Reports whether the scheduler has found no node for a pod. */
export function isUnschedulable({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False') ?? false
}

export function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') ?? false
}

export function withReadiness(status: PodStatus, ready: boolean, now: string): PodStatus {
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'Ready')
  return {
    ...status,
    conditions: [...others, { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: now }],
  }
}

export function waiting(pod: Pod, reason: string, message: string): PodStatus {
  return { phase: 'Pending', containerStatuses: [container(pod, { waiting: { reason, message } })] }
}

/** Reports whether a pod waits for the same thing as before. A change of times alone does not count. */
export function isSameWait(before: Pod['status'], after: PodStatus): boolean {
  if (before?.phase !== 'Pending' || after.phase !== 'Pending') return false
  const [a, b] = [before.containerStatuses?.[0]?.state.waiting, after.containerStatuses?.[0]?.state.waiting]
  const isSame = a?.reason === b?.reason && a?.message === b?.message
  return isSame && (before.conditions?.[0]?.message ?? '') === (after.conditions?.[0]?.message ?? '')
}

export function running(pod: Pod, restartCount: number, lastState: ContainerState | undefined, now: string): PodStatus {
  return {
    phase: 'Running',
    containerStatuses: [{ ...container(pod, { running: { startedAt: now } }, lastState), restartCount, ready: true }],
  }
}

/** `hidden` ends skip `terminated`, as if the controller looked too late. */
export function ended(pod: Pod, end: RunEnd, now: string): PodStatus {
  const terminated = (exitCode: number, reason: string, message?: string) => endOf(pod, exitCode, reason, message, now)
  switch (end.type) {
    // A kubelet shows the end of the container at once. The pod stays Running until everything of it is cleaned up.
    case 'completed':
      return finished(pod, 'Running', terminated(0, 'Completed', 'Import Complete'))
    case 'scratchSpaceRequired':
      return finished(pod, 'Running', terminated(0, 'Completed', SCRATCH_MESSAGE))
    case 'oomKilled':
      return finished(pod, 'Running', terminated(137, OOM_KILLED))
    case 'evicted': {
      const message = 'The node was low on resource: ephemeral-storage.'
      // A kubelet keeps what it knows about the containers.
      return { ...finished(pod, 'Failed', terminated(137, 'Error')), reason: 'Evicted', message }
    }
    case 'stopped':
      return stopped(pod, now)
    case 'error':
      if (!end.hidden) return finished(pod, 'Running', terminated(1, 'Error', end.message))
      return crashLooping(pod, terminated(1, 'Error', end.message))
  }
}

/** Returns the last status of a pod whose container has ended for good, or that is deleted. A container that was down already keeps its termination. */
export function stopped(pod: Pod, now: string): PodStatus {
  const { state, lastState } = pod.status?.containerStatuses?.[0] ?? {}
  const died = state?.terminated ?? (state?.running === undefined ? lastState?.terminated : undefined)
  const phase = died?.exitCode === 0 ? 'Succeeded' : 'Failed'
  return finished(pod, phase, died === undefined ? endOf(pod, 143, 'Error', undefined, now) : { terminated: died })
}

/** Returns the last status of a deleted pod whose container never started: a termination without times, with the kubelet's own message. */
export function neverRan(pod: Pod): PodStatus {
  const message = 'The container could not be located when the pod was terminated'
  return finished(pod, 'Failed', { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message } })
}

export function crashLooping(pod: Pod, lastState: ContainerState): PodStatus {
  const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' } }
  return { phase: 'Running', containerStatuses: [container(pod, state, lastState)] }
}

/** Returns what a kubelet records for a container that it finds dead at its start: that it ended, but not how. */
export function lost(pod: Pod, now: string): ContainerState {
  return endOf(pod, 255, 'Unknown', undefined, now)
}

function finished(pod: Pod, phase: string, state: ContainerState): PodStatus {
  return { phase, containerStatuses: [container(pod, state, pod.status?.containerStatuses?.[0]?.lastState)] }
}

/** Termination of a container that ran. `startedAt` distinguishes it from one that never did. */
function endOf(
  pod: Pod,
  exitCode: number,
  reason: string,
  message: string | undefined,
  finishedAt: string,
): ContainerState {
  const startedAt = pod.status?.containerStatuses?.[0]?.state.running?.startedAt ?? finishedAt
  return { terminated: { exitCode, reason, startedAt, finishedAt, ...(message !== undefined && { message }) } }
}

function container(pod: Pod, state: ContainerState, lastState?: ContainerState): ContainerStatus {
  const { name = 'importer', image = '' } = pod.spec.containers[0] ?? {}
  const restartCount = pod.status?.containerStatuses?.[0]?.restartCount ?? 0
  return { name, image, imageID: '', ready: false, restartCount, state, ...(lastState && { lastState }) }
}
