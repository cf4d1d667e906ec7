import { isApiError } from '../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { POD } from '../../operator/kube/resource-types.ts'
import { REPLICA_SET } from '../resource-types.ts'
import { isTerminating } from './deletion.ts'
import { type DueKeys, dueAfterCommits } from './due-keys.ts'
import { isSameJson } from './json.ts'
import type { Commit } from './object-store.ts'
import { conditionOf, controllerUid, counted, type ReplicaPod, type ReplicaSet, without } from './workload-objects.ts'
import { podNameFrom, type WorkloadParts } from './workload-parts.ts'

const ACTOR = 'replicaset-controller'
const RETRY_MS = 5
const RETRY_MAX_MS = 1_000_000

/** Keeps the number of pods that a ReplicaSet asks for. Retries a rejected pod with an increasing delay. */
export class ReplicaSetController {
  readonly #parts: WorkloadParts
  readonly #due: DueKeys
  readonly #failures = new Map<string, number>()

  constructor(parts: WorkloadParts) {
    this.#parts = parts
    this.#due = dueAfterCommits(parts, keysOf, (key) => this.#sync(key))
  }

  #sync(key: string): void {
    const { store } = this.#parts
    const found = store.table(REPLICA_SET).objects.get(key) as ReplicaSet | undefined
    if (found === undefined) {
      this.#failures.delete(key)
      return
    }
    const pods = this.#podsOf(found)
    const refusal = isTerminating(found) ? undefined : this.#manage(found, pods)
    if (refusal === undefined) this.#failures.delete(key)
    else this.#retry(key)
    const fresh = store.table(REPLICA_SET).objects.get(key) as ReplicaSet | undefined
    if (fresh !== undefined) this.#show(fresh, this.#podsOf(fresh), refusal)
  }

  /** Returns why a pod could not be created. */
  #manage(replicaSet: ReplicaSet, pods: readonly ReplicaPod[]): string | undefined {
    const { server } = this.#parts
    const missing = (replicaSet.spec.replicas ?? 1) - pods.length
    try {
      for (let count = 0; count < missing; count += 1) server.create(ACTOR, POD, this.#podFor(replicaSet))
    } catch (error) {
      if (!isApiError(error)) throw error
      return error.message
    }
    // Pods that are not ready are deleted first.
    const spare = [...pods].sort((a, b) => Number(isReady(a)) - Number(isReady(b)))
    for (const { metadata } of spare.slice(0, Math.max(0, -missing))) server.delete(ACTOR, POD, metadata)
    return undefined
  }

  #retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.#parts.after(Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(failures, 30)), () => this.#due.add(key))
  }

  #show(replicaSet: ReplicaSet, pods: readonly ReplicaPod[], refusal: string | undefined): void {
    const { server, timestamp } = this.#parts
    const before = replicaSet.status?.conditions ?? []
    const failure = conditionOf(before, 'ReplicaFailure')
    const kept = refusal === undefined ? without(before, 'ReplicaFailure') : before
    // The first message stays until a pod is created.
    const added = refusal !== undefined && failure === undefined
    const told = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: refusal ?? '' } as const
    const conditions = added ? [...kept, { ...told, lastTransitionTime: timestamp() }] : kept
    const ready = pods.filter(isReady).length
    const counts = { fullyLabeledReplicas: pods.length, readyReplicas: ready, availableReplicas: ready }
    const generation = replicaSet.metadata.generation ?? 1
    const status = {
      ...counted({ ...counts, conditions, observedGeneration: generation }),
      replicas: pods.length,
    }
    if (isSameJson(replicaSet.status, status)) return
    server.replaceStatus(ACTOR, REPLICA_SET, { ...replicaSet, status } as KubeObject)
  }

  #podFor({ apiVersion, kind, metadata, spec }: ReplicaSet): KubeObject {
    const { labels, annotations } = spec.template.metadata ?? {}
    const { name, namespace, uid = '' } = metadata
    return {
      apiVersion: apiVersionOf(POD),
      kind: POD.kind,
      metadata: {
        ...(namespace !== undefined && { namespace }),
        name: podNameFrom(name, this.#parts.random),
        ...(labels && { labels }),
        ...(annotations && { annotations }),
        ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
      },
      ...(spec.template.spec && { spec: spec.template.spec }),
    } as KubeObject
  }

  /** Returns the pods that are neither terminating nor finished. */
  #podsOf({ metadata }: ReplicaSet): ReplicaPod[] {
    const pods = [...this.#parts.store.table(POD).objects.values()] as ReplicaPod[]
    return pods.filter(
      (pod) =>
        controllerUid(pod, 'ReplicaSet') === metadata.uid &&
        !isTerminating(pod) &&
        pod.status?.phase !== 'Succeeded' &&
        pod.status?.phase !== 'Failed',
    )
  }
}

function keysOf({ type, resource, object }: Commit): readonly string[] {
  if (resource === REPLICA_SET) return type === 'DELETED' ? [] : [keyOf(object.metadata)]
  if (resource !== POD) return []
  const owner = object.metadata.ownerReferences?.find(({ controller, kind }) => controller && kind === 'ReplicaSet')
  return owner === undefined ? [] : [`${object.metadata.namespace}/${owner.name}`]
}

function isReady({ status }: ReplicaPod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') ?? false
}
