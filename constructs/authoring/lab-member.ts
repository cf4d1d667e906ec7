import { Construct } from 'constructs'
import { ipText } from '../api/ip-address.ts'
import { insideOf, type NetworkInside } from './inside.ts'
import type { AnyLabNetwork, LabHost } from './lab-network.ts'
import { idOfPart, requireOwn } from './lab-part.ts'
import { wordsOfMember } from './member-words.ts'
import type { SpecPatch } from './merge-patch.ts'

/** A host number, such as 11 for 10.10.0.11 in 10.10.0.0/24, or an address with or without its length. */
export type LabAddress = number | string

/** A part of a lab that has a name, and interfaces on its networks. @typeParam Words what else is said of an interface */
export abstract class LabMember<Words extends object> extends Construct implements LabHost {
  /** Name of the member in the lab: its host name. */
  readonly memberName: string

  constructor(scope: Construct, list: 'vms' | 'containerClusters', memberName: string) {
    super(scope, idOfPart(scope, list, memberName, new.target))
    this.memberName = memberName
  }

  /**
   * Gives the member an interface on a network of its lab, after those that it has.
   * @param address one or more addresses on it. Default: none; a guest asks a DHCP server on the network, and containers give the interface one themselves
   * @returns the member itself
   * @throws Error if it is on the network already, or the address is not of the network, or somebody else's
   */
  connect(network: AnyLabNetwork, address: LabAddress | readonly LabAddress[] = [], words?: Words): this {
    if (typeof network !== 'object' || network === null || typeof network.networkName !== 'string')
      throw new Error(`${this.node.path}: network ${toldAs(network)} is no network: give what addNetwork returned`)
    requireOwn(this, 'network', network)
    const { connections } = wordsOfMember(this)
    if (connections.some((one) => one.network === network))
      throw new Error(`${this.node.path}: is on network ${network.networkName} already: give all addresses at once`)
    const given = typeof address === 'object' ? address : [address]
    const { addresses } = insideOf<NetworkInside>(network)
    const prefixes = given.flatMap((one) =>
      typeof one === 'number' ? addresses.prefixesOf(one) : [addresses.prefixOf(one)],
    )
    for (const prefix of prefixes) addresses.occupy(prefix, this)
    connections.push({ networkName: network.networkName, network, prefixes, words: words ?? {} })
    return this
  }

  /**
   * Lays fields over what the spec says of the member, after all else: what no word here says, such as `{ overrides: { ... } }`. It is checked as the rest is.
   * @param fields fields of the member. Objects are merged, all else is replaced, and null removes a field
   * @returns the member itself
   */
  patch(fields: SpecPatch): this {
    wordsOfMember(this).patch(fields)
    return this
  }

  /**
   * Returns its static addresses, without the length, such as 10.10.0.11, in the order in which they were given.
   * @param network where. Default: on all networks
   */
  addressesOn(network?: AnyLabNetwork): readonly string[] {
    const found = wordsOfMember(this).connections.filter((one) => network === undefined || one.network === network)
    return found.flatMap(({ prefixes }) => prefixes.map((prefix) => ipText(prefix)))
  }

  /**
   * Returns its first address on a network, without the length, such as 10.10.0.11.
   * @throws Error if it has none
   */
  addressOn(network: AnyLabNetwork): string {
    const [address] = this.addressesOn(network)
    if (address === undefined)
      throw new Error(`${this.node.path}: has no static address on network ${network.networkName}: connect it with one`)
    return address
  }
}

function toldAs(network: unknown): string {
  return Construct.isConstruct(network) ? network.node.path : JSON.stringify(network)
}
