import type { Pod } from './models.ts'
import { Scripts } from './scripts.ts'

/** What keeps the pods of a Deployment from being ready, as long as the script lasts. */
export type WorkloadFault =
  | { readonly type: 'unschedulable'; readonly message?: string }
  /** `ErrImagePull`, then `ImagePullBackOff`. */
  | { readonly type: 'imagePull'; readonly message?: string }
  /** The sandbox of the containers cannot be made: only events tell. `<id>` in the message is another id in each. */
  | { readonly type: 'notCreated'; readonly message: string; readonly reason?: string }
  /** Its containers end as soon as they run: `CrashLoopBackOff`, with more restarts. */
  | { readonly type: 'crashLoop'; readonly exitCode?: number }
  /** They run, and are not ready. */
  | { readonly type: 'notReady' }

/** Which Deployments a script is about. Everything that is given must be equal. */
export type WorkloadTarget = { readonly namespace?: string; readonly name?: string }

/** The faults of the pods of Deployments that are in force. */
export class WorkloadFaults {
  readonly #scripts: Scripts<WorkloadTarget, WorkloadFault>

  constructor(onChange: () => void) {
    this.#scripts = new Scripts(onChange)
  }

  /** Returns how to end the script: what it held up goes on. */
  add(target: WorkloadTarget, fault: WorkloadFault): () => void {
    return this.#scripts.add(target, fault)
  }

  state<K extends WorkloadFault['type']>(type: K, pod: Pod): (WorkloadFault & { type: K }) | undefined {
    const found = this.#scripts.find(({ target, fault }) => fault.type === type && matches(target, pod))
    return found as (WorkloadFault & { type: K }) | undefined
  }
}

/** The Deployment of a pod, by the names that its controllers give; undefined where it has none. */
function deploymentOf({ metadata }: Pod): string | undefined {
  const replicaSet = metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === 'ReplicaSet')?.name
  const hash = metadata.labels?.['pod-template-hash']
  return replicaSet?.endsWith(`-${hash}`) ? replicaSet.slice(0, -1 - `${hash}`.length) : undefined
}

function matches({ namespace, name }: WorkloadTarget, pod: Pod): boolean {
  return (
    (namespace === undefined || namespace === pod.metadata.namespace) &&
    (name === undefined || name === deploymentOf(pod))
  )
}
