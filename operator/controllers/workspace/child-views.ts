import { createHash } from 'node:crypto'
import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { NETWORKS_ANNOTATION, PLAYER_CONTAINER, podNetworksIn } from '@open-terrain/constructs/operator'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import { conditionOf } from '../../cluster/views.ts'
import type { KubeObject, Raw, ResourceType } from '../../kube/kube-object.ts'
import { CONFIG_MAP, NETWORK_ATTACHMENT_DEFINITION, POD } from '../../kube/resource-types.ts'
import { fits, KEPT_MAX, picked, upTo } from '../../runtime/foreign.ts'
import type { ConditionView } from '../../runtime/interned.ts'
import { DECIDED_OF_SERVICE } from '../../runtime/owned-fields.ts'

/** The parts of workspace components that the caches keep: the fields that the operator owns, and the fields that show whether they work. */

/** The second cache of a kind needs its own type object. The first cache holds other objects of the kind. */
export const WORKSPACE_CONFIG_MAP: ResourceType = { ...CONFIG_MAP }
export const WORKSPACE_POD: ResourceType = { ...POD }
export const LAB_ISOLATION_POD: ResourceType = { ...POD }
export const FOREIGN_NETWORK: ResourceType = { ...NETWORK_ATTACHMENT_DEFINITION }

/** A kind whose spec the operator owns completely, and which reports nothing relevant about itself. */
export interface SpecView extends KubeObject {
  readonly spec: unknown
}

export interface DeploymentView extends SpecView {
  /** Set if its spec is too large for the cache, which has only what places its pod: the rest is read when it is needed. */
  readonly isAside?: true
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
  /** Set if it is one that has to end before the others start. */
  readonly isInit?: true
  readonly reason: string
  readonly message: string
  /** How often it was started again. Known only while it is down. */
  readonly restarts: number
  /** Of its last run, if that has ended. */
  readonly exitCode?: number
  /** Set if its last run ended because it had no more memory: its limit, or an empty text without one. */
  readonly memoryLimit?: string
}

/** An interface of a pod, as Multus reports it once the interface exists, which is before any container of the pod starts. */
export interface AttachedNetwork {
  /** `<namespace>/<name>` of its NetworkAttachmentDefinition. Old versions of Multus have another name here, without a slash. */
  readonly name: string
  readonly interface: string
  readonly ips: readonly string[]
  readonly mac: string
  /** Whether it is the network that every pod of the cluster is on. */
  readonly isDefault: boolean
}

export interface ContainerPodView extends KubeObject {
  /** Empty until it is scheduled. */
  readonly node: string
  readonly phase: string
  readonly isReady: boolean
  /** Whether the cluster hears no more of it, because its node has stopped reporting: nobody knows whether it runs. */
  readonly isSilent: boolean
  /** Undefined if nothing has been reported. */
  readonly attached: readonly AttachedNetwork[] | undefined
  /** Its addresses on the network that every pod of the cluster is on. */
  readonly podIps: readonly string[]
  /** Trouble of the first container that has any. */
  readonly trouble: ContainerTrouble | undefined
  /** Name of the init container that runs; empty if none does. */
  readonly initializing: string
  /** Why the scheduler finds no node for it; empty if it has not tried. */
  readonly unschedulable: string
  /** Names of its scheduling gates. */
  readonly gates: readonly string[]
  /** Whether it was kept off nodes by name when its gate was opened. Nobody can change that in a pod. */
  readonly isKeptOff: boolean
  readonly isPrivileged: boolean
  /** Of a pod that plays roles, once it has ended: what it said at its end. It may contain secrets. */
  readonly lastWords?: LastWords
}

/** Reports whether nothing of a pod runs any more, or ever will. An evicted one stays until somebody deletes it, and says nothing about its replacement. */
export function hasPodEnded({ phase }: Pick<ContainerPodView, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** What a container said at its end, at most 4,096 bytes, and its exit code. */
export interface LastWords {
  readonly text: string
  readonly exitCode: number
}

/** A pod that keeps its node out of the networks of workspaces. */
export interface LabIsolationPodView extends KubeObject {
  readonly node: string
  readonly isReady: boolean
}

/** A Job that plays the roles of a machine. */
export interface PlayJobView extends KubeObject {
  readonly isSuspended: boolean
  readonly complete: ConditionView
  readonly failed: ConditionView
  /** Addresses of its pod on networks of the workspace, in CIDR form. */
  readonly addresses: readonly string[]
  /** Names of the Secrets that its pod mounts. */
  readonly secrets: readonly string[]
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

const OURS = {
  labels: Object.values(LABELS),
  annotations: [ANNOTATIONS.rendered, ANNOTATIONS.hosts],
  // Nodes that do not fit in would be tried again and again.
  whole: [ANNOTATIONS.avoidedNodes],
}
const NAME_MAX = 253
const REASON_MAX = 64
const MESSAGE_MAX = 1_000

function metadataOf({ metadata }: KubeObject) {
  return keptMetadata(metadata, OURS)
}

export function viewWithSpec(object: KubeObject): SpecView {
  const { apiVersion, kind, spec }: Raw = object
  return { apiVersion, kind, metadata: metadataOf(object), spec }
}

export interface ServiceView extends SpecView {
  /** Addresses or host names of its load balancer. */
  readonly ingress: readonly string[]
}

/** More ports than a Service of a workspace has, and more addresses than a message names. */
const SERVICE_LIST_MAX = 32

/** Keeps of the spec only what people decide on, so that what Kubernetes adds is no difference. */
export function viewService(object: KubeObject): ServiceView {
  const { apiVersion, kind, spec = {}, status = {} }: Raw = object
  const { ports = [], externalIPs } = spec
  const decided = Object.entries(spec).filter(([key]) => DECIDED_OF_SERVICE.includes(key))
  const ingress: Raw[] = status.loadBalancer?.ingress ?? []
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    spec: {
      ...Object.fromEntries(decided),
      ports: ports.slice(0, SERVICE_LIST_MAX),
      ...(externalIPs?.length > 0 && { externalIPs: externalIPs.slice(0, 1) }),
    },
    ingress: ingress
      .slice(0, SERVICE_LIST_MAX)
      .map(({ ip, hostname }) => upTo(NAME_MAX, ip ?? hostname))
      .filter((one) => one !== ''),
  }
}

export interface RoleBindingView extends KubeObject {
  readonly roleRef: unknown
  readonly subjects: unknown
}

export function viewRoleBinding(object: KubeObject): RoleBindingView {
  const { apiVersion, kind, roleRef, subjects }: Raw = object
  return { apiVersion, kind, metadata: metadataOf(object), roleRef, subjects: subjects ?? [] }
}

/** A NetworkAttachmentDefinition that is of no workspace. */
export interface ForeignNetworkView extends KubeObject {
  /** See {@link linksIn}. */
  readonly links: readonly string[]
}

export function viewForeignNetwork(object: KubeObject): ForeignNetworkView {
  const { apiVersion, kind, metadata, spec }: Raw = object
  return { apiVersion, kind, metadata: keptMetadata(metadata), links: linksIn(spec?.config) }
}

const LINK = /"(?:name|bridge)"\s*:\s*"([^"\\]{1,63})"/gi
/** More than a chain of plug-ins has. */
const LINKS_MAX = 32

/** Returns the names in the configuration of a network by which a node joins it with others: those of bridges and of networks, and of more besides. */
export function linksIn(config: unknown): readonly string[] {
  if (typeof config !== 'string') return []
  const links = new Set<string>()
  for (const [, link = ''] of config.matchAll(LINK)) {
    if (links.size >= LINKS_MAX) break
    links.add(link)
  }
  return [...links]
}

/** Characters, and values, of a Deployment's spec that the cache keeps: hardly any container cluster has more. */
const DEPLOYMENT_MAX = { characters: 16_000, values: 1_000 }

/** Anybody may write Deployments with our label, as large and as many as they like. Some of ours are large too. */
export function viewDeployment(object: KubeObject): DeploymentView {
  const { apiVersion, kind, spec, status = {} }: Raw = object
  const conditions: Raw[] = status.conditions ?? []
  const isAside = !fits(spec, DEPLOYMENT_MAX.characters, DEPLOYMENT_MAX.values)
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    spec: isAside ? { ...(spec.replicas === 0 && { replicas: 0 }), template: placementIn(spec) } : spec,
    observedGeneration: status.observedGeneration ?? 0,
    updated: status.updatedReplicas ?? 0,
    available: status.availableReplicas ?? 0,
    replicas: status.replicas ?? 0,
    progressing: conditionOf(conditions, 'Progressing'),
    replicaFailure: conditionOf(conditions, 'ReplicaFailure'),
    ...(isAside && { isAside }),
  }
}

/** More than a container cluster can have of what places its pod. */
const PLACES_MAX = 128

/** The part of a pod template that says which pods belong together, what networks they have, and what nodes they can be on. */
function placementIn({ template }: Raw): object {
  const { labels, annotations } = template?.metadata ?? {}
  const networks: unknown = annotations?.[NETWORKS_ANNOTATION]
  const isKept = typeof networks === 'string' && networks.length <= KEPT_MAX / 2
  return {
    metadata: {
      labels: picked(labels, Object.values(LABELS)) ?? {},
      annotations: isKept ? { [NETWORKS_ANNOTATION]: networks } : {},
    },
    spec: {
      containers: [
        {
          ports: hostPortsIn(template?.spec),
          ...(isPrivileged(template?.spec) && { securityContext: { privileged: true } }),
        },
      ],
      volumes: volumesIn(template?.spec),
    },
  }
}

function hostPortsIn(pod: Raw): object[] {
  const containers: Raw[] = pod?.containers ?? []
  const ports: Raw[] = containers.slice(0, PLACES_MAX).flatMap((one) => (one?.ports ?? []).slice(0, PLACES_MAX))
  return ports.flatMap(({ hostPort }) => (typeof hostPort === 'number' ? [{ hostPort }] : [])).slice(0, PLACES_MAX)
}

function volumesIn(pod: Raw): object[] {
  const volumes: Raw[] = (pod?.volumes ?? []).slice(0, PLACES_MAX)
  return volumes.flatMap((volume): object[] => {
    const claimName: unknown = volume?.persistentVolumeClaim?.claimName
    if (claimName !== undefined) return [{ persistentVolumeClaim: { claimName: upTo(NAME_MAX, claimName) } }]
    return projectedIn(volume).map((name) => ({ projected: { sources: [{ configMap: { name } }] } }))
  })
}

function projectedIn(volume: Raw): string[] {
  const sources: Raw[] = (volume?.projected?.sources ?? []).slice(0, PLACES_MAX)
  return sources.flatMap((source) => (source?.configMap === undefined ? [] : upTo(NAME_MAX, source.configMap.name)))
}

/** Returns the names of the ConfigMaps that hold files of a container cluster. */
export function configMapsOf({ spec }: DeploymentView): string[] {
  const volumes: Raw[] = (spec as Raw)?.template?.spec?.volumes ?? []
  return volumes.slice(0, PLACES_MAX).flatMap(projectedIn)
}

/** A kubelet reports a pod as ready if its containers are. The controller of nodes takes only the condition away when it hears nothing of the node. */
function isSilent({ spec = {}, status = {} }: Raw): boolean {
  const containers: Raw[] = status.containerStatuses ?? []
  const areReady = containers.length > 0 && containers.every(({ ready }) => ready === true)
  const isGated = (spec.readinessGates ?? []).length > 0
  return areReady && !isGated && conditionOf(status.conditions ?? [], 'Ready').status === 'False'
}

export function viewContainerPod(object: KubeObject): ContainerPodView {
  const { apiVersion, kind, spec = {}, status = {} }: Raw = object
  const limits = new Map(
    [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(
      ({ name, resources }: Raw) => [name, resources?.limits?.memory] as const,
    ),
  )
  const initial: Raw[] = status.initContainerStatuses ?? []
  const troubles = [
    ...initial.map((one) => troubleOf(one, true, limits.get(one.name))),
    ...(status.containerStatuses ?? []).map((one: Raw) => troubleOf(one, false, limits.get(one.name))),
  ]
  const conditions: Raw[] = status.conditions ?? []
  const scheduled = conditionOf(conditions, 'PodScheduled')
  const gates: string[] = (spec.schedulingGates ?? []).map(({ name }: Raw) => upTo(NAME_MAX, name))
  const isGated = scheduled.reason === 'SchedulingGated'
  const ended = lastWordsOf(object)
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    node: upTo(NAME_MAX, spec.nodeName),
    phase: upTo(REASON_MAX, status.phase),
    isReady: conditionOf(conditions, 'Ready').status === 'True',
    isSilent: isSilent(object),
    attached: attachedNetworks(object),
    podIps: (status.podIPs ?? [{ ip: status.podIP }]).flatMap(({ ip }: Raw) => (ip ? [upTo(ADDRESS_MAX, ip)] : [])),
    // What one that plays says at its end may contain secrets, and is read elsewhere.
    trouble: 'lastWords' in ended ? undefined : troubles.find((one) => one !== undefined),
    initializing: upTo(REASON_MAX, initial.find(({ state }) => state?.running !== undefined)?.name),
    unschedulable: scheduled.status === 'False' && !isGated ? upTo(MESSAGE_MAX, scheduled.message) : '',
    gates,
    isKeptOff: isKeptOff(spec),
    isPrivileged: isPrivileged(spec),
    ...ended,
  }
}

function isKeptOff({ affinity }: Raw): boolean {
  const terms: Raw[] = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return terms.some(({ matchFields = [] }) => matchFields.some(({ operator }: Raw) => operator === 'NotIn'))
}

/** Kubernetes keeps no more of what a container says at its end. */
export const LAST_WORDS_MAX = 4_096

function lastWordsOf({ metadata, status = {} }: Raw): Pick<ContainerPodView, 'lastWords'> {
  if (metadata.labels?.[LABELS.play] === undefined) return {}
  const statuses: Raw[] = status.containerStatuses ?? []
  const ended = statuses.find(({ name }) => name === PLAYER_CONTAINER)?.state?.terminated
  if (ended === undefined) return {}
  return { lastWords: { text: upTo(LAST_WORDS_MAX, ended.message), exitCode: Number(ended.exitCode) || 0 } }
}

function isPrivileged(pod: Raw): boolean {
  const containers: Raw[] = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]
  return containers.some((one) => one?.securityContext?.privileged === true)
}

/** Reports whether a pod of the Deployment would have a privileged container. */
export function makesPrivileged({ spec }: DeploymentView): boolean {
  return isPrivileged((spec as Raw)?.template?.spec)
}

/** More than such a Job has of anything. */
const JOB_LIST_MAX = 8

export function viewPlayJob(object: KubeObject): PlayJobView {
  const { apiVersion, kind, spec = {}, status = {} }: Raw = object
  const { metadata: template = {}, spec: pod = {} } = spec.template ?? {}
  const conditions: Raw[] = status.conditions ?? []
  const volumes: Raw[] = (pod.volumes ?? []).slice(0, JOB_LIST_MAX)
  const sources = volumes.flatMap(({ projected }): Raw[] => (projected?.sources ?? []).slice(0, JOB_LIST_MAX))
  return {
    apiVersion,
    kind,
    metadata: metadataOf(object),
    isSuspended: spec.suspend === true,
    complete: conditionOf(conditions, 'Complete'),
    failed: conditionOf(conditions, 'Failed'),
    addresses: podNetworksIn(template.annotations)
      .slice(0, JOB_LIST_MAX)
      .flatMap(({ ips = [] }) => ips.slice(0, JOB_LIST_MAX).map((ip) => upTo(ADDRESS_MAX, ip))),
    secrets: sources.flatMap(({ secret }) => (secret === undefined ? [] : [upTo(NAME_MAX, secret.name)])),
  }
}

export function viewLabIsolationPod(object: KubeObject): LabIsolationPodView {
  const { apiVersion, kind, spec, status }: Raw = object
  const isReady = conditionOf(status?.conditions ?? [], 'Ready').status === 'True'
  return { apiVersion, kind, metadata: metadataOf(object), node: upTo(NAME_MAX, spec.nodeName), isReady }
}

/** Waiting reasons of a container that has not started yet, which are not trouble. */
const STARTING: readonly unknown[] = [undefined, '', 'ContainerCreating', 'PodInitializing']

/** An init container is done when it ends with exit code 0. Any other container has to run on. */
function troubleOf(
  { name, restartCount, state = {}, lastState = {} }: Raw,
  isInit: boolean,
  memoryLimit: unknown,
): ContainerTrouble | undefined {
  const ended = state.terminated ?? (state.running === undefined ? lastState.terminated : undefined)
  const isWaiting = !STARTING.includes(state.waiting?.reason)
  const hasEnded = ended !== undefined && !(isInit && ended.exitCode === 0)
  if (!isWaiting && !hasEnded) return undefined
  const reason = isWaiting ? state.waiting.reason : ended.reason
  const exit = hasEnded ? `exit code ${ended.exitCode}` : ''
  const message = [state.waiting?.message, ended?.message, exit].filter(Boolean).join(': ')
  return {
    container: upTo(REASON_MAX, name),
    ...(isInit && { isInit }),
    reason: upTo(REASON_MAX, reason),
    message: upTo(MESSAGE_MAX, message),
    restarts: Number(restartCount) || 0,
    ...(hasEnded && { exitCode: Number(ended.exitCode) }),
    ...(ended?.reason === 'OOMKilled' && { memoryLimit: upTo(REASON_MAX, memoryLimit ?? '') }),
  }
}

/** Written by Multus. Its early versions know only the second name. */
const NETWORK_STATUS = ['k8s.v1.cni.cncf.io/network-status', 'k8s.v1.cni.cncf.io/networks-status'] as const
/** Longer than any that Multus writes for the interfaces of a container cluster. */
const NETWORK_STATUS_MAX = 20_000
const ADDRESS_MAX = 64
const DEFINITION_MAX = 512

function attachedNetworks({ metadata: { annotations = {} } }: KubeObject): readonly AttachedNetwork[] | undefined {
  const text = NETWORK_STATUS.map((name) => annotations[name]).find((one) => one !== undefined)
  if (text === undefined || text.length > NETWORK_STATUS_MAX) return undefined
  try {
    const reported: unknown = JSON.parse(text)
    return Array.isArray(reported) ? reported.map(attachedNetwork) : undefined
  } catch {
    return undefined
  }
}

function attachedNetwork(reported: Raw): AttachedNetwork {
  const ips = Array.isArray(reported?.ips) ? reported.ips : []
  return {
    name: upTo(DEFINITION_MAX, reported?.name),
    interface: upTo(REASON_MAX, reported?.interface),
    ips: ips.map((ip: unknown) => upTo(ADDRESS_MAX, ip)),
    mac: upTo(ADDRESS_MAX, reported?.mac),
    isDefault: reported?.default === true,
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
