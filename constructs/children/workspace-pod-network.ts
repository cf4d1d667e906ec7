import type { NetworkDriver } from '../api/policy.ts'
import type { WorkspaceContainerCluster, WorkspaceSpec } from '../api/workspace.ts'
import { usableRoutes } from './cloud-init-network-data.ts'
import { withMacAddresses } from './mac-address.ts'
import type { WorkspaceRef } from './workspace-child.ts'
import { isDefaultRoute, podNetworkName, routesOf } from './workspace-network.ts'

/** One network of a pod, as Multus reads it. */
export interface PodNetwork {
  /** Name of the NetworkAttachmentDefinition. */
  readonly name: string
  readonly namespace: string
  readonly ips: readonly [string]
  readonly mac: string
  /** Name of the interface in the pod, at most 15 characters. */
  readonly interface: string
  readonly 'default-route'?: readonly string[]
}

/** Kubernetes accepts no more for a pod. */
const NAMESERVERS_MAX = 3

/**
 * Returns the networks of a container cluster's pod, named `net1`, `net2` and so on. As in a machine, the first usable default route of each family
 * is used. Multus then removes that of the pod network, and does not fail because there are two.
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

/** Returns the name servers of the cluster's networks, those of the first network first. If there are none, those of Kubernetes are used. */
export function podNameservers(
  { networks = [] }: WorkspaceSpec,
  { interfaces = [] }: WorkspaceContainerCluster,
): string[] {
  const addresses = interfaces.flatMap(
    ({ network }) => networks.find(({ name }) => name === network)?.nameservers?.addresses ?? [],
  )
  return [...new Set(addresses)].slice(0, NAMESERVERS_MAX)
}
