import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { SANDBOX_NODE } from './annotations.ts'
import { holdAll, isSelected } from './label-selector.ts'
import type { AffinityTerm, ContainerPort, Node, NodeSelector, PersistentVolume, Pod } from './models.ts'
import type { World } from './world.ts'

/** The node of a sandbox. */
export const NODE_NAME = 'node-1'
const HOSTNAME = 'kubernetes.io/hostname'
const LOCAL_VOLUMES = 'pelotech.ot/local-volumes'

export const NODE_LABELS: Readonly<Record<string, string>> = {
  [HOSTNAME]: NODE_NAME,
  'kubernetes.io/os': 'linux',
  [LOCAL_VOLUMES]: 'true',
}

/** Used if there are no Node objects. */
const ONLY_NODE: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE_NAME, labels: NODE_LABELS } }

/** What a scheduler considers. */
export interface Surroundings {
  readonly nodes: readonly Node[]
  /** All pods. Those without a node are ignored. */
  readonly pods: readonly Pod[]
  /** Volumes of the claims of the pod. */
  readonly volumes: readonly PersistentVolume[]
}

export type Placement =
  | { readonly node: string }
  /** Why no node takes the pod, with the message of the scheduler. */
  | { readonly refusal: string }

/** Returns the node of a pod. Pods that no kubelet of the sandbox ends have it in an annotation of the sandbox. */
export function nodeOf({ metadata, spec }: Pod): string | undefined {
  return spec.nodeName ?? metadata.annotations?.[SANDBOX_NODE]
}

/** Nothing is stored of it: it puts a pod on a node. */
export const BINDING: ResourceType = { group: '', version: 'v1', kind: 'Binding', plural: 'bindings', namespaced: true }

/** Puts a pod on a node, as a scheduler does. From then on only its kubelet ends it. */
export async function bind({ client, signal }: World, { metadata }: Pod, node: string): Promise<void> {
  const { name, namespace, uid } = metadata
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name, namespace, uid },
    target: { kind: 'Node', name: node },
  }
  await client.create(BINDING, binding as KubeObject, { signal })
}

/** Returns a pod with its node, to be written together with its status. */
export function on(pod: Pod, node: string): Pod {
  const { annotations } = pod.metadata
  return { ...pod, metadata: { ...pod.metadata, annotations: { ...annotations, [SANDBOX_NODE]: node } } }
}

/** A scheduler tries a pod that fitted no node again after this time, whatever has happened. */
export const FLUSH_MS = 300_000

/**
 * Calls `onRoom` when pods that fitted no node may fit one: a node or a volume has changed, or another pod has taken or left a place. As the scheduler of
 * Kubernetes does, it leaves out pods that the change does not help. In particular, a pod that has to be beside others is not tried when the last of those is
 * gone, although it then could be anywhere.
 */
export function watchRoom({ nodes, pods, volumes }: World, onRoom: (mayFit: (pod: Pod) => boolean) => void): void {
  pods.onChange(({ before, after }) => {
    if (placeOf(before) === placeOf(after)) return
    const helps = placeOf(after) === undefined ? ['free ports', 'anti-affinity', 'Insufficient'] : ['pod affinity']
    onRoom((pod) => helps.some((text) => refusalIn(pod).includes(text)))
  })
  for (const store of [nodes, volumes]) store.onChange(() => onRoom(() => true))
}

function refusalIn({ status }: Pod): string {
  return (
    status?.conditions?.find(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable')?.message ?? ''
  )
}

/** Returns the node on which a pod takes room. */
function placeOf(pod: Pod | undefined): string | undefined {
  if (pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return undefined
  return nodeOf(pod)
}

/**
 * Finds a node for a pod by its requirements: node labels, location of volumes, host ports, and other pods. Ignores
 * room for CPU and memory, taints and preferences.
 */
export function placePod(pod: Pod, { nodes: known, pods, volumes }: Surroundings): Placement {
  const nodes = known.length === 0 ? [ONLY_NODE] : known
  const others = pods.filter((other) => placeOf(other) !== undefined && other.metadata.uid !== pod.metadata.uid)
  const refusals = new Map<string, number>()
  for (const node of [...nodes].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    const refusal = refusalOf(node, pod, { nodes, pods: others, volumes })
    if (refusal === undefined) return { node: node.metadata.name }
    refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1)
  }
  const reasons = [...refusals].map(([reason, count]) => `${count} ${reason}`).sort()
  return { refusal: unavailable(nodes.length, `${reasons.join(', ')}.`) }
}

/** @param why ends with a period */
export function unavailable(nodes: number, why: string): string {
  const help = why.includes('free ports')
    ? `${nodes} No preemption victims found for incoming pod.`
    : `${nodes} Preemption is not helpful for scheduling.`
  return `0/${nodes} nodes are available: ${why} preemption: 0/${nodes} nodes are available: ${help}`
}

function refusalOf(node: Node, pod: Pod, surroundings: Surroundings): string | undefined {
  const { labels = {} } = node.metadata
  const { nodeSelector = {}, affinity = {} } = pod.spec
  const required = affinity.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const isChosen = isSelected({ matchLabels: nodeSelector }, labels) && (!required || isOneOf(required, node))
  if (node.spec?.unschedulable === true) return 'node(s) were unschedulable'
  if (!isChosen) return "node(s) didn't match Pod's node affinity/selector"
  const isOutOfReach = surroundings.volumes.some(
    ({ spec }) => spec.nodeAffinity?.required && !isOneOf(spec.nodeAffinity.required, node),
  )
  if (isOutOfReach) return "node(s) didn't match PersistentVolume's node affinity"
  const neighbours = surroundings.pods.filter((other) => nodeOf(other) === node.metadata.name)
  const taken = neighbours.flatMap(hostPortsOf)
  if (hostPortsOf(pod).some((port) => taken.some((other) => isSamePort(port, other)))) {
    return "node(s) didn't have free ports for the requested pod ports"
  }
  return affinityRefusal(node, pod, surroundings)
}

function affinityRefusal(node: Node, pod: Pod, { nodes, pods }: Surroundings): string | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {}
  const terms = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  const near = (term: AffinityTerm) => {
    const value = node.metadata.labels?.[term.topologyKey]
    const around = nodes.filter(({ metadata }) => value !== undefined && metadata.labels?.[term.topologyKey] === value)
    const names = new Set(around.map(({ metadata }) => metadata.name))
    return pods.some((other) => names.has(nodeOf(other) ?? '') && isMeant(term, pod, other))
  }
  // The first pod of a group that asks for its own members has none to join.
  const isFirst = terms.every((term) => isMeant(term, pod, pod) && !pods.some((other) => isMeant(term, pod, other)))
  const hasTopology = terms.every(({ topologyKey }) => node.metadata.labels?.[topologyKey] !== undefined)
  if (!hasTopology || !(terms.every(near) || isFirst)) return "node(s) didn't match pod affinity rules"
  const apart = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  return apart.some(near) ? "node(s) didn't match pod anti-affinity rules" : undefined
}

function isMeant({ labelSelector, namespaces = [] }: AffinityTerm, pod: Pod, other: Pod): boolean {
  const meant = namespaces.length === 0 ? [pod.metadata.namespace] : namespaces
  return (
    meant.some((namespace) => namespace === other.metadata.namespace) &&
    labelSelector !== undefined &&
    isSelected(labelSelector, other.metadata.labels)
  )
}

function isOneOf({ nodeSelectorTerms }: NodeSelector, { metadata }: Node): boolean {
  const fields = { 'metadata.name': metadata.name }
  return nodeSelectorTerms.some(
    ({ matchExpressions = [], matchFields = [] }) =>
      holdAll(matchExpressions, metadata.labels) && holdAll(matchFields, fields),
  )
}

function hostPortsOf({ spec }: Pod): ContainerPort[] {
  return spec.containers.flatMap(({ ports = [] }) => ports.filter(({ hostPort = 0 }) => hostPort > 0))
}

function isSamePort(a: ContainerPort, b: ContainerPort): boolean {
  const [everywhere, ...addresses] = [a, b].map(({ hostIP = '0.0.0.0' }) => hostIP)
  const meet = everywhere === addresses[0] || [everywhere, ...addresses].includes('0.0.0.0')
  return a.hostPort === b.hostPort && (a.protocol ?? 'TCP') === (b.protocol ?? 'TCP') && meet
}
