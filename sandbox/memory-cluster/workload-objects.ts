import type { KubeObject } from '../../operator/kube/kube-object.ts'

/** The parts of Deployments, ReplicaSets and their pods that their controllers read and write. */

export interface WorkloadCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly lastUpdateTime?: string
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: object
}

/** Counts of pods. Zero counts are omitted, except `replicas` of a ReplicaSet. */
export interface ReplicaCounts {
  readonly observedGeneration?: number
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly conditions?: readonly WorkloadCondition[]
}

export interface ReplicaSet extends KubeObject {
  readonly spec: { readonly replicas?: number; readonly selector?: object; readonly template: PodTemplate }
  readonly status?: ReplicaCounts & { readonly fullyLabeledReplicas?: number }
}

export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number
    readonly progressDeadlineSeconds?: number
    readonly revisionHistoryLimit?: number
    readonly strategy?: { readonly type?: string }
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> }
    readonly template: PodTemplate
  }
  readonly status?: ReplicaCounts & { readonly updatedReplicas?: number; readonly unavailableReplicas?: number }
}

export interface ReplicaPod extends KubeObject {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export const HASH_LABEL = 'pod-template-hash'

export function controllerUid({ metadata }: KubeObject, kind: string): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true && owner.kind === kind)?.uid
}

export function conditionOf(
  conditions: readonly WorkloadCondition[] | undefined,
  type: string,
): WorkloadCondition | undefined {
  return conditions?.find((condition) => condition.type === type)
}

/** Returns the conditions with `wanted` added or replaced. A condition with the same status and reason stays as it is. */
export function withCondition(
  conditions: readonly WorkloadCondition[],
  wanted: Omit<WorkloadCondition, 'lastTransitionTime'>,
  now: string,
): readonly WorkloadCondition[] {
  const before = conditionOf(conditions, wanted.type)
  if (before?.status === wanted.status && before.reason === wanted.reason) return conditions
  const lastTransitionTime = before?.status === wanted.status ? before.lastTransitionTime : now
  return [...conditions.filter(({ type }) => type !== wanted.type), { ...wanted, lastTransitionTime }]
}

export function without(conditions: readonly WorkloadCondition[], type: string): readonly WorkloadCondition[] {
  return conditions.filter((condition) => condition.type !== type)
}

/** Returns a status without its zeros and empty lists, as the API server writes it. */
export function counted<T extends object>(status: T): T {
  const isNothing = (value: unknown) => value === 0 || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(status).filter(([, value]) => !isNothing(value))) as T
}
