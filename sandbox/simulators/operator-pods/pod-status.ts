import { addressOf, type OperatorPod } from './template.ts'

/** Of the one container of a pod. */
export interface Standing {
  readonly state: object
  readonly lastState?: object
  readonly isRunning: boolean
  readonly isReady: boolean
  readonly restarts: number
}

/** What a kubelet writes. Conditions that have not changed keep their times. */
export function statusOf(pod: OperatorPod, standing: Standing, now: string): object {
  const { state, lastState = {}, isRunning, isReady, restarts } = standing
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
