import { type Addressing, addressingOf, staticAddresses } from '../api/interface-words.ts'
import {
  type IpAddress,
  type IpPrefix,
  isInNetwork,
  networkOf,
  parseCidr,
  parseIp,
  prefixText,
} from '../api/ip-address.ts'
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
  readonly ipAddress?: string | undefined
  readonly ipAddresses?: readonly string[] | undefined
  /** Default: static with an address, dhcp without. */
  readonly addressing?: Addressing | undefined
  /** Bytes. Default: that of the link. */
  readonly mtu?: number | undefined
  readonly routes?: readonly StaticRoute[]
  /** Addresses of name servers. */
  readonly nameservers?: readonly string[]
}

/** fe80::/10: next hops of IPv6 routers. They are on every link, even if the interface has no address in that network. */
export const LINK_LOCAL = { family: 6, value: 0xfe80n << 112n, length: 10 } as const
/** Metric of the routes of the first interface. If two interfaces have a default route, the first one wins. */
const FIRST_METRIC = 100

/**
 * Returns a cloud-init network configuration, version 2, as one line of JSON. Interfaces are matched by MAC address and named `net0`, `net1`, ... in
 * their order. Routes that cannot work are left out, see `usableRoutes`.
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
export function usableRoutes({
  routes = [],
  ...own
}: Pick<GuestInterface, 'ipAddress' | 'ipAddresses' | 'routes'>): StaticRoute[] {
  const addresses = staticAddresses(own).flatMap((text) => parseCidr(text) ?? [])
  const usable = new Map<string, StaticRoute>()
  for (const { to, via } of routes) {
    const [destination, hop] = [parseCidr(to), parseIp(via)]
    if (destination === undefined || hop === undefined || destination.family !== hop.family) continue
    const network = prefixText(networkOf(destination))
    if (!usable.has(network) && isNeighbour(hop, addresses)) usable.set(network, { to: network, via })
  }
  return [...usable.values()]
}

/** Reports whether a next hop can be reached over the interface with these addresses, and is not the interface itself. */
function isNeighbour(hop: IpAddress, addresses: readonly IpPrefix[]): boolean {
  if (addresses.length === 0) return false
  const isItself = addresses.some(({ family, value }) => family === hop.family && value === hop.value)
  return !isItself && [...addresses, LINK_LOCAL].some((network) => isInNetwork(hop, network))
}

function ethernet(each: GuestInterface, at: number): object {
  const { macAddress, mtu } = each
  return { match: { macaddress: macAddress }, 'set-name': `net${at}`, ...addressesFor(each, at), mtu }
}

function addressesFor(each: GuestInterface, at: number): object {
  const metric = FIRST_METRIC + at
  if (addressingOf(each) !== 'static') {
    const isAsked = addressingOf(each) === 'dhcp'
    return {
      dhcp4: isAsked,
      dhcp6: false,
      // Its server may be a member of the lab that starts later. The guest does not wait for it.
      optional: true,
      // As with the routes of the spec, the first interface wins.
      'dhcp4-overrides': isAsked ? { 'route-metric': metric } : undefined,
    }
  }
  const routes = usableRoutes(each)
  const { nameservers = [] } = each
  return {
    dhcp4: false,
    dhcp6: false,
    addresses: staticAddresses(each),
    routes: routes.length === 0 ? undefined : routes.map(({ to, via }) => ({ to, via, metric })),
    nameservers: nameservers.length === 0 ? undefined : { addresses: nameservers },
  }
}
