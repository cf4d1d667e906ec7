import type { CelRule } from '../schema/cel.ts'
import { celText, type Search, searchRule } from '../schema/cel-search.ts'
import { celIsHostAddress } from './address-fields.ts'
import { POD_NETWORK_NAME } from './interface-words.ts'
import { isHostAddress, isInNetwork, parseCidr, parseIp } from './ip-address.ts'
import { repeatedIn } from './repeated-texts.ts'

/** Rules on one network of a workspace, or on one list of interfaces. */

export interface RouteFields {
  readonly destinationNetworkCidr: string
  readonly nextHopIpAddress: string
}

interface NetworkFields {
  readonly name: string
  readonly cidr?: string | undefined
  readonly cidrs?: readonly string[] | undefined
  readonly rangeGateway?: string | undefined
  readonly routes?: readonly RouteFields[] | undefined
}

const gatewayInside: CelRule<NetworkFields> = {
  rule: '!has(self.rangeGateway) || !isIP(self.rangeGateway) || !has(self.cidr) || !isCIDR(self.cidr) || cidr(self.cidr).containsIP(self.rangeGateway)',
  message: 'rangeGateway must be an address of its network',
  field: 'rangeGateway',
  offender: {
    rule: celText('rangeGateway {self.rangeGateway} must be an address of its network, which is {self.cidr}'),
    of: ({ rangeGateway, cidr }) => `rangeGateway ${rangeGateway} must be an address of its network, which is ${cidr}`,
  },
  holds: ({ rangeGateway, cidr }) => isInside(rangeGateway, cidr),
}

const gatewayIsHost: CelRule<NetworkFields> = {
  rule:
    '!has(self.rangeGateway) || !isIP(self.rangeGateway) || !has(self.cidr) || !isCIDR(self.cidr) || !cidr(self.cidr).containsIP(self.rangeGateway) || ' +
    celIsHostAddress({ ip: 'ip(self.rangeGateway)', network: 'cidr(self.cidr)', text: 'self.rangeGateway' }),
  message: 'rangeGateway must be neither the first nor the last address of its network',
  field: 'rangeGateway',
  offender: {
    rule: celText(
      'rangeGateway {self.rangeGateway} must be neither the first nor the last address of its network, which is {self.cidr}',
    ),
    of: ({ rangeGateway, cidr }) =>
      `rangeGateway ${rangeGateway} must be neither the first nor the last address of its network, which is ${cidr}`,
  },
  holds: ({ rangeGateway, cidr }) => {
    const [address, network] = [parseIp(rangeGateway ?? ''), parseCidr(cidr ?? '')]
    if (address === undefined || network === undefined || !isInNetwork(address, network)) return true
    return isHostAddress({ ...address, length: network.length })
  },
}

const hopsInside = routesRule({
  message: 'nextHopIpAddress of every route must be an address of the network that has the route',
  says:
    'nextHopIpAddress {route.nextHopIpAddress} of the route to {route.destinationNetworkCidr} must be an address of the network that has the ' +
    'route, which is {self.cidr}, and neither its first nor its last: packets can only be handed to a neighbour',
  isWrong:
    'has(self.cidr) && isCIDR(self.cidr) && isIP(route.nextHopIpAddress) && !(cidr(self.cidr).containsIP(route.nextHopIpAddress) && ' +
    `(${celIsHostAddress({ ip: 'ip(route.nextHopIpAddress)', network: 'cidr(self.cidr)', text: 'route.nextHopIpAddress' })}))`,
  finds: ({ routes = [], cidr }) => {
    if (cidr === undefined) return []
    return routes.flatMap(({ nextHopIpAddress: hop, destinationNetworkCidr: to }, at) =>
      isNeighbour(hop, cidr) ? [] : [{ at: ['routes', at, 'nextHopIpAddress'], values: [hop, to, cidr] }],
    )
  },
})

const oneFamily = routesRule({
  message: 'nextHopIpAddress of every route must be IPv4 or IPv6 as its destination is',
  says:
    'the route to {route.destinationNetworkCidr} must have a nextHopIpAddress of the same kind, IPv4 or IPv6, which ' +
    '{route.nextHopIpAddress} is not',
  isWrong:
    'isCIDR(route.destinationNetworkCidr) && isIP(route.nextHopIpAddress) && ' +
    'cidr(route.destinationNetworkCidr).ip().family() != ip(route.nextHopIpAddress).family()',
  finds: ({ routes = [] }) =>
    routes.flatMap(({ destinationNetworkCidr, nextHopIpAddress }, at) => {
      const [to, hop] = [parseCidr(destinationNetworkCidr), parseIp(nextHopIpAddress)]
      if (to === undefined || hop === undefined || to.family === hop.family) return []
      return [{ at: ['routes', at, 'nextHopIpAddress'], values: [destinationNetworkCidr, nextHopIpAddress] }]
    }),
})

/** A rule on each route of a network. */
function routesRule({
  says,
  ...rule
}: Pick<Search<NetworkFields>, 'message' | 'isWrong' | 'finds'> & { readonly says: string }): CelRule<NetworkFields> {
  const route = { item: 'route', list: 'self.routes', isOptional: true, says }
  return searchRule({ ...rule, field: 'routes', among: [route] })
}

const oneFieldOfCidrs: CelRule<NetworkFields> = {
  rule: '!has(self.cidr) || !has(self.cidrs)',
  message: 'a network has cidr or cidrs, not both',
  field: 'cidrs',
  holds: ({ cidr, cidrs }) => cidr === undefined || cidrs === undefined,
}

export const familiesDiffer: CelRule<readonly string[]> = {
  rule: 'self.size() == 1 || !self.all(one, isCIDR(one)) || cidr(self[0]).ip().family() != cidr(self[1]).ip().family()',
  message: 'must be one of IPv4 and one of IPv6',
  holds: (cidrs) => {
    const families = cidrs.map((one) => parseCidr(one)?.family)
    return families.length === 1 || families.includes(undefined) || families[0] !== families[1]
  },
}

/** A machine with no address on it would be on the pod network instead. */
const podNamed: CelRule<NetworkFields> = {
  rule: `has(self.cidr) || self.name != '${POD_NETWORK_NAME}'`,
  message: `a network without cidr must not be called ${POD_NETWORK_NAME}, which is the pod network in the interfaces of machines: call it otherwise`,
  field: 'name',
  holds: ({ name, cidr }) => cidr !== undefined || name !== POD_NETWORK_NAME,
}

export const networkRules = [gatewayInside, gatewayIsHost, hopsInside, oneFamily, oneFieldOfCidrs, podNamed] as const

/** Not a list map by network: the order of the interfaces matters, and such a list loses it when two people write to it. */
export const interfacesRule = searchRule<readonly { readonly network: string }[]>({
  message: 'interfaces must each have a network of their own',
  among: [
    {
      item: 'nic',
      list: 'self',
      says: 'interfaces must each have a network of their own: "{nic.network}" is named more than once',
    },
  ],
  isWrong: '!self.exists_one(other, other.network == nic.network)',
  finds: (list) => repeatedIn(list.map(({ network }) => network)).map((one) => ({ at: [], values: [one] })),
})

/** Reports whether the address is in the network and an interface can have it. Also true if one cannot be parsed: other rules report that. */
export function isNeighbour(text: string, cidr: string): boolean {
  const [address, network] = [parseIp(text), parseCidr(cidr)]
  if (address === undefined || network === undefined) return true
  return isInNetwork(address, network) && isHostAddress({ ...address, length: network.length })
}

/** Also true if one of them cannot be parsed: other rules report that. */
function isInside(address: string | undefined, cidr: string | undefined): boolean {
  const [one, network] = [parseIp(address ?? ''), parseCidr(cidr ?? '')]
  return one === undefined || network === undefined || isInNetwork(one, network)
}
