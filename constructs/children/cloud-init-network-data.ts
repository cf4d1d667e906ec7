import { type IpAddress, isInNetwork, networkOf, parseCidr, parseIp, prefixText } from '../api/ip-address.ts'
import { cloudInitJson } from './cloud-init-json.ts'

export interface StaticRoute {
  /** Destination in CIDR form, such as `0.0.0.0/0`. */
  readonly to: string
  /** Address of the next hop. */
  readonly via: string
}

/** An interface of the machine, with the settings of its network for the guest. */
export interface GuestInterface {
  /** Network of the workspace, by name. */
  readonly network: string
  /** As `withMacAddresses` returns it. */
  readonly macAddress: string
  /** In CIDR form. */
  readonly ipAddress: string
  readonly routes?: readonly StaticRoute[]
  /** Addresses of name servers. */
  readonly nameservers?: readonly string[]
}

/** fe80::/10: next hops of IPv6 routers. They are on every link, even if the interface has no address in that network. */
const LINK_LOCAL = { family: 6, value: 0xfe80n << 112n, length: 10 } as const
/** Metric of the routes of the first interface. If two interfaces have a default route, the first one wins. */
const FIRST_METRIC = 100

/**
 * Returns a cloud-init network configuration, version 2, as one line of JSON. Interfaces are matched by MAC address and named `net0`, `net1`, ... in
 * their order, with static addresses. Routes that cannot work are left out, see `usableRoutes`.
 */
export function renderNetworkData(interfaces: readonly GuestInterface[]): string {
  const ethernets = Object.fromEntries(interfaces.map((each, at) => [each.network, ethernet(each, at)]))
  return `${cloudInitJson({ version: 2, ethernets })}\n`
}

/**
 * Returns the routes that this guest can use, only the first one to each network. A workspace defines routes per network, so the next hop of one may
 * be the machine itself. Such a route would keep the network of the guest from coming up. So would a route whose next hop is not on the network of
 * the interface, and a destination that is not the first address of its network.
 */
export function usableRoutes({ ipAddress, routes = [] }: Pick<GuestInterface, 'ipAddress' | 'routes'>): StaticRoute[] {
  const usable = new Map<string, StaticRoute>()
  for (const { to, via } of routes) {
    const [destination, hop] = [parseCidr(to), parseIp(via)]
    if (destination === undefined || hop === undefined || destination.family !== hop.family) continue
    const network = prefixText(networkOf(destination))
    if (!usable.has(network) && isNeighbour(hop, ipAddress)) usable.set(network, { to: network, via })
  }
  return [...usable.values()]
}

/** Reports whether a next hop can be reached over the interface with this address in CIDR form, and is not the interface itself. */
function isNeighbour(hop: IpAddress, ipAddress: string): boolean {
  const own = parseCidr(ipAddress)
  const isItself = own?.family === hop.family && own.value === hop.value
  return !isItself && [own, LINK_LOCAL].some((network) => network !== undefined && isInNetwork(hop, network))
}

function ethernet(each: GuestInterface, at: number): object {
  const routes = usableRoutes(each)
  const { macAddress, ipAddress, nameservers = [] } = each
  return {
    match: { macaddress: macAddress },
    'set-name': `net${at}`,
    dhcp4: false,
    dhcp6: false,
    addresses: [ipAddress],
    routes: routes.length === 0 ? undefined : routes.map(({ to, via }) => ({ to, via, metric: FIRST_METRIC + at })),
    nameservers: nameservers.length === 0 ? undefined : { addresses: nameservers },
  }
}
