import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { controllerUid, type PodTemplate, type ReplicaPod, type WorkloadCondition } from './workload-objects.ts'

/** The parts of Jobs that their controller reads and writes, and what the API server adds to a new one. */

export interface JobStatus {
  readonly startTime?: string
  readonly completionTime?: string
  readonly active?: number
  readonly ready?: number
  readonly terminating?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly conditions?: readonly WorkloadCondition[]
}

export interface Job extends KubeObject {
  readonly spec: {
    readonly suspend?: boolean
    /** Of a stored Job it is there. */
    readonly backoffLimit?: number
    readonly activeDeadlineSeconds?: number
    readonly podReplacementPolicy?: 'Failed' | 'TerminatingOrFailed'
    readonly template: PodTemplate
    readonly selector?: object
  }
  readonly status?: JobStatus
}

/** Holds a pod until its Job has counted it. */
export const JOB_TRACKING = 'batch.kubernetes.io/job-tracking'

const JOB_NAME = 'batch.kubernetes.io/job-name'
const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid'

/** Returns a new Job as the API server stores it: its pods have its name and uid in labels, also in those of older versions. */
export function completedJob(object: KubeObject): KubeObject {
  const { spec, metadata } = object as Job
  const { name, uid = '' } = metadata
  const labels = { [CONTROLLER_UID]: uid, [JOB_NAME]: name, 'controller-uid': uid, 'job-name': name }
  const template = {
    ...spec.template,
    metadata: { ...spec.template.metadata, labels: { ...spec.template.metadata?.labels, ...labels } },
  }
  return {
    ...object,
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      manualSelector: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      ...spec,
      selector: { matchLabels: { [CONTROLLER_UID]: uid } },
      template,
    },
    status: {},
  } as KubeObject
}

/** Reports whether it has the condition that ends it: its controller leaves it alone then. */
export function hasFinished({ status }: Job): boolean {
  return (status?.conditions ?? []).some(
    ({ type, status: holds }) => (type === 'Complete' || type === 'Failed') && holds === 'True',
  )
}

/** The pods of a Job, by what its controller does about them. */
export interface JobPods {
  readonly active: readonly ReplicaPod[]
  /** Deleted, and not ended yet. */
  readonly terminating: readonly ReplicaPod[]
  /** Ended, and not counted yet. */
  readonly succeeded: readonly ReplicaPod[]
  readonly failed: readonly ReplicaPod[]
}

export function podsOfJob({ metadata, spec }: Job, all: readonly ReplicaPod[]): JobPods {
  const own = all.filter((pod) => controllerUid(pod, 'Job') === metadata.uid)
  const isTracked = (pod: ReplicaPod) => pod.metadata.finalizers?.includes(JOB_TRACKING) === true
  const isGoing = (pod: ReplicaPod) => pod.metadata.deletionTimestamp !== undefined
  const isOpen = (pod: ReplicaPod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed'
  // With the usual policy, a pod is replaced as soon as it is deleted.
  const hasFailed = (pod: ReplicaPod) =>
    pod.status?.phase === 'Failed' || (spec.podReplacementPolicy !== 'Failed' && isGoing(pod) && isOpen(pod))
  return {
    active: own.filter((pod) => isOpen(pod) && !isGoing(pod)),
    terminating: own.filter((pod) => isOpen(pod) && isGoing(pod)),
    succeeded: own.filter((pod) => isTracked(pod) && pod.status?.phase === 'Succeeded'),
    failed: own.filter((pod) => isTracked(pod) && hasFailed(pod)),
  }
}
