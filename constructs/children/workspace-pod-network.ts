import { staticAddresses } from '../api/interface-words.ts'
import { isInNetwork, networkOf, parseCidr, parseIp, prefixText } from '../api/ip-address.ts'
import type { NetworkDriver } from '../api/policy.ts'
import type { WorkspaceContainerCluster, WorkspaceNetwork, WorkspaceSpec } from '../api/workspace.ts'
import { cidrsOf } from '../api/workspace-cidrs.ts'
import { memoized } from '../schema/memoized.ts'
import { type StaticRoute, usableRoutes } from './cloud-init-network-data.ts'
import { withMacAddresses } from './mac-address.ts'
import { renderOne } from './rendered-object.ts'
import type { WorkspaceRef } from './workspace-child.ts'
import { clusterNetworkName } from './workspace-names.ts'
import {
  isDefaultRoute,
  type NetworkAttachmentDefinitionObject,
  NetworkDefinition,
  type NetworkDefinitionProps,
  type NetworksOfBefore,
  podConfig,
  podNetworkName,
  routesOf,
  sharedRoutes,
} from './workspace-network.ts'

/** One network of a pod, as Multus reads it. */
export interface PodNetwork {
  /** Name of the NetworkAttachmentDefinition. */
  readonly name: string
  readonly namespace: string
  /** Default: the pod has none there, or gives itself one. */
  readonly ips?: readonly string[]
  readonly mac: string
  /** Name of the interface in the pod, at most 15 characters. */
  readonly interface: string
  readonly 'default-route'?: readonly string[]
}

/** Read by Multus. */
export const NETWORKS_ANNOTATION = 'k8s.v1.cni.cncf.io/networks'

/** Returns the networks that a pod template which the operator has rendered asks for. What somebody else has written there counts for nothing. */
export function podNetworksIn(annotations: Readonly<Record<string, string>> = {}): readonly PodNetwork[] {
  try {
    const asked: unknown = JSON.parse(annotations[NETWORKS_ANNOTATION] ?? '[]')
    return Array.isArray(asked) ? asked.filter(isPodNetwork) : []
  } catch {
    return []
  }
}

function isPodNetwork(value: unknown): value is PodNetwork {
  const { name, namespace, ips, mac, interface: device } = (value ?? {}) as Readonly<Record<string, unknown>>
  const areTexts = [name, namespace, mac, device].every((one) => typeof one === 'string')
  return areTexts && (ips === undefined || (Array.isArray(ips) && ips.every((one) => typeof one === 'string')))
}

export interface PodNetworkProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly cluster: WorkspaceContainerCluster
  readonly driver: NetworkDriver
  /** See `ContainerClusterProps`. */
  readonly defaultRoute?: DefaultRoute
  /** See `ContainerClusterProps`. */
  readonly ownRoutes?: OwnRoutes
  readonly networksOfBefore?: NetworksOfBefore | undefined
}

/**
 * How a pod on a Linux bridge gets the default route of a network. `requested` of Multus by an annotation: versions 4.2.2 and newer ignore that, in
 * silence. `configured`: the network has two routes, one to each half of the address space, which win over every default route.
 */
export type DefaultRoute = 'configured' | 'requested'

/**
 * When a pod on a Linux bridge has a NetworkAttachmentDefinition of its own for a network without its default route. `needed`: where the routes that all
 * pods on it share are not those that it can use, such as where one of them is a next hop. `always`: where it can use any, so that a pod which needed its
 * own keeps it when the others change. `never`: it has what all share.
 */
export type OwnRoutes = 'needed' | 'always' | 'never'

/** Kubernetes accepts no more for a pod. */
export const NAMESERVERS_MAX = 3
const HALVES = { IPv4: ['0.0.0.0/1', '128.0.0.0/1'], IPv6: ['::/1', '8000::/1'] } as const

type Family = keyof typeof HALVES

/** An interface of a pod, and the network that it is on. */
interface Attachment {
  readonly network: string
  /** Static, in CIDR form. */
  readonly addresses: readonly string[]
  readonly macAddress: string
  readonly settings: WorkspaceNetwork | undefined
  /** Next hops of its default routes, at most one of each family. */
  readonly gateways: readonly string[]
}

/**
 * Returns the networks of a container cluster's pod, named `net1`, `net2` and so on. As in a machine, the first usable default route of each family
 * is used.
 */
export function podNetworks(props: PodNetworkProps): PodNetwork[] {
  const { workspace, driver } = props
  return networksOfPod(props).map(({ network, addresses, macAddress, settings, gateways, own }, at) => {
    const [namespace = workspace.name, name] = settings?.attach?.split('/') ?? []
    return {
      name: name ?? own?.name ?? podNetworkName(network, driver, addresses.length > 0),
      namespace,
      ...(addresses.length > 0 && { ips: addresses }),
      mac: macAddress,
      interface: `net${at + 1}`,
      ...(gateways.length > 0 && !isConfigured(props) && { 'default-route': gateways }),
    }
  })
}

/** Returns the networks that are for this container cluster alone: those that give its pod a default route, or routes that not all pods can have. */
export function renderClusterNetworks(props: PodNetworkProps): NetworkAttachmentDefinitionObject[] {
  const { workspace } = props
  const definitions = networksOfPod(props).flatMap(({ own }) => own ?? [])
  return definitions.map(({ name, config }) =>
    renderOne((chart) => new NetworkDefinition(chart, name, { workspace, name, config })),
  )
}

/**
 * Reports whether a port of the node is mapped to a container. Its clients are outside of the workspace, and they get a reply only where it leaves by
 * the pod network.
 */
export function hasHostPort({ containers }: WorkspaceContainerCluster): boolean {
  return containers.some(({ portMappings = [] }) => portMappings.some(({ hostPort }) => hostPort !== undefined))
}

/** Reports whether the pod has no default route of its networks, although one has it, because a port of the node is mapped to a container. */
export function isDefaultRouteLeftOut(props: PodNetworkProps): boolean {
  return isConfigured(props) && hasHostPort(props.cluster) && attachmentsOf(props).some(hasGateway)
}

/** Returns the interfaces of a pod, with the default routes that it uses of their networks. What renders the cluster and what warns of it ask for them. */
export const attachmentsOf = memoized(({ workspace, spec, cluster }: PodNetworkProps): readonly Attachment[] => {
  const networks = new Map((spec.networks ?? []).map((network) => [network.name, network]))
  const interfaces = withMacAddresses(workspace.uid, cluster.name, cluster.interfaces ?? [])
  const families = new Set<Family>()
  return interfaces.map((each) => {
    const settings = networks.get(each.network)
    // The definition of a network that exists already says what routes its pods get.
    const isOurs = settings !== undefined && settings.attach === undefined
    const routes = isOurs ? usableRoutes({ ...each, routes: routesOf(settings) }) : []
    const gateways = routes.filter(isDefaultRoute).flatMap(({ via }) => {
      const family = familyOf(via)
      if (families.has(family)) return []
      families.add(family)
      return [via]
    })
    return { network: each.network, macAddress: each.macAddress, addresses: staticAddresses(each), settings, gateways }
  })
})

/** The definitions are rendered, and their names are in the pod. */
const networksOfPod = memoized((props: PodNetworkProps) =>
  attachmentsOf(props).map((attachment) => ({ ...attachment, own: ownDefinition(props, attachment) })),
)

/** Returns what the NetworkAttachmentDefinition is made of that a pod has for itself. */
function ownDefinition(
  props: PodNetworkProps,
  attachment: Attachment,
): Pick<NetworkDefinitionProps, 'name' | 'config'> | undefined {
  const { workspace, cluster, networksOfBefore } = props
  const { settings } = attachment
  if (!isConfigured(props) || settings === undefined) return undefined
  if (!hasGateway(attachment) && !hasOwnRoutes(props, settings, attachment)) return undefined
  const routes = allRoutes(props, settings, attachment)
  const config = podConfig({ workspace, network: settings, networksOfBefore }, routes)
  return { name: clusterNetworkName(settings.name, cluster.name, config), config }
}

function hasOwnRoutes(
  { spec, ownRoutes = 'needed' }: PodNetworkProps,
  network: WorkspaceNetwork,
  attachment: Pick<Attachment, 'addresses'>,
): boolean {
  const own = network.attach === undefined && ownRoutes !== 'never' ? staticRoutes(network, attachment) : []
  if (own.length === 0) return false
  return ownRoutes === 'always' || JSON.stringify(own) !== JSON.stringify(sharedRoutes({ spec, network }))
}

/** Routes of a network that a pod can use, but does not get from the NetworkAttachmentDefinition that all pods share. */
export interface RoutesNotShared {
  readonly network: string
  readonly routes: readonly StaticRoute[]
}

/** Returns what a pod on a Linux bridge would lack if it had no NetworkAttachmentDefinition of its own for its static routes. */
export function routesNotShared(props: PodNetworkProps): RoutesNotShared[] {
  const { spec } = props
  return attachmentsOf(props).flatMap((attachment) => {
    const { network, settings } = attachment
    const isAlone = settings === undefined || !isConfigured(props) || hasGateway(attachment)
    if (isAlone || !hasOwnRoutes({ ...props, ownRoutes: 'needed' }, settings, attachment)) return []
    const shared = new Set(sharedRoutes({ spec, network: settings }).map((route) => JSON.stringify(route)))
    const routes = staticRoutes(settings, attachment).filter((route) => !shared.has(JSON.stringify(route)))
    return [{ network, routes }]
  })
}

/** Returns the routes of a network that a pod can use, except for default routes. */
function staticRoutes(settings: WorkspaceNetwork, { addresses }: Pick<Attachment, 'addresses'>): StaticRoute[] {
  const routes = routesOf(settings).filter((route) => !isDefaultRoute(route))
  return usableRoutes({ ipAddresses: addresses, routes })
}

/** Returns all routes of a pod on a network, with those that stand for its default route. */
function allRoutes(
  { spec: { networks = [] }, cluster }: PodNetworkProps,
  settings: WorkspaceNetwork,
  { addresses, gateways }: Attachment,
): StaticRoute[] {
  const declared = routesOf(settings).filter((route) => !isDefaultRoute(route))
  const wide = gateways.flatMap((via) =>
    (hasHostPort(cluster) ? elsewhere(networks, cluster, via) : HALVES[familyOf(via)]).map((to) => ({ to, via })),
  )
  return usableRoutes({ ipAddresses: addresses, routes: [...declared, ...wide] })
}

/**
 * Returns the other networks of the workspace that a default route leads to. A pod whose node maps a port to it has only these: everybody else gets
 * replies by the pod network.
 */
function elsewhere(
  networks: readonly WorkspaceNetwork[],
  { interfaces = [] }: WorkspaceContainerCluster,
  via: string,
): string[] {
  const own = interfaces.flatMap(staticAddresses).flatMap((one) => parseCidr(one) ?? [])
  return networks.flatMap(cidrsOf).flatMap((cidr) => {
    const range = parseCidr(cidr)
    if (range === undefined || range.family !== parseIp(via)?.family) return []
    const isOnLink = own.some((one) => one.length <= range.length && isInNetwork(range, one))
    return isOnLink ? [] : [prefixText(networkOf(range))]
  })
}

function isConfigured({ driver, defaultRoute = 'configured' }: PodNetworkProps): boolean {
  return driver === 'bridge' && defaultRoute === 'configured'
}

export function hasGateway({ gateways }: Pick<Attachment, 'gateways'>): boolean {
  return gateways.length > 0
}

function familyOf(address: string): Family {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/** Returns the name servers of the cluster's networks, those of the first network first. If there are none, those of Kubernetes are used. */
export function podNameservers(spec: WorkspaceSpec, cluster: WorkspaceContainerCluster): string[] {
  return allNameservers(spec, cluster).slice(0, NAMESERVERS_MAX)
}

/** Returns them with those that a pod cannot have. */
export function allNameservers(
  { networks = [] }: WorkspaceSpec,
  { interfaces = [] }: WorkspaceContainerCluster,
): string[] {
  const addresses = interfaces.flatMap(
    ({ network }) => networks.find(({ name }) => name === network)?.nameservers?.addresses ?? [],
  )
  return [...new Set(addresses)]
}
