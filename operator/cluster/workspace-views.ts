import { createHash } from 'node:crypto'
import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject, ResourceType } from '../kube/kube-object.ts'
import { CONFIG_MAP, POD } from '../kube/resource-types.ts'
import { upTo } from '../runtime/foreign.ts'
import type { ConditionView } from '../runtime/interned.ts'
import { keptMetadata } from './kept-metadata.ts'
import { conditionOf } from './views.ts'

/** What the caches keep of the parts of workspaces: what is ours of them, and what tells whether they work. */

/** A second cache of a kind has a type of its own, which is not the same object: other things of the kind are in the first one. */
export const WORKSPACE_CONFIG_MAP: ResourceType = { ...CONFIG_MAP }
export const WORKSPACE_POD: ResourceType = { ...POD }

/** A kind whose spec is ours in full, and which says nothing of itself that matters. */
export interface SpecView extends KubeObject {
  readonly spec: unknown
}

export interface DeploymentView extends SpecView {
  readonly observedGeneration: number
  /** Pods of the present template. */
  readonly updated: number
  readonly available: number
  /** Pods of any template. */
  readonly replicas: number
  readonly progressing: ConditionView
  /** Its pods are refused: by a quota, by Pod Security, by a webhook. */
  readonly replicaFailure: ConditionView
}

/** Why a container does not run, in the words of the kubelet. */
export interface ContainerTrouble {
  readonly container: string
  readonly reason: string
  readonly message: string
}

export interface ContainerPodView extends KubeObject {
  readonly phase: string
  readonly isReady: boolean
  /** Of all of its containers. */
  readonly restarts: number
  /** Of the first container that has one. */
  readonly trouble: ContainerTrouble | undefined
  /** Why no node takes it; empty where one has. */
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

// biome-ignore lint/suspicious/noExplicitAny: this is the edge where JSON of others is read, field by field
type Raw = any

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
    restarts: containers.reduce((sum, { restartCount }) => sum + (Number(restartCount) || 0), 0),
    trouble: containers.map(troubleOf).find((one) => one !== undefined),
    unschedulable: scheduled.status === 'False' ? upTo(MESSAGE_MAX, scheduled.message) : '',
  }
}

/** A container that has not been started yet is no trouble. */
const STARTING: readonly unknown[] = [undefined, '', 'ContainerCreating', 'PodInitializing']

function troubleOf({ name, state = {}, lastState = {} }: Raw): ContainerTrouble | undefined {
  const ended = state.terminated ?? (state.running === undefined ? lastState.terminated : undefined)
  const isWaiting = !STARTING.includes(state.waiting?.reason)
  const hasFailed = ended !== undefined && ended.exitCode !== 0
  if (!isWaiting && !hasFailed) return undefined
  const reason = isWaiting ? state.waiting.reason : ended.reason
  const exit = hasFailed ? `exit code ${ended.exitCode}` : ''
  const message = [state.waiting?.message, ended?.message, exit].filter(Boolean).join(': ')
  return { container: upTo(REASON_MAX, name), reason: upTo(REASON_MAX, reason), message: upTo(MESSAGE_MAX, message) }
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

/** Of the data of a ConfigMap, which may be a megabyte: as much as tells whether two are the same. */
export function fingerprints(data: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const hash = (value: string) => createHash('sha256').update(value).digest('hex')
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, hash(String(value))]))
}
