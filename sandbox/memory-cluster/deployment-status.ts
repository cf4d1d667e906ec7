import {
  conditionOf,
  counted,
  type Deployment,
  type ReplicaSet,
  type WorkloadCondition,
  withCondition,
  without,
} from './workload-objects.ts'

const DEFAULT_DEADLINE_S = 600

export interface RolloutView {
  readonly deployment: Deployment
  readonly replicaSets: readonly ReplicaSet[]
  /** The ReplicaSet of the current template. */
  readonly current: ReplicaSet | undefined
  /** The current time in milliseconds since the epoch. `timestamp` is the same in RFC 3339. */
  readonly nowMs: number
  readonly timestamp: string
}

export interface RolloutStatus {
  readonly status: NonNullable<Deployment['status']>
  /** Delay until the progress deadline must be checked again; undefined if no check is needed. */
  readonly lookAgainMs: number | undefined
}

/** Returns the status of a Deployment as its controller writes it. */
export function rolloutStatus(view: RolloutView): RolloutStatus {
  const { deployment, replicaSets, current, timestamp } = view
  const wanted = deployment.spec.replicas ?? 1
  const sum = (of: (replicaSet: ReplicaSet) => number) => replicaSets.reduce((total, one) => total + of(one), 0)
  const available = sum(({ status }) => status?.availableReplicas ?? 0)
  const counts = {
    observedGeneration: deployment.metadata.generation ?? 1,
    replicas: sum(({ status }) => status?.replicas ?? 0),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum(({ status }) => status?.readyReplicas ?? 0),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, sum(({ spec }) => spec.replicas ?? 1) - available),
  }
  const before = deployment.status?.conditions ?? []
  const isAvailable = available >= wanted
  const minimum = {
    type: 'Available',
    status: isAvailable ? 'True' : 'False',
    reason: isAvailable ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: `Deployment ${isAvailable ? 'has' : 'does not have'} minimum availability.`,
    lastUpdateTime: timestamp,
  } as const
  const shown = withCondition(before, minimum, timestamp)
  const progress = progressOf(view, counts, wanted)
  const progressed = progress === undefined ? shown : withProgress(shown, progress, timestamp)
  const failure = [current, ...replicaSets].flatMap(
    (one) => conditionOf(one?.status?.conditions, 'ReplicaFailure') ?? [],
  )[0]
  const failed =
    failure === undefined
      ? without(progressed, 'ReplicaFailure')
      : withCondition(
          progressed,
          { ...failure, lastUpdateTime: failure.lastTransitionTime },
          failure.lastTransitionTime,
        )
  const status = counted({ ...counts, conditions: failed })
  return { status, lookAgainMs: lookAgainMs(view, failed) }
}

type Progress = Pick<WorkloadCondition, 'status' | 'reason' | 'message'>

/** Returns the progress that a rollout reports, or undefined if the condition stays as it is. */
function progressOf(view: RolloutView, counts: Readonly<Record<string, number>>, wanted: number): Progress | undefined {
  const { deployment, current, nowMs } = view
  const before = conditionOf(deployment.status?.conditions, 'Progressing')
  const isOver = counts['replicas'] === counts['updatedReplicas'] && before?.reason === 'NewReplicaSetAvailable'
  if (isOver) return undefined
  const about =
    current === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${current.metadata.name}"`
  const names = ['updatedReplicas', 'replicas', 'availableReplicas'] as const
  if (names.every((name) => counts[name] === wanted)) {
    return { status: 'True', reason: 'NewReplicaSetAvailable', message: `${about} has successfully progressed.` }
  }
  const { updatedReplicas = 0, readyReplicas = 0, availableReplicas = 0, replicas = 0 } = deployment.status ?? {}
  const { updatedReplicas: updated = 0, readyReplicas: ready = 0, availableReplicas: usable = 0 } = counts
  const olds = replicas - updatedReplicas
  const isProgress =
    updated > updatedReplicas ||
    ready > readyReplicas ||
    usable > availableReplicas ||
    (counts['replicas'] ?? 0) - updated < olds
  if (isProgress) return { status: 'True', reason: 'ReplicaSetUpdated', message: `${about} is progressing.` }
  if (before === undefined || before.reason === 'NewReplicaSetAvailable') return undefined
  if (before.reason !== 'ProgressDeadlineExceeded' && nowMs < deadlineMs(deployment, before)) return undefined
  return { status: 'False', reason: 'ProgressDeadlineExceeded', message: `${about} has timed out progressing.` }
}

/** `ReplicaSetUpdated` is reported again even if it is unchanged, because the deadline counts from it. */
function withProgress(
  conditions: readonly WorkloadCondition[],
  progress: Progress,
  timestamp: string,
): readonly WorkloadCondition[] {
  const wanted = { type: 'Progressing', ...progress, lastUpdateTime: timestamp }
  const before = conditionOf(conditions, 'Progressing')
  if (before === undefined || progress.reason !== 'ReplicaSetUpdated')
    return withCondition(conditions, wanted, timestamp)
  const lastTransitionTime = before.status === progress.status ? before.lastTransitionTime : timestamp
  return [...without(conditions, 'Progressing'), { ...wanted, lastTransitionTime }]
}

function lookAgainMs({ deployment, nowMs }: RolloutView, conditions: readonly WorkloadCondition[]): number | undefined {
  const progress = conditionOf(conditions, 'Progressing')
  if (progress === undefined) return undefined
  if (progress.reason === 'NewReplicaSetAvailable' || progress.reason === 'ProgressDeadlineExceeded') return undefined
  return Math.max(1_000, deadlineMs(deployment, progress) - nowMs + 1_000)
}

function deadlineMs({ spec }: Deployment, { lastUpdateTime = '' }: WorkloadCondition): number {
  return Date.parse(lastUpdateTime) + (spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE_S) * 1_000
}
