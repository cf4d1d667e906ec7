import { type InterfaceWords, staticAddresses } from './interface-words.ts'
import { networkOf, parseCidr, prefixText } from './ip-address.ts'
import { isNeighbour, type RouteFields } from './workspace-network-rules.ts'

/**
 * What is checked of a network with `cidrs`. For one with `cidr` the rules of the schema say the same at once: for several ranges they would cost the API
 * server more than it allows.
 */

interface Ranges {
  readonly cidr?: string | undefined
  readonly cidrs?: readonly string[] | undefined
}

interface NetworkWords extends Ranges {
  readonly name: string
  readonly rangeGateway?: string | undefined
  readonly routes?: readonly RouteFields[] | undefined
}

/** Returns the ranges of addresses of a network in CIDR form, such as 10.10.0.0/24; empty for a network of layer 2 alone. */
export function cidrsOf({ cidr, cidrs = [] }: Ranges): readonly string[] {
  return cidr === undefined ? cidrs : [cidr]
}

/** Returns what is wrong with the gateway or a route of a network with `cidrs`, and what to do, as a sentence without its end. */
export function misplacedHop(network: NetworkWords): string | undefined {
  return misplacedHops(network)[0]
}

/** Returns all such sentences. */
export function misplacedHops({ name, cidrs, rangeGateway, routes = [] }: NetworkWords): readonly string[] {
  if (cidrs === undefined) return []
  const hops = [
    ...(rangeGateway === undefined ? [] : [{ field: 'rangeGateway', address: rangeGateway }]),
    ...routes.map(({ nextHopIpAddress: address }) => ({ field: 'nextHopIpAddress', address })),
  ]
  return hops
    .filter(({ address }) => !cidrs.some((cidr) => isNeighbour(address, cidr)))
    .map(
      ({ field, address }) =>
        `${field} ${address} of network ${name} must be in one of its cidrs (${cidrs.join(', ')}), and neither the first nor the last address there`,
    )
}

/** Returns which interface has an address outside of `cidrs` of its network, and what to do, as a sentence without its end. */
export function misplacedAddress(
  networks: readonly NetworkWords[],
  interfaces: readonly InterfaceWords[],
): string | undefined {
  return misplacedAddresses(networks, interfaces)[0]
}

/** Returns all such sentences. */
export function misplacedAddresses(
  networks: readonly NetworkWords[],
  interfaces: readonly InterfaceWords[],
): readonly string[] {
  return interfaces.flatMap((nic) => {
    const cidrs = networks.find(({ name }) => name === nic.network)?.cidrs
    if (cidrs === undefined) return []
    return staticAddresses(nic)
      .filter((one) => !cidrs.includes(rangeOf(one)))
      .map(
        (one) =>
          `its address ${one} on network ${nic.network} is in none of cidrs (${cidrs.join(', ')}): take an address of that network, with the same length`,
      )
  })
}

function rangeOf(address: string): string {
  const prefix = parseCidr(address)
  return prefix === undefined ? '' : prefixText(networkOf(prefix))
}
