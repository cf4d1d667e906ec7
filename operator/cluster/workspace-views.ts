import { createHash } from 'node:crypto'
import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject, Raw, ResourceType } from '../kube/kube-object.ts'
import { CONFIG_MAP, POD } from '../kube/resource-types.ts'
import { upTo } from '../runtime/foreign.ts'
import type { ConditionView } from '../runtime/interned.ts'
import { keptMetadata } from './kept-metadata.ts'
import { conditionOf } from './views.ts'

/** The parts of workspace components that the caches keep: the fields that the operator owns, and the fields that show whether they work. */

/** The second cache of a kind needs its own type object. The first cache holds other objects of the kind. */
export const WORKSPACE_CONFIG_MAP: ResourceType = { ...CONFIG_MAP }
export const WORKSPACE_POD: ResourceType = { ...POD }

/** A kind whose spec the operator owns completely, and which reports nothing relevant about itself. */
export interface SpecView extends KubeObject {
  readonly spec: unknown
}

export interface DeploymentView extends SpecView {
  readonly observedGeneration: number
  /** Pods of the current template. */
  readonly updated: number
  readonly available: number
  /** Pods of any template. */
  readonly replicas: number
  readonly progressing: ConditionView
  /** Its pods are refused, by a quota, Pod Security or a webhook. */
  readonly replicaFailure: ConditionView
}

/** Why a container does not run, as reported by the kubelet. */
export interface ContainerTrouble {
  readonly container: string
  readonly reason: string
  readonly message: string
  readonly restarts: number
}

export interface ContainerPodView extends KubeObject {
  readonly phase: string
  readonly isReady: boolean
  /** Trouble of the first container that has any. */
  readonly trouble: ContainerTrouble | undefined
  /** Why it cannot be scheduled; empty unless its condition PodScheduled is False. */
  readonly unschedulable: string
}

export interface PersistentVolumeView extends SpecView {
  readonly phase: string
  /** `<namespace>/<name>` of its claim. */
  readonly claim: string | undefined
  readonly claimUid: string | undefined
}

export interface ConfigMapView extends KubeObject {
  /** SHA-256 (hex) of each value, by key: {@link fingerprints}. */
  readonly data: Readonly<Record<string, string>>
}

const OURS = { labels: Object.values(LABELS), annotations: [ANNOTATIONS.rendered] }
const REASON_MAX = 64
const MESSAGE_MAX = 1_000

function metadataOf({ metadata }: KubeObject) {
  return keptMetadata(metadata, OURS)
}

export function viewWithSpec(object: KubeObject): SpecView {
  const { apiVersion, kind, spec }: Raw = object
  return { apiVersion, kind, metadata: metadataOf(object), spec }
}

export function viewDeployment(object: KubeObject): DeploymentView {
  const { apiVersion, kind, spec, status = {} }: Raw = object
  const conditions: Raw[] = status.conditions ?? []
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    spec,
    observedGeneration: status.observedGeneration ?? 0,
    updated: status.updatedReplicas ?? 0,
    available: status.availableReplicas ?? 0,
    replicas: status.replicas ?? 0,
    progressing: conditionOf(conditions, 'Progressing'),
    replicaFailure: conditionOf(conditions, 'ReplicaFailure'),
  }
}

export function viewContainerPod(object: KubeObject): ContainerPodView {
  const { apiVersion, kind, status = {} }: Raw = object
  const containers: Raw[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  const conditions: Raw[] = status.conditions ?? []
  const scheduled = conditionOf(conditions, 'PodScheduled')
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    phase: upTo(REASON_MAX, status.phase),
    isReady: conditionOf(conditions, 'Ready').status === 'True',
    trouble: containers.map(troubleOf).find((one) => one !== undefined),
    unschedulable: scheduled.status === 'False' ? upTo(MESSAGE_MAX, scheduled.message) : '',
  }
}

/** Waiting reasons of a container that has not started yet, which are not trouble. */
const STARTING: readonly unknown[] = [undefined, '', 'ContainerCreating', 'PodInitializing']

function troubleOf({ name, restartCount, state = {}, lastState = {} }: Raw): ContainerTrouble | undefined {
  const ended = state.terminated ?? (state.running === undefined ? lastState.terminated : undefined)
  const isWaiting = !STARTING.includes(state.waiting?.reason)
  const hasFailed = ended !== undefined && ended.exitCode !== 0
  if (!isWaiting && !hasFailed) return undefined
  const reason = isWaiting ? state.waiting.reason : ended.reason
  const exit = hasFailed ? `exit code ${ended.exitCode}` : ''
  const message = [state.waiting?.message, ended?.message, exit].filter(Boolean).join(': ')
  return {
    container: upTo(REASON_MAX, name),
    reason: upTo(REASON_MAX, reason),
    message: upTo(MESSAGE_MAX, message),
    restarts: Number(restartCount) || 0,
  }
}

export function viewPersistentVolume(object: KubeObject): PersistentVolumeView {
  const { apiVersion, kind, spec, status }: Raw = object
  const { namespace, name, uid } = spec?.claimRef ?? {}
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    spec,
    phase: upTo(REASON_MAX, status?.phase),
    claim: name === undefined ? undefined : `${namespace}/${name}`,
    claimUid: uid,
  }
}

export function viewConfigMap(object: KubeObject): ConfigMapView {
  const { apiVersion, kind, data }: Raw = object
  return { apiVersion, kind, metadata: metadataOf(object), data: fingerprints(data) }
}

/** Returns a hash of each value of a ConfigMap, which can have a megabyte. The hashes are enough to compare two ConfigMaps. */
export function fingerprints(data: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const hash = (value: string) => createHash('sha256').update(value).digest('hex')
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, hash(String(value))]))
}
