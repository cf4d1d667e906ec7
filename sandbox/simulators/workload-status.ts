import type { Condition, Container, ContainerState, ContainerStatus, Pod } from './models.ts'
import { podAddress } from './multus/multus.ts'
import type { PodStatus } from './pod-status.ts'

/** What a scheduler and a kubelet write to the status of a pod with several containers. What did not change keeps its times. */

const SCHEDULED = ['PodScheduled', 'True'] as const

/** No node takes the pod. */
export function unplaced(pod: Pod, message: string, now: string): PodStatus {
  return {
    ...pod.status,
    phase: 'Pending',
    conditions: conditions(pod, [['PodScheduled', 'False', 'Unschedulable', message]], now),
  }
}

/** The scheduler leaves the pod alone. */
export function gated(pod: Pod, now: string): PodStatus {
  const message = 'Scheduling is blocked due to non-empty scheduling gates'
  return {
    ...pod.status,
    phase: 'Pending',
    conditions: conditions(pod, [['PodScheduled', 'False', 'SchedulingGated', message]], now),
  }
}

/** All containers wait for the same reason. */
export function held(pod: Pod, reason: string, messageOf: (container: Container) => string, now: string): PodStatus {
  const statuses = pod.spec.containers.map((container) => {
    const message = messageOf(container)
    return status(pod, container, { waiting: { reason, ...(message !== '' && { message }) } })
  })
  return { ...unready(pod, now), phase: 'Pending', containerStatuses: statuses }
}

export function running(pod: Pod, isReady: boolean, now: string): PodStatus {
  const statuses = pod.spec.containers.map((container) => {
    const before = containerOf(pod, container.name)?.state.running
    return { ...status(pod, container, { running: before ?? { startedAt: now } }), ready: isReady, started: true }
  })
  const state = isReady ? unready(pod, now, 'True') : unready(pod, now)
  return { ...state, phase: 'Running', podIP: podAddress(pod), containerStatuses: statuses }
}

/** The containers have ended, and are restarted later. */
export function crashLooping(
  pod: Pod,
  { exitCode = 1, reason = 'Error' }: { readonly exitCode?: number; readonly reason?: string },
  restartCount: number,
  now: string,
): PodStatus {
  const { namespace, name, uid } = pod.metadata
  const statuses = pod.spec.containers.map((container) => {
    const text = `back-off 10s restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`
    const lastState = { terminated: { exitCode, reason, startedAt: now, finishedAt: now } }
    const state = { waiting: { reason: 'CrashLoopBackOff', message: text } }
    return { ...status(pod, container, state), lastState, restartCount }
  })
  return { ...unready(pod, now), phase: 'Running', podIP: podAddress(pod), containerStatuses: statuses }
}

/** The containers have ended, and are not restarted. What they say is the same for all. */
export function exited(pod: Pod, exitCode: number, message: string | undefined, now: string): PodStatus {
  const statuses = pod.spec.containers.map((container) => {
    const { startedAt = now } = containerOf(pod, container.name)?.state.running ?? {}
    const reason = exitCode === 0 ? 'Completed' : 'Error'
    const said = message === undefined || message === '' ? {} : { message }
    return status(pod, container, { terminated: { exitCode, reason, startedAt, finishedAt: now, ...said } })
  })
  return ended(pod, exitCode === 0, statuses, now)
}

/** The pod is deleted before its containers have run. */
export function neverRan(pod: Pod, now: string): PodStatus {
  const message = 'The container could not be located when the pod was terminated'
  const terminated = { exitCode: 137, reason: 'ContainerStatusUnknown', message }
  return ended(
    pod,
    false,
    pod.spec.containers.map((container) => status(pod, container, { terminated })),
    now,
  )
}

/** The pod is deleted before it has a node: the collector of pods ends it in place of a kubelet. */
export function neverPlaced(pod: Pod): PodStatus {
  return { ...pod.status, phase: 'Failed' }
}

function ended(pod: Pod, isSuccess: boolean, containerStatuses: readonly ContainerStatus[], now: string): PodStatus {
  const why = isSuccess ? 'PodCompleted' : 'PodFailed'
  const found = conditions(
    pod,
    [
      SCHEDULED,
      ['Initialized', 'True', ...(isSuccess ? [why] : [])],
      ['ContainersReady', 'False', why],
      ['Ready', 'False', why],
    ],
    now,
  )
  return { ...pod.status, phase: isSuccess ? 'Succeeded' : 'Failed', conditions: found, containerStatuses }
}

export function restartsOf(pod: Pod): number {
  return Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount))
}

function unready(pod: Pod, now: string, isReady: 'True' | 'False' = 'False'): PodStatus {
  const names = pod.spec.containers.map(({ name }) => name).join(' ')
  const why = isReady === 'True' ? [] : ['ContainersNotReady', `containers with unready status: [${names}]`]
  const found = conditions(
    pod,
    [SCHEDULED, ['Initialized', 'True'], ['ContainersReady', isReady, ...why], ['Ready', isReady, ...why]],
    now,
  )
  return { ...pod.status, conditions: found }
}

function conditions(pod: Pod, wanted: readonly (readonly string[])[], now: string): readonly Condition[] {
  return wanted.map(([type = '', status = '', reason, message]) => {
    const before = pod.status?.conditions?.find((one) => one.type === type)
    if (before?.status === status && before.reason === reason && before.message === message) return before
    const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now
    return { type, status, lastTransitionTime, ...(reason && { reason }), ...(message && { message }) }
  })
}

function status(pod: Pod, { name, image = '' }: Container, state: ContainerState): ContainerStatus {
  const { restartCount = 0, lastState = {} } = containerOf(pod, name) ?? {}
  return { name, image, imageID: '', ready: false, started: false, restartCount, state, lastState }
}

function containerOf({ status: { containerStatuses = [] } = {} }: Pod, name: string): ContainerStatus | undefined {
  return containerStatuses.find((one) => one.name === name)
}
