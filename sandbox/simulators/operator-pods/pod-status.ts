import { addressOf, type OperatorPod } from './template.ts'

/** The state of the one container of a pod. */
export interface ContainerState {
  readonly state: object
  readonly lastState?: object
  readonly isRunning: boolean
  readonly isReady: boolean
  readonly restarts: number
}

/** Returns the status that a kubelet writes. Conditions that did not change keep their times. */
export function statusOf(pod: OperatorPod, current: ContainerState, now: string): object {
  const { state, lastState = {}, isRunning, isReady, restarts } = current
  const ready = isReady ? 'True' : 'False'
  const conditions = Object.entries({ PodScheduled: 'True', Initialized: 'True', ContainersReady: ready, Ready: ready })
  const [container] = pod.spec.containers
  return {
    ...pod.status,
    phase: isRunning || restarts > 0 ? 'Running' : 'Pending',
    podIP: addressOf(pod),
    podIPs: [{ ip: addressOf(pod) }],
    conditions: conditions.map(([type, status]) => {
      const before = pod.status?.conditions?.find((one) => one.type === type)
      return before?.status === status ? before : { type, status, lastTransitionTime: now }
    }),
    containerStatuses: [
      {
        name: container?.name,
        image: container?.image,
        imageID: '',
        ready: isReady,
        started: isRunning,
        restartCount: restarts,
        state,
        lastState,
      },
    ],
  }
}
