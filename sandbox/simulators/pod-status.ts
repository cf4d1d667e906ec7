import { OOM_KILLED, SCRATCH_MESSAGE } from './dv-status.ts'
import type { RunEnd } from './import-run.ts'
import type { ContainerState, ContainerStatus, Pod } from './models.ts'

/** What a scheduler and a kubelet write into the status of a pod with one container. */
export type PodStatus = NonNullable<Pod['status']>

export function unschedulable(now: string, message = '0/1 nodes are available: 1 Insufficient memory.'): PodStatus {
  const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: now }
  return { phase: 'Pending', conditions: [scheduled] }
}

export function waiting(pod: Pod, reason: string, message: string): PodStatus {
  return { phase: 'Pending', containerStatuses: [container(pod, { waiting: { reason, message } })] }
}

/** Whether a pod waits for the same as before; times alone are no news. */
export function isSameWait(before: Pod['status'], after: PodStatus): boolean {
  if (before?.phase !== 'Pending' || after.phase !== 'Pending') return false
  const [a, b] = [before.containerStatuses?.[0]?.state.waiting, after.containerStatuses?.[0]?.state.waiting]
  return a?.reason === b?.reason && (before.conditions?.[0]?.message ?? '') === (after.conditions?.[0]?.message ?? '')
}

export function running(pod: Pod, restartCount: number, lastState: ContainerState | undefined, now: string): PodStatus {
  return {
    phase: 'Running',
    containerStatuses: [{ ...container(pod, { running: { startedAt: now } }, lastState), restartCount, ready: true }],
  }
}

/** `hidden` ends skip `terminated`, as when the controller looks too late. */
export function ended(pod: Pod, end: RunEnd, now: string): PodStatus {
  const terminated = (exitCode: number, reason: string, message?: string) => endOf(pod, exitCode, reason, message, now)
  switch (end.type) {
    case 'completed':
      return finished(pod, 'Succeeded', terminated(0, 'Completed', 'Import Complete'))
    case 'scratchSpaceRequired':
      return finished(pod, 'Succeeded', terminated(0, 'Completed', SCRATCH_MESSAGE))
    case 'oomKilled':
      return finished(pod, 'Running', terminated(137, OOM_KILLED))
    case 'evicted': {
      const message = 'The node was low on resource: ephemeral-storage.'
      // A kubelet keeps what it knows of the containers.
      return { ...finished(pod, 'Failed', terminated(137, 'Error')), reason: 'Evicted', message }
    }
    case 'stopped':
      return stopped(pod, now)
    case 'error':
      if (!end.hidden) return finished(pod, 'Running', terminated(1, 'Error', end.message))
      return crashLooping(pod, terminated(1, 'Error', end.message))
  }
}

/** A deleted pod at its end. A container that was down already keeps what it died of. */
export function stopped(pod: Pod, now: string): PodStatus {
  const { state, lastState } = pod.status?.containerStatuses?.[0] ?? {}
  const died = state?.terminated ?? (state?.running === undefined ? lastState?.terminated : undefined)
  return finished(pod, 'Failed', died === undefined ? endOf(pod, 143, 'Error', undefined, now) : { terminated: died })
}

/** A deleted pod whose container never started. The kubelet gives it an end, too: without a time, and in its own words. */
export function neverRan(pod: Pod): PodStatus {
  const message = 'The container could not be located when the pod was terminated'
  return finished(pod, 'Failed', { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message } })
}

export function crashLooping(pod: Pod, lastState: ContainerState): PodStatus {
  const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' } }
  return { phase: 'Running', containerStatuses: [container(pod, state, lastState)] }
}

/** What a kubelet keeps of a container that it finds dead when it starts: that it ended, and nothing of how. */
export function lost(pod: Pod, now: string): ContainerState {
  return endOf(pod, 255, 'Unknown', undefined, now)
}

function finished(pod: Pod, phase: string, state: ContainerState): PodStatus {
  return { phase, containerStatuses: [container(pod, state, pod.status?.containerStatuses?.[0]?.lastState)] }
}

/** Of a container that ran: when it began tells it from one that never did. */
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
