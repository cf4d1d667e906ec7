import { BlockList, isIP } from 'node:net'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { isSelected, type LabelSelector } from './label-selector.ts'
import type { Pod } from './models.ts'

interface Peer {
  readonly podSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface PolicyPort {
  /** A number, or the name of a port of the destination pod. */
  readonly port?: number | string
  readonly endPort?: number
  readonly protocol?: string
}

export interface NetworkPolicy extends KubeObject {
  readonly spec: {
    readonly podSelector?: LabelSelector
    readonly policyTypes?: readonly string[]
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: readonly PolicyPort[] }[]
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: readonly PolicyPort[] }[]
  }
}

/** The parts of a cluster that NetworkPolicies depend on. */
export interface PolicedCluster {
  readonly policies: readonly NetworkPolicy[]
  /** Namespaces, for their labels. */
  readonly namespaces: readonly KubeObject[]
}

export interface Destination {
  readonly port: number
  /** Default: TCP. */
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP'
}

type Direction = 'Ingress' | 'Egress'

/**
 * Reports whether NetworkPolicies let one pod reach a port of another on the pod network. If any policy selects a pod for a direction,
 * only what one of these policies allows is open. Both ends must allow a connection. Policies do not apply to Multus networks.
 */
export function mayReach(cluster: PolicedCluster, from: Pod, to: Pod, destination: Destination): boolean {
  const call = { from, to, port: destination.port, protocol: destination.protocol ?? 'TCP' }
  return isOpen(cluster, 'Egress', call) && isOpen(cluster, 'Ingress', call)
}

interface Call extends Required<Destination> {
  readonly from: Pod
  readonly to: Pod
}

function isOpen(cluster: PolicedCluster, direction: Direction, call: Call): boolean {
  const [pod, peer] = direction === 'Ingress' ? [call.to, call.from] : [call.from, call.to]
  const own = cluster.policies.filter(
    (policy) =>
      policy.metadata.namespace === pod.metadata.namespace &&
      typesOf(policy).includes(direction) &&
      isSelected(policy.spec.podSelector ?? {}, pod.metadata.labels),
  )
  return own.length === 0 || own.some((policy) => allows(cluster, policy, direction, peer, call))
}

/** By default, a policy is of type Ingress, and also of type Egress if it has egress rules. */
function typesOf({ spec }: NetworkPolicy): readonly string[] {
  return spec.policyTypes ?? (spec.egress === undefined ? ['Ingress'] : ['Ingress', 'Egress'])
}

function allows(cluster: PolicedCluster, policy: NetworkPolicy, direction: Direction, peer: Pod, call: Call): boolean {
  const rules =
    direction === 'Ingress'
      ? (policy.spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
      : (policy.spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
  return rules.some(
    ({ peers = [], ports = [] }) =>
      (peers.length === 0 || peers.some((one) => isPeer(cluster, policy, one, peer))) &&
      (ports.length === 0 || ports.some((one) => isPort(one, call))),
  )
}

function isPeer(cluster: PolicedCluster, policy: NetworkPolicy, peer: Peer, { metadata, status }: Pod): boolean {
  const { podSelector, namespaceSelector, ipBlock } = peer
  if (ipBlock !== undefined) return status?.podIP !== undefined && isInBlock(ipBlock, status.podIP)
  const namespace = cluster.namespaces.find(({ metadata: { name } }) => name === metadata.namespace)
  const isPlace =
    namespaceSelector === undefined
      ? metadata.namespace === policy.metadata.namespace
      : namespace !== undefined && isSelected(namespaceSelector, namespace.metadata.labels)
  return isPlace && isSelected(podSelector ?? {}, metadata.labels)
}

function isInBlock({ cidr, except = [] }: NonNullable<Peer['ipBlock']>, address: string): boolean {
  const isIn = (block: string) => {
    const [network = '', prefix = ''] = block.split('/')
    const family = isIP(network) === 6 ? 'ipv6' : 'ipv4'
    const list = new BlockList()
    list.addSubnet(network, Number(prefix), family)
    return list.check(address, family)
  }
  return isIn(cidr) && !except.some(isIn)
}

function isPort({ port, endPort, protocol = 'TCP' }: PolicyPort, call: Call): boolean {
  if (protocol !== call.protocol) return false
  if (port === undefined) return true
  if (typeof port === 'number') return call.port >= port && call.port <= (endPort ?? port)
  const ports = call.to.spec.containers.flatMap((container) => container.ports ?? [])
  return ports.some(
    (one) => one.name === port && one.containerPort === call.port && (one.protocol ?? 'TCP') === protocol,
  )
}
