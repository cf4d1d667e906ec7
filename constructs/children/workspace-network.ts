import { Construct } from 'constructs'
import { staticAddresses } from '../api/interface-words.ts'
import type { NetworkDriver } from '../api/policy.ts'
import type { WorkspaceNetwork, WorkspaceSpec } from '../api/workspace.ts'
import { type StaticRoute, usableRoutes } from './cloud-init-network-data.ts'
import { RenderedObject, renderChildren } from './rendered-object.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import { linkNames, linkNamesOfBefore, networkNames } from './workspace-names.ts'

export interface NetworkDefinitionsProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly network: WorkspaceNetwork
  readonly driver: NetworkDriver
  readonly networksOfBefore?: NetworksOfBefore | undefined
}

/** Networks of the workspace, by name, that exist with the names of earlier versions on nodes, and keep these. */
export type NetworksOfBefore = ReadonlySet<string>

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
 * One network. A Linux bridge of the node needs two definitions: a machine gets its address in its guest, but a pod gets it from the plugin,
 * which fails without one. An overlay of OVN-Kubernetes serves both with one definition. A network that exists already needs none.
 */
export class WorkspaceNetworkDefinitions extends Construct {
  constructor(scope: Construct, id: string, props: NetworkDefinitionsProps) {
    super(scope, id)
    for (const one of definitionsOf(props)) new NetworkDefinition(this, one.name, one)
  }
}

export function renderWorkspaceNetwork(props: NetworkDefinitionsProps): NetworkAttachmentDefinitionObject[] {
  return renderChildren((chart) => new WorkspaceNetworkDefinitions(chart, 'Network', props))
}

function definitionsOf(props: NetworkDefinitionsProps): NetworkDefinitionProps[] {
  const { workspace, network, driver, networksOfBefore } = props
  if (network.attach !== undefined) return []
  const names = networkNames(network.name)
  const definition = (name: string, config: object) => ({ workspace, name, config })
  const { cni: name, bridge } = linkNamesOf(workspace, network, networksOfBefore)
  const common = { cniVersion: CNI_VERSION, name }
  if (driver === 'ovn-layer2')
    return [
      definition(names.machines, {
        ...common,
        type: 'ovn-k8s-cni-overlay',
        topology: 'layer2',
        netAttachDefName: `${workspace.name}/${names.machines}`,
        ...mtuOf(network),
      }),
    ]
  return [
    definition(names.machines, {
      ...common,
      type: 'bridge',
      bridge,
      capabilities: { mac: true },
      ipam: {},
      ...mtuOf(network),
    }),
    definition(names.pods, podConfig({ workspace, network, networksOfBefore }, sharedRoutes(props))),
  ]
}

/** Returns a configuration of a Linux bridge that gives pods the addresses that they ask for, and these routes. */
export function podConfig(
  { workspace, network, networksOfBefore }: Pick<NetworkDefinitionsProps, 'workspace' | 'network' | 'networksOfBefore'>,
  routes: readonly StaticRoute[],
): object {
  const { cni: name, bridge } = linkNamesOf(workspace, network, networksOfBefore)
  const shown = routes.map(({ to, via }) => ({ dst: to, gw: via }))
  return {
    cniVersion: CNI_VERSION,
    name,
    type: 'bridge',
    bridge,
    capabilities: { ips: true, mac: true },
    ipam: { type: 'static', ...(shown.length > 0 && { routes: shown }) },
    ...mtuOf(network),
  }
}

/** Returns the MTU that is said of a network which is made for the workspace. */
export function mtuOf({ mtu, attach }: WorkspaceNetwork): { readonly mtu?: number } {
  return mtu === undefined || attach !== undefined ? {} : { mtu }
}

export interface NetworkDefinitionProps {
  readonly workspace: WorkspaceRef
  readonly name: string
  /** Configuration of a CNI plugin. */
  readonly config: object
}

/** One NetworkAttachmentDefinition of a workspace. */
export class NetworkDefinition extends RenderedObject<NetworkAttachmentDefinitionObject> {
  constructor(scope: Construct, id: string, { workspace, name, config }: NetworkDefinitionProps) {
    super(scope, id, {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: workspaceChildMetadata({ workspace, name }),
      spec: { config: JSON.stringify(config) },
    })
  }
}

function linkNamesOf(workspace: WorkspaceRef, { name }: WorkspaceNetwork, before: NetworksOfBefore = new Set()) {
  return before.has(name) ? linkNamesOfBefore(workspace, name) : linkNames(workspace, name)
}

/** Returns the name of the NetworkAttachmentDefinition that a pod is on. The one that gives pods their addresses fails for a pod without any. */
export function podNetworkName(network: string, driver: NetworkDriver, hasAddress: boolean): string {
  const names = networkNames(network)
  return driver === 'bridge' && hasAddress ? names.pods : names.machines
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

/** The last ones of each network, because every pod that is on it asks for them. */
const lastShared = new WeakMap<
  WorkspaceNetwork,
  { readonly of: WorkspaceSpec['containerClusters']; readonly routes: readonly StaticRoute[] }
>()

/**
 * Returns the routes that every pod on a network can have: the pods without a NetworkAttachmentDefinition of their own get them from one configuration,
 * and a route that a pod cannot have keeps it from starting. Default routes are left out: a pod may have one from only one network.
 */
export function sharedRoutes({
  spec: { containerClusters },
  network,
}: Pick<NetworkDefinitionsProps, 'spec' | 'network'>): readonly StaticRoute[] {
  const last = lastShared.get(network)
  if (last !== undefined && last.of === containerClusters) return last.routes
  const routes = routesForAll(containerClusters, network)
  lastShared.set(network, { of: containerClusters, routes })
  return routes
}

function routesForAll(containerClusters: WorkspaceSpec['containerClusters'] = [], network: WorkspaceNetwork) {
  const addresses = containerClusters
    .flatMap(({ interfaces = [] }) => interfaces)
    .filter((each) => each.network === network.name && staticAddresses(each).length > 0)
    .map(staticAddresses)
  const [first] = addresses
  if (first === undefined) return []
  const isForAll = (route: StaticRoute) =>
    addresses.every((ipAddresses) => usableRoutes({ ipAddresses, routes: [route] }).length > 0)
  const routes = routesOf(network).filter((route) => !isDefaultRoute(route) && isForAll(route))
  return usableRoutes({ ipAddresses: first, routes })
}
