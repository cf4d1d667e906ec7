import { Construct, type IConstruct } from 'constructs'
import { type IpPrefix, ipText, parseIp } from '../api/ip-address.ts'
import { withValue } from '../api/message-value.ts'
import { hasFields, itemsOf, requireProps } from './given-values.ts'
import { insideOf, keepInside, type NetworkInside } from './inside.ts'
import { idOfPart, joinLab, requireOwn } from './lab-part.ts'
import { NetworkAddresses } from './network-addresses.ts'
import type { WorkspaceNetworkProps } from './spec-props.ts'

/** A network of a lab, of this copy of the package or of another one that a dependency brings. */
export type AnyLabNetwork = Pick<LabNetwork, keyof LabNetwork>

/** Something with an address on networks of its lab: a machine, or a pod of containers. */
export interface LabHost {
  /** Name of the member in the lab. */
  readonly memberName: string
  /**
   * Returns its static addresses, without the length, in the order in which they were given.
   * @param network where. Default: on all networks
   */
  addressesOn(network?: AnyLabNetwork): readonly string[]
}

/** An address that no member of the lab has, and that is meant so. */
export interface OutsideAddress {
  /** Host number, such as 14 for 4.29.163.14 in 4.29.163.0/28, or an address. */
  readonly outside: number | string
}

/**
 * Says that an address is outside of the lab, where a member is expected otherwise: the operator makes nobody who has it.
 * @param host a host number of the network, such as 14 for 4.29.163.14 in 4.29.163.0/28, or an address
 */
export function outside(host: number | string): OutsideAddress {
  return { outside: host }
}

/**
 * Where packets or questions are sent. A member: its address. A number: the host number of a member, such as 7 for 10.10.0.7 in 10.10.0.0/24; synth fails if
 * no member has it. An address as a text: a member, or somebody who is not in the lab, unless it is in a network of the lab and no member has it.
 * `outside(14)`: somebody who is not in the lab. On dual stack, members and numbers stand for an address of each kind, IPv4 and IPv6; a text for itself alone.
 */
export type Hop = LabHost | number | string | OutsideAddress

/** A route of every member of a network. */
export interface LabRoute {
  /** Network that the route leads to, in CIDR form, such as 172.26.0.0/15, or another network of the lab. */
  readonly to: string | AnyLabNetwork
  /** Who packets are sent to, with an address on this network: a member, or a number such as 1 or outside(14). */
  readonly via: Hop
}

/** What a network of a lab is, and whom its members send to. */
export interface LabNetworkProps {
  /** Addresses of the network in CIDR form, such as 10.10.0.0/24, IPv4 or IPv6. Default: none, a network of layer 2 alone. */
  readonly cidr?: string
  /** In place of cidr for dual stack: one of IPv4 and one of IPv6, such as ['10.10.0.0/24', 'fd00:10::/64']. Default: none. */
  readonly cidrs?: readonly string[]
  /** An existing NetworkAttachmentDefinition that is this network, such as vlans/vlan-100. The policy key attachableNetworks must list it. Default: none. */
  readonly attach?: string
  /** The default route of every member, where no route is one: a member, or a number such as 1 or outside(14). With cidrs, one of each kind. Default: none. */
  readonly gateway?: Hop
  /** Routes of every member. Default: none. */
  readonly routes?: readonly LabRoute[]
  /** Name servers of every member, the first one asked first. They may be on other networks. Default: not set. */
  readonly nameservers?: readonly Hop[]
  /** Largest packet in bytes, such as 1400, from 576 to 9216. Default: that of the nodes. */
  readonly mtu?: number
}

const NAMESERVER = 'name server'

interface Resolver {
  /** The networks of the lab. */
  readonly all: readonly AnyLabNetwork[]
  readonly wrong: (problem: string) => void
}

/**
 * A network of a lab. Made by `Workspace.addNetwork`, or in a construct below the lab.
 * @example
 * ```ts
 * import { outside, Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const inet = lab.addNetwork('inet', { cidr: '4.29.163.0/28', gateway: outside(14) })
 * const lan = lab.addNetwork('lan', { cidr: '10.10.0.0/24' })
 * const router = lab.addVm('router', { image: 'router', cpu: 1, memory: '512Mi' }).connect(inet, 2).connect(lan, 1)
 * lan.setGateway(router)
 * inet.addRoute(lan, router)
 * ```
 */
export class LabNetwork extends Construct {
  /** Name of the network in the lab. */
  readonly networkName: string
  readonly #props: LabNetworkProps
  readonly #addresses: NetworkAddresses
  readonly #routes: LabRoute[]
  readonly #nameservers: Hop[]
  #gateway: Hop | undefined

  constructor(scope: Construct, networkName: string, props: LabNetworkProps) {
    super(scope, idOfPart(scope, 'networks', networkName, new.target))
    this.networkName = networkName
    requireProps(this, props, "{ cidr: '10.10.0.0/24' }")
    this.#props = props
    this.#addresses = new NetworkAddresses(this, props.cidrs === undefined ? [props.cidr] : itemsOf(props.cidrs))
    this.#gateway = props.gateway
    this.#routes = [...listOf(this, 'routes', props.routes)]
    this.#nameservers = [...listOf(this, 'nameservers', props.nameservers)]
    for (const route of this.#routes) requireDestination(this, route)
    requireOwn(this, 'network', ...this.#routes.map(({ to }) => to))
    this.#requireHosts(
      ...(props.gateway === undefined ? [] : [props.gateway]),
      ...this.#routes.map(({ via }) => via),
      ...this.#nameservers,
    )
    const inside: NetworkInside = {
      addresses: this.#addresses,
      isAttached: props.attach !== undefined,
      toSpec: (all, wrong) => this.#toSpec(all as readonly LabNetwork[], wrong),
    }
    keepInside(this, inside)
    joinLab(this, 'networks', new.target)
  }

  /**
   * Sets the default route of every member: on dual stack that of IPv4 and that of IPv6. A second one replaces the first.
   * @throws Error if it is a number, and the network has no host of that number
   */
  setGateway(gateway: Hop): void {
    this.#requireHosts(gateway)
    this.#gateway = gateway
  }

  /**
   * Adds a route of every member. Each cidr that it leads to gets the address of via of its own kind, IPv4 or IPv6.
   * @throws Error if via is a number, and the network has no host of that number
   */
  addRoute(to: string | AnyLabNetwork, via: Hop): void {
    requireDestination(this, { to, via })
    requireOwn(this, 'network', to)
    this.#requireHosts(via)
    this.#routes.push({ to, via })
  }

  /**
   * Adds a name server of every member, after those that are there.
   * @throws Error if it is a number, and the network has no host of that number
   */
  addNameserver(nameserver: Hop): void {
    this.#requireHosts(nameserver)
    this.#nameservers.push(nameserver)
  }

  /**
   * Returns the address with a host number, without a length, such as 10.10.0.11 for 11 in 10.10.0.0/24. Of two networks (dual stack) the first one counts.
   * @throws Error if the network has no cidr, or no host of that number
   */
  address(host: number): string {
    return ipText(this.#addresses.prefixesOf(host)[0] as IpPrefix)
  }

  /** Returns its cidrs, as they were written, such as ['10.10.0.0/24']. Those that are none are left out. */
  cidrs(): readonly string[] {
    return this.#addresses.cidrs()
  }

  #toSpec(all: readonly AnyLabNetwork[], wrong: (problem: string) => void): WorkspaceNetworkProps {
    const { cidr, cidrs, attach, mtu } = this.#props
    const resolver = { all, wrong }
    const gateways = this.#gateway === undefined ? [] : this.#resolve('gateway', this.#gateway, resolver)
    const [gateway] = gateways
    const given = this.#routes.flatMap((route) => this.#route(route, resolver))
    const routes = [...given, ...defaultRoutes(gateways.slice(1), given)]
    const addresses = this.#nameservers.flatMap((one) => this.#resolve(NAMESERVER, one, resolver))
    return {
      name: this.networkName,
      ...(attach !== undefined && { attach }),
      ...(cidr !== undefined && { cidr }),
      ...(cidrs !== undefined && { cidrs }),
      ...(gateway !== undefined && { rangeGateway: gateway }),
      ...(routes.length > 0 && { routes }),
      ...(mtu !== undefined && { mtu }),
      ...(addresses.length > 0 && { nameservers: { addresses } }),
    }
  }

  /** A host number can be checked here. A member may be connected later, so that it is checked with everything else, when the app is rendered. */
  #requireHosts(...hops: readonly Hop[]): void {
    for (const hop of hops) {
      if (!isHop(hop))
        throw new Error(
          withValue(
            `${this.node.path}: a gateway, next hop or name server must be a member, a number, an address or outside(...)`,
            hop,
          ),
        )
      requireOwn(this, 'member', hop)
      const host = typeof hop === 'object' && 'outside' in hop ? hop.outside : hop
      if (typeof host === 'number') this.#addresses.prefixesOf(host)
    }
  }

  /** Each destination gets a next hop of its own kind, IPv4 or IPv6. */
  #route({ to, via }: LabRoute, resolver: Resolver): NonNullable<WorkspaceNetworkProps['routes']> {
    const hops = this.#resolve('next hop', via, resolver)
    const [first] = hops
    const networks = typeof to === 'string' ? [to] : to.cidrs()
    if (typeof to !== 'string' && networks.length === 0)
      resolver.wrong(`a route to network ${to.networkName}, which has no cidr: name the addresses that it leads to`)
    if (first === undefined) return []
    return networks.map((destinationNetworkCidr) => {
      // Where none is of its kind, the rule of the schema says so.
      const nextHopIpAddress = hops.find((hop) => isOfOneKind(hop, destinationNetworkCidr)) ?? first
      return { destinationNetworkCidr, nextHopIpAddress }
    })
  }

  /** Returns the addresses of a hop: at most one of each kind, IPv4 and IPv6, and none after telling what is wrong. */
  #resolve(what: string, hop: Hop, resolver: Resolver): readonly string[] {
    if (typeof hop === 'string') return [this.#literal(what, hop, resolver)]
    if (typeof hop === 'number') return this.#ofMember(what, hop, resolver.wrong)
    if ('outside' in hop) return this.#ofOutside(what, hop.outside, resolver)
    const here = firstOfEachKind(hop.addressesOn(this))
    // A name server may be on another network, as long as there is no choice.
    const all = what === NAMESERVER ? hop.addressesOn() : []
    const elsewhere = firstOfEachKind(all)
    const addresses = here.length === 0 && elsewhere.length === all.length ? elsewhere : here
    if (addresses.length === 0)
      resolver.wrong(
        `${what} ${hop.memberName} has no static address on network ${this.networkName}: connect it with one`,
      )
    return addresses
  }

  /** What is no address is a problem of the whole Workspace, found with all others. */
  #literal(what: string, text: string, { all, wrong }: Resolver): string {
    const address = parseIp(text)
    const isHome = ({ isAttached, addresses }: NetworkInside) => !isAttached && address && addresses.has(address)
    const home = all.find((one) => isHome(insideOf(one)))
    if (home !== undefined && !isTakenIn(all, text))
      wrong(
        `${what} ${text} is in network ${home.networkName} and the address of no member there: connect one with it, or write outside('${text}') if it is not in the lab`,
      )
    return text
  }

  #ofOutside(what: string, host: number | string, { all, wrong }: Resolver): readonly string[] {
    const addresses = typeof host === 'string' ? [host] : this.#textsOf(host)
    for (const address of addresses) {
      if (isTakenIn(all, address))
        wrong(`${what} ${address} is the address of a member, and not outside: name the member`)
      this.#addresses.noteOutside(address)
    }
    return addresses
  }

  /** A member may have the address of one kind alone. */
  #ofMember(what: string, host: number, wrong: (problem: string) => void): readonly string[] {
    const addresses = this.#textsOf(host)
    const taken = addresses.filter((address) => this.#addresses.isTaken(address))
    if (taken.length === 0)
      wrong(
        `${what} ${addresses.join(' or ')} (host ${host}) is the address of no member on network ${this.networkName}: connect one with it, or write outside(${host}) if it is not in the lab`,
      )
    return taken
  }

  #textsOf(host: number): readonly string[] {
    return this.#addresses.prefixesOf(host).map((prefix) => ipText(prefix))
  }
}

function isHop(hop: unknown): boolean {
  const named = hasFields(hop) && 'outside' in hop ? hop.outside : hop
  return ['string', 'number'].includes(typeof named) || (hasFields(hop) && 'addressesOn' in hop)
}

/** @throws Error if a route leads nowhere */
function requireDestination({ node }: IConstruct, route: LabRoute): void {
  const to: unknown = hasFields(route) ? route.to : undefined
  if (typeof to !== 'string' && !(hasFields(to) && 'networkName' in to && 'cidrs' in to))
    throw new Error(`${node.path}: a route must have to, a network or a text such as 172.26.0.0/15, and via`)
}

/** @throws Error if it is no list */
function listOf<Item>({ node }: IConstruct, field: string, given: readonly Item[] | undefined): readonly Item[] {
  if (given !== undefined && !Array.isArray(given)) throw new Error(`${node.path}: ${field} must be a list`)
  return itemsOf(given)
}

function isTakenIn(all: readonly AnyLabNetwork[], address: string): boolean {
  return all.some((one) => insideOf<NetworkInside>(one).addresses.isTaken(address))
}

/** The field of a network for its gateway has one address. A default route of the other kind (dual stack) is a route, unless there is one already. */
function defaultRoutes(gateways: readonly string[], routes: NonNullable<WorkspaceNetworkProps['routes']>) {
  return gateways
    .map((nextHopIpAddress) => {
      const destinationNetworkCidr = nextHopIpAddress.includes(':') ? '::/0' : '0.0.0.0/0'
      return { destinationNetworkCidr, nextHopIpAddress }
    })
    .filter((one) => routes.every((route) => route.destinationNetworkCidr !== one.destinationNetworkCidr))
}

function firstOfEachKind(addresses: readonly string[]): readonly string[] {
  return addresses.filter((one, at) => addresses.findIndex((other) => isOfOneKind(one, other)) === at)
}

/** Reports whether both are IPv4, or both IPv6. */
function isOfOneKind(one: string, other: string): boolean {
  return one.includes(':') === other.includes(':')
}
