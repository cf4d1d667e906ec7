import { isApiError } from '../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { JOB, POD } from '../../operator/kube/resource-types.ts'
import { isTerminating } from './deletion.ts'
import { type DueKeys, dueAfterCommits } from './due-keys.ts'
import { hasFinished, JOB_TRACKING, type Job, type JobPods, type JobStatus, podsOfJob } from './job-objects.ts'
import { isSameJson } from './json.ts'
import type { Commit } from './object-store.ts'
import {
  conditionOf,
  controllerUid,
  type ReplicaPod,
  type WorkloadCondition,
  withCondition,
} from './workload-objects.ts'
import { podNameFrom, type WorkloadParts } from './workload-parts.ts'

const ACTOR = 'job-controller'
const RETRY_MS = 1_000
const RETRY_MAX_MS = 60_000
const SECOND_MS = 1_000

type Told = Omit<WorkloadCondition, 'lastTransitionTime'>

const SUSPENDED: Told = { type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended' }
const RESUMED: Told = { type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed' }
const COMPLETED: Told = {
  type: 'SuccessCriteriaMet',
  status: 'True',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
}
const TOO_MANY_FAILED: Told = {
  type: 'FailureTarget',
  status: 'True',
  reason: 'BackoffLimitExceeded',
  message: 'Job has reached the specified backoff limit',
}
const TOO_LATE: Told = {
  type: 'FailureTarget',
  status: 'True',
  reason: 'DeadlineExceeded',
  message: 'Job was active longer than specified deadline',
}

/**
 * Runs Jobs of one pod, as the controller of Kubernetes 1.31 and newer does: what ends a Job is said first (FailureTarget, SuccessCriteriaMet), and it has ended
 * once no pod of it is left that runs. A finalizer holds each pod until it is counted. The delay before a pod that failed is replaced is not modelled.
 */
export class JobController {
  readonly #parts: WorkloadParts
  readonly #due: DueKeys
  readonly #refusals = new Map<string, number>()

  constructor(parts: WorkloadParts) {
    this.#parts = parts
    this.#due = dueAfterCommits(parts, keysOf, (key) => this.#sync(key))
  }

  #sync(key: string): void {
    const job = this.#parts.store.table(JOB).objects.get(key) as Job | undefined
    this.#release(this.#orphansOf(key, job))
    if (job === undefined || hasFinished(job)) {
      this.#refusals.delete(key)
      return
    }
    const pods = podsOfJob(job, this.#pods())
    if (isTerminating(job)) this.#release([...pods.active, ...pods.terminating, ...pods.succeeded, ...pods.failed])
    else this.#manage(key, job, pods)
  }

  #manage(key: string, job: Job, pods: JobPods): void {
    const { status = {} } = job
    const counts = {
      failed: (status.failed ?? 0) + pods.failed.length,
      succeeded: (status.succeeded ?? 0) + pods.succeeded.length,
    }
    const isStarting = status.startTime === undefined && job.spec.suspend !== true
    const started: JobStatus = isStarting ? { ...status, startTime: this.#parts.timestamp() } : status
    const end = this.#endOf(key, job, started, counts)
    if (end === undefined) this.#goOn(key, job, pods, { ...started, ...counts })
    else this.#finish(job, pods, { ...started, ...counts }, end)
  }

  #goOn(key: string, job: Job, pods: JobPods, status: JobStatus): void {
    const isSuspended = job.spec.suspend === true
    const now = this.#parts.timestamp()
    const next = isSuspended ? this.#stop(pods) : this.#ensurePod(key, job, pods)
    const known = status.conditions ?? []
    // A Job that never was suspended says nothing of it.
    const isTold = isSuspended || conditionOf(known, 'Suspended') !== undefined
    const conditions = isTold ? withCondition(known, isSuspended ? SUSPENDED : RESUMED, now) : known
    const isResumed = !isSuspended && conditions !== known
    this.#write(job, { ...status, ...next, conditions, ...(isResumed && { startTime: now }) })
    this.#release([...pods.failed, ...pods.succeeded])
  }

  /** Returns what ends the Job. */
  #endOf(
    key: string,
    { spec }: Job,
    { startTime, conditions }: JobStatus,
    { failed, succeeded }: { readonly failed: number; readonly succeeded: number },
  ): Told | undefined {
    const told = conditionOf(conditions, 'SuccessCriteriaMet') ?? conditionOf(conditions, 'FailureTarget')
    if (told !== undefined) return told
    if (failed > (spec.backoffLimit ?? 6)) return TOO_MANY_FAILED
    const { activeDeadlineSeconds: seconds } = spec
    if (seconds !== undefined && spec.suspend !== true && startTime !== undefined) {
      const leftMs = Date.parse(startTime) + seconds * SECOND_MS - this.#parts.now()
      if (leftMs <= 0) return TOO_LATE
      this.#parts.after(leftMs, () => this.#due.add(key))
    }
    return succeeded > 0 ? COMPLETED : undefined
  }

  #finish(job: Job, pods: JobPods, status: JobStatus, end: Told): void {
    const { server, timestamp } = this.#parts
    const isFailure = end.type === 'FailureTarget'
    for (const { metadata } of pods.active) server.delete(ACTOR, POD, metadata)
    const { active, terminating } = podsOfJob(job, this.#pods())
    const isOver = active.length + terminating.length === 0 && conditionOf(status.conditions, end.type) !== undefined
    const { reason, message } = end
    const last: Told = { type: isFailure ? 'Failed' : 'Complete', status: 'True', reason, message }
    const now = timestamp()
    this.#write(job, {
      ...status,
      // What is stopped counts as failed.
      ...(isFailure && { failed: (status.failed ?? 0) + pods.active.length }),
      active: 0,
      ready: 0,
      terminating: terminating.length,
      conditions: withCondition(status.conditions ?? [], isOver ? last : end, now),
      ...(isOver && !isFailure && { completionTime: now }),
    })
    this.#release([...terminating, ...pods.failed, ...pods.succeeded])
  }

  /** A pod that is stopped because its Job is suspended does not count. */
  #stop({ active, terminating }: JobPods): JobStatus {
    this.#release(active)
    for (const { metadata } of active) this.#parts.server.delete(ACTOR, POD, metadata)
    return { active: 0, ready: 0, terminating: terminating.length + active.length }
  }

  #ensurePod(key: string, job: Job, { active, terminating }: JobPods): JobStatus {
    const isWaiting = job.spec.podReplacementPolicy === 'Failed' && terminating.length > 0
    const isMade = active.length === 0 && !isWaiting && this.#createPod(key, job)
    const ready = active.filter(isReady).length
    return { active: active.length + (isMade ? 1 : 0), ready, terminating: terminating.length }
  }

  #createPod(key: string, job: Job): boolean {
    try {
      this.#parts.server.create(ACTOR, POD, this.#podFor(job))
      this.#refusals.delete(key)
      return true
    } catch (error) {
      if (!isApiError(error)) throw error
      const refusals = this.#refusals.get(key) ?? 0
      this.#refusals.set(key, refusals + 1)
      this.#parts.after(Math.min(RETRY_MAX_MS, RETRY_MS * 2 ** Math.min(refusals, 30)), () => this.#due.add(key))
      return false
    }
  }

  #podFor({ apiVersion, kind, metadata, spec }: Job): KubeObject {
    const { name, namespace, uid = '' } = metadata
    const { labels, annotations } = spec.template.metadata ?? {}
    return {
      apiVersion: apiVersionOf(POD),
      kind: POD.kind,
      metadata: {
        ...(namespace !== undefined && { namespace }),
        name: podNameFrom(name, this.#parts.random),
        ...(labels && { labels }),
        ...(annotations && { annotations }),
        finalizers: [JOB_TRACKING],
        ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
      },
      ...(spec.template.spec && { spec: spec.template.spec }),
    } as KubeObject
  }

  #write(job: Job, status: JobStatus): void {
    const { active, succeeded, failed, conditions = [], ...rest } = status
    const shown = {
      ...rest,
      ...(active !== undefined && active > 0 && { active }),
      ...(succeeded !== undefined && succeeded > 0 && { succeeded }),
      ...(failed !== undefined && failed > 0 && { failed }),
      ...(conditions.length > 0 && { conditions }),
    }
    if (isSameJson(job.status, shown)) return
    this.#parts.server.replaceStatus(ACTOR, JOB, { ...job, status: shown } as KubeObject)
  }

  #release(pods: readonly ReplicaPod[]): void {
    for (const { metadata } of pods) {
      const { finalizers = [] } = this.#parts.store.table(POD).objects.get(keyOf(metadata))?.metadata ?? {}
      if (!finalizers.includes(JOB_TRACKING)) continue
      const others = finalizers.filter((one) => one !== JOB_TRACKING)
      this.#parts.server.mergePatch(ACTOR, POD, metadata, { metadata: { finalizers: others } })
    }
  }

  /** Returns pods that nobody counts any more: their Job is gone or has ended, or they have been taken away from it. */
  #orphansOf(key: string, job: Job | undefined): readonly ReplicaPod[] {
    const uid = job === undefined || hasFinished(job) ? undefined : job.metadata.uid
    return this.#pods().filter(
      (pod) => jobKeyOf(pod) === key && (uid === undefined || controllerUid(pod, 'Job') !== uid),
    )
  }

  #pods(): readonly ReplicaPod[] {
    return [...this.#parts.store.table(POD).objects.values()] as ReplicaPod[]
  }
}

function keysOf({ type, resource, object }: Commit): readonly string[] {
  if (resource === JOB) return [keyOf(object.metadata)]
  const key = resource === POD ? jobKeyOf(object) : undefined
  // A pod that nobody holds is of no interest, except to its Job when it is gone.
  return key === undefined || (type !== 'DELETED' && controllerUid(object, 'Job') === undefined && !isHeld(object))
    ? []
    : [key]
}

function isHeld({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(JOB_TRACKING) === true
}

/** A pod that was taken away from its Job still has its name in a label. */
function jobKeyOf({ metadata: { namespace, labels } }: KubeObject): string | undefined {
  const name = labels?.['batch.kubernetes.io/job-name']
  return name === undefined ? undefined : `${namespace}/${name}`
}

function isReady({ status }: ReplicaPod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') ?? false
}
