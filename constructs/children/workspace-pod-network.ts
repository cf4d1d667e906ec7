import type { NetworkDriver } from '../api/policy.ts'
import type { WorkspaceContainerCluster, WorkspaceSpec } from '../api/workspace.ts'
import { usableRoutes } from './cloud-init-network-data.ts'
import { withMacAddresses } from './mac-address.ts'
import type { WorkspaceRef } from './workspace-child.ts'
import { isDefaultRoute, podNetworkName, routesOf } from './workspace-network.ts'

/** One network of a pod, as Multus reads it. */
export interface PodNetwork {
  /** Of the NetworkAttachmentDefinition. */
  readonly name: string
  readonly namespace: string
  readonly ips: readonly [string]
  readonly mac: string
  /** Of the pod, at most 15 characters. */
  readonly interface: string
  readonly 'default-route'?: readonly string[]
}

/** Kubernetes takes no more for a pod. */
const NAMESERVERS_MAX = 3

/**
 * The networks of a container cluster's pod, `net1` and on in their order. Of each family the first usable default route counts, as in a
 * machine: Multus then takes away that of the pod network, and refuses nothing where there would be two.
 */
export function podNetworks({
  workspace,
  spec,
  cluster,
  driver,
}: {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly cluster: WorkspaceContainerCluster
  readonly driver: NetworkDriver
}): PodNetwork[] {
  const networks = new Map((spec.networks ?? []).map((network) => [network.name, network]))
  const interfaces = withMacAddresses(workspace.uid, cluster.name, cluster.interfaces ?? [])
  const families = new Set<'IPv4' | 'IPv6'>()
  return interfaces.map(({ network, ipAddress, macAddress }, at) => {
    const settings = networks.get(network)
    const routes = settings === undefined ? [] : usableRoutes({ ipAddress, routes: routesOf(settings) })
    const gateways = routes.filter(isDefaultRoute).flatMap(({ via }) => {
      const family = via.includes(':') ? 'IPv6' : 'IPv4'
      if (families.has(family)) return []
      families.add(family)
      return [via]
    })
    return {
      name: podNetworkName(network, driver),
      namespace: workspace.name,
      ips: [ipAddress],
      mac: macAddress,
      interface: `net${at + 1}`,
      ...(gateways.length > 0 && { 'default-route': gateways }),
    }
  })
}

/** Name servers of the cluster's networks, the first ones of the first network first. Without any, those of Kubernetes count. */
export function podNameservers(
  { networks = [] }: WorkspaceSpec,
  { interfaces = [] }: WorkspaceContainerCluster,
): string[] {
  const addresses = interfaces.flatMap(
    ({ network }) => networks.find(({ name }) => name === network)?.nameservers?.addresses ?? [],
  )
  return [...new Set(addresses)].slice(0, NAMESERVERS_MAX)
}
