import type { Pod } from './models.ts'
import { Scripts } from './scripts.ts'

const JOB_NAME = 'batch.kubernetes.io/job-name'

/** Reports whether a Job made the pod, also if it was taken away from it since. */
export function isJobPod({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.labels?.[JOB_NAME] !== undefined
}

/** What keeps the pods of a Deployment from being ready, or decides how those of a Job end, while the script is active. */
export type WorkloadFault =
  | { readonly type: 'unschedulable'; readonly message?: string }
  /** `ErrImagePull`, then `ImagePullBackOff`. */
  | { readonly type: 'imagePull'; readonly message?: string }
  /** The sandbox of the containers cannot be created, and only events show it. `<id>` in the message is another ID in each event. */
  | { readonly type: 'notCreated'; readonly message: string; readonly reason?: string }
  /** Multus is not in the CNI configuration of the node: the containers run without the networks that the pod asks for, and nothing reports any. */
  | { readonly type: 'noMultus' }
  /** The containers end as soon as they run: `CrashLoopBackOff`, with more restarts. */
  | { readonly type: 'crashLoop'; readonly exitCode?: number; readonly reason?: 'Error' | 'OOMKilled' | 'Completed' }
  /** The processes ignore that they have to end, and the kubelet kills them when their time is over. */
  | { readonly type: 'slowEnd' }
  /** Nothing happens on the node any more, and nobody knows what runs there. */
  | { readonly type: 'nodeLost'; readonly node: string }
  /** The containers run but are not ready. */
  | { readonly type: 'notReady' }
  /**
   * Those of a Job end with this exit code, not with 0, and leave this message. `<secret>` in it stands for all values of the Secrets that the pod mounts: what
   * runs in it can read them.
   */
  | { readonly type: 'exit'; readonly exitCode: number; readonly message?: string }
  /** Those of a Job do not end by themselves. */
  | { readonly type: 'neverEnds' }

/** The Deployments and Jobs that a script applies to. All given fields must match. */
export type WorkloadTarget = { readonly namespace?: string; readonly name?: string }

/** The active faults of the pods of Deployments and Jobs. */
export class WorkloadFaults {
  readonly #scripts: Scripts<WorkloadTarget, WorkloadFault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns a function that ends the script. What the script held up then continues. */
  add(target: WorkloadTarget, fault: WorkloadFault): () => void {
    return this.#scripts.add(target, fault)
  }

  state<K extends WorkloadFault['type']>(type: K, pod: Pod): (WorkloadFault & { type: K }) | undefined {
    const found = this.#scripts.find(({ target, fault }) => fault.type === type && matches(target, pod))
    return found as (WorkloadFault & { type: K }) | undefined
  }
}

/** Returns the Deployment or the Job of a pod, by the names that its controllers give; undefined if it has none. */
function makerOf({ metadata }: Pod): string | undefined {
  if (isJobPod({ metadata })) return metadata.labels?.[JOB_NAME]
  const replicaSet = metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === 'ReplicaSet')?.name
  const hash = metadata.labels?.['pod-template-hash']
  return replicaSet?.endsWith(`-${hash}`) ? replicaSet.slice(0, -1 - `${hash}`.length) : undefined
}

function matches({ namespace, name }: WorkloadTarget, pod: Pod): boolean {
  return (
    (namespace === undefined || namespace === pod.metadata.namespace) && (name === undefined || name === makerOf(pod))
  )
}
