import type { NetworkDriver } from '../api/policy.ts'
import type { WorkspaceNetwork, WorkspaceSpec } from '../api/workspace.ts'
import { type StaticRoute, usableRoutes } from './cloud-init-network-data.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import { bridgeName, cniNetworkName, networkNames } from './workspace-names.ts'

export interface WorkspaceNetworkProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly network: WorkspaceNetwork
  readonly driver: NetworkDriver
}

export type NetworkAttachmentDefinitionObject = WorkspaceChild<
  'NetworkAttachmentDefinition',
  {
    /** JSON of a CNI plugin's configuration. */
    readonly config: string
  }
>

/** All versions of Multus, of the plugins and of OVN-Kubernetes support it. */
const CNI_VERSION = '0.3.1'

/**
 * Renders one network. A Linux bridge of the node needs two definitions: a machine gets its address in its guest, but a pod gets it from the plugin,
 * which fails without one. An overlay of OVN-Kubernetes serves both with one definition.
 */
export function renderWorkspaceNetwork(props: WorkspaceNetworkProps): NetworkAttachmentDefinitionObject[] {
  const { workspace, network, driver } = props
  const names = networkNames(network.name)
  const definition = (name: string, config: object): NetworkAttachmentDefinitionObject => ({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: workspaceChildMetadata({ workspace, name }),
    spec: { config: JSON.stringify(config) },
  })
  const common = { cniVersion: CNI_VERSION, name: cniNetworkName(workspace.name, network.name) }
  if (driver === 'ovn-layer2')
    return [
      definition(names.machines, {
        ...common,
        type: 'ovn-k8s-cni-overlay',
        topology: 'layer2',
        netAttachDefName: `${workspace.name}/${names.machines}`,
      }),
    ]
  const bridge = { ...common, type: 'bridge', bridge: bridgeName(workspace.name, network.name) }
  const routes = podRoutes(props).map(({ to, via }) => ({ dst: to, gw: via }))
  return [
    definition(names.machines, { ...bridge, capabilities: { mac: true }, ipam: {} }),
    definition(names.pods, {
      ...bridge,
      capabilities: { ips: true, mac: true },
      ipam: { type: 'static', ...(routes.length > 0 && { routes }) },
    }),
  ]
}

/** Returns the name of the NetworkAttachmentDefinition that pods are on. */
export function podNetworkName(network: string, driver: NetworkDriver): string {
  const names = networkNames(network)
  return driver === 'bridge' ? names.pods : names.machines
}

/** Returns the routes of a network in the form of a machine's routes. If none of them is a default route, the gateway becomes one. */
export function routesOf({ routes = [], rangeGateway }: WorkspaceNetwork): StaticRoute[] {
  const own = routes.map(({ destinationNetworkCidr: to, nextHopIpAddress: via }) => ({ to, via }))
  if (rangeGateway === undefined) return own
  const everywhere = rangeGateway.includes(':') ? '::/0' : '0.0.0.0/0'
  return own.some(({ to }) => to === everywhere) ? own : [...own, { to: everywhere, via: rangeGateway }]
}

export function isDefaultRoute({ to }: StaticRoute): boolean {
  return to.endsWith('/0')
}

/**
 * Returns the routes that every pod on a network can have: all pods get them from one configuration, and a route that a pod cannot have keeps it from
 * starting. Default routes are left out: a pod may have one from only one network, and its annotation says which.
 */
function podRoutes({ spec: { containerClusters = [] }, network }: WorkspaceNetworkProps): StaticRoute[] {
  const addresses = containerClusters
    .flatMap(({ interfaces = [] }) => interfaces)
    .filter((each) => each.network === network.name)
    .map(({ ipAddress }) => ipAddress)
  const [first] = addresses
  if (first === undefined) return []
  const isForAll = (route: StaticRoute) =>
    addresses.every((ipAddress) => usableRoutes({ ipAddress, routes: [route] }).length > 0)
  const routes = routesOf(network).filter((route) => !isDefaultRoute(route) && isForAll(route))
  return usableRoutes({ ipAddress: first, routes })
}
