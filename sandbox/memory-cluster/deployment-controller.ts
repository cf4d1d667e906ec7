import { createHash } from 'node:crypto'
import { isApiError } from '../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { DEPLOYMENT, POD } from '../../operator/kube/resource-types.ts'
import { REPLICA_SET } from '../resource-types.ts'
import { isTerminating } from './deletion.ts'
import { rolloutStatus } from './deployment-status.ts'
import { type DueKeys, dueAfterCommits } from './due-keys.ts'
import { isSameJson } from './json.ts'
import type { Commit } from './object-store.ts'
import {
  controllerUid,
  type Deployment,
  HASH_LABEL,
  type PodTemplate,
  type ReplicaPod,
  type ReplicaSet,
  withCondition,
} from './workload-objects.ts'
import type { WorkloadParts } from './workload-parts.ts'

const ACTOR = 'deployment-controller'
const REVISION = 'deployment.kubernetes.io/revision'
const DEFAULT_HISTORY = 10

/**
 * Rolls out Deployments. Pods are replaced one ReplicaSet after the other: with strategy `Recreate`, the old pods are gone before new
 * ones are created; with any other strategy, the old pods are removed when the new ones are available (real rolling updates mix both).
 */
export class DeploymentController {
  readonly #parts: WorkloadParts
  readonly #due: DueKeys

  constructor(parts: WorkloadParts) {
    this.#parts = parts
    this.#due = dueAfterCommits(
      parts,
      (commit) => this.#keysOf(commit),
      (key) => this.#sync(key),
    )
  }

  #keysOf({ type, resource, object }: Commit): readonly string[] {
    if (resource === DEPLOYMENT) return type === 'DELETED' ? [] : [keyOf(object.metadata)]
    const isGonePod = resource === POD && type === 'DELETED'
    const replicaSet = resource === REPLICA_SET ? object : isGonePod ? this.#replicaSetOf(object) : undefined
    const owner = replicaSet?.metadata.ownerReferences?.find(({ kind }) => kind === 'Deployment')
    return owner === undefined ? [] : [`${object.metadata.namespace}/${owner.name}`]
  }

  #sync(key: string): void {
    const deployment = this.#deployment(key)
    if (deployment === undefined) return
    const isGoingOn = !isTerminating(deployment) && this.#rollOut(deployment)
    const fresh = this.#deployment(key)
    if (fresh === undefined || (!isGoingOn && !isTerminating(fresh))) return
    const { nowMs, timestamp } = { nowMs: this.#parts.now(), timestamp: this.#parts.timestamp() }
    const [replicaSets, current] = this.#replicaSets(fresh)
    const { status, lookAgainMs } = rolloutStatus({ deployment: fresh, replicaSets, current, nowMs, timestamp })
    if (lookAgainMs !== undefined) this.#parts.after(lookAgainMs, () => this.#due.add(key))
    if (isSameJson(fresh.status, status)) return
    this.#parts.server.replaceStatus(ACTOR, DEPLOYMENT, { ...fresh, status } as KubeObject)
  }

  /** Returns false if nothing more can be done, for example in a terminating namespace. */
  #rollOut(deployment: Deployment): boolean {
    const [all, current] = this.#replicaSets(deployment)
    const others = all.filter((one) => one !== current)
    const isRecreated = deployment.spec.strategy?.type === 'Recreate'
    const wanted = deployment.spec.replicas ?? 1
    if (isRecreated && this.#stop(others)) return true
    if (isRecreated && this.#haveRest(others)) return true
    const next = current ?? this.#create(deployment, all)
    if (next === undefined) return false
    this.#scale(next, wanted)
    const isAvailable = (next.status?.availableReplicas ?? 0) >= wanted
    if (!isRecreated && isAvailable) this.#stop(others)
    if (isAvailable) this.#forget(others, deployment.spec.revisionHistoryLimit ?? DEFAULT_HISTORY)
    return true
  }

  /** Reports whether there was anything to stop. */
  #stop(replicaSets: readonly ReplicaSet[]): boolean {
    const running = replicaSets.filter(({ spec }) => (spec.replicas ?? 1) > 0)
    for (const replicaSet of running) this.#scale(replicaSet, 0)
    return running.length > 0
  }

  #haveRest(replicaSets: readonly ReplicaSet[]): boolean {
    const uids = new Set(replicaSets.map(({ metadata }) => metadata.uid))
    const pods = [...this.#parts.store.table(POD).objects.values()] as ReplicaPod[]
    const isLeft = (pod: ReplicaPod) => pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed'
    return pods.some((pod) => uids.has(controllerUid(pod, 'ReplicaSet')) && isLeft(pod))
  }

  #scale(replicaSet: ReplicaSet, replicas: number): void {
    if ((replicaSet.spec.replicas ?? 1) === replicas) return
    this.#parts.server.mergePatch(ACTOR, REPLICA_SET, replicaSet.metadata, { spec: { replicas } })
  }

  #create(deployment: Deployment, olds: readonly ReplicaSet[]): ReplicaSet | undefined {
    const { server, timestamp } = this.#parts
    const revision = String(Math.max(0, ...olds.map(revisionOf)) + 1)
    const made = replicaSetFor(deployment, revision)
    try {
      server.create(ACTOR, REPLICA_SET, made)
    } catch (error) {
      // Another owner's object has this name, or the namespace is terminating.
      if (!isApiError(error)) throw error
      return undefined
    }
    const told = {
      type: 'Progressing',
      status: 'True',
      reason: 'NewReplicaSetCreated',
      message: `Created new replica set "${made.metadata.name}"`,
      lastUpdateTime: timestamp(),
    } as const
    const noted = server.mergePatch(ACTOR, DEPLOYMENT, deployment.metadata, {
      metadata: { annotations: { [REVISION]: revision } },
    }) as Deployment
    const conditions = withCondition(noted.status?.conditions ?? [], told, timestamp())
    server.replaceStatus(ACTOR, DEPLOYMENT, { ...noted, status: { ...noted.status, conditions } } as KubeObject)
    return this.#parts.store.table(REPLICA_SET).objects.get(keyOf(made.metadata)) as ReplicaSet | undefined
  }

  #forget(olds: readonly ReplicaSet[], limit: number): void {
    const idle = olds.filter(({ spec, status }) => spec.replicas === 0 && (status?.replicas ?? 0) === 0)
    const spare = [...idle].sort((a, b) => revisionOf(a) - revisionOf(b)).slice(0, Math.max(0, idle.length - limit))
    for (const { metadata } of spare) {
      this.#parts.server.delete(ACTOR, REPLICA_SET, metadata, { propagationPolicy: 'Background' })
    }
  }

  #deployment(key: string): Deployment | undefined {
    return this.#parts.store.table(DEPLOYMENT).objects.get(key) as Deployment | undefined
  }

  /** Returns all ReplicaSets of a Deployment, and the one of its current template. */
  #replicaSets({ metadata, spec }: Deployment): readonly [readonly ReplicaSet[], ReplicaSet | undefined] {
    const found = [...this.#parts.store.table(REPLICA_SET).objects.values()] as ReplicaSet[]
    const own = found.filter((one) => controllerUid(one, 'Deployment') === metadata.uid)
    return [own, own.find((one) => isSameJson(withoutHash(one.spec.template), withoutHash(spec.template)))]
  }

  #replicaSetOf(pod: KubeObject): KubeObject | undefined {
    const uid = controllerUid(pod, 'ReplicaSet')
    if (uid === undefined) return undefined
    return [...this.#parts.store.table(REPLICA_SET).objects.values()].find(({ metadata }) => metadata.uid === uid)
  }
}

function replicaSetFor({ apiVersion, kind, metadata, spec }: Deployment, revision: string): ReplicaSet {
  const hash = createHash('sha256').update(JSON.stringify(spec.template)).digest('hex').slice(0, 10)
  const labels = { ...spec.template.metadata?.labels, [HASH_LABEL]: hash }
  const { name, namespace, uid = '' } = metadata
  const replicas = spec.replicas ?? 1
  return {
    apiVersion: apiVersionOf(REPLICA_SET),
    kind: REPLICA_SET.kind,
    metadata: {
      ...(namespace !== undefined && { namespace }),
      name: `${name}-${hash}`,
      labels,
      annotations: {
        [REVISION]: revision,
        'deployment.kubernetes.io/desired-replicas': String(replicas),
        'deployment.kubernetes.io/max-replicas': String(replicas),
      },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: {
      replicas,
      selector: { ...spec.selector, matchLabels: { ...spec.selector?.matchLabels, [HASH_LABEL]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  }
}

function withoutHash({ metadata = {}, ...rest }: PodTemplate): PodTemplate {
  const { [HASH_LABEL]: _hash, ...labels } = metadata.labels ?? {}
  return { ...rest, metadata: { ...metadata, labels } }
}

function revisionOf({ metadata }: KubeObject): number {
  return Number(metadata.annotations?.[REVISION] ?? 0)
}
