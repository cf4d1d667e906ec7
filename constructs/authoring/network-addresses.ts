import type { IConstruct } from 'constructs'
import {
  type IpAddress,
  type IpPrefix,
  ipText,
  isHostAddress,
  isInNetwork,
  networkOf,
  parseCidr,
  parseIp,
  plainAddress,
  prefixText,
} from '../api/ip-address.ts'

/** Whoever has an address on a network: messages name it. */
interface Named {
  readonly memberName: string
}

/** The addresses of a network of a lab, and who has which. */
export class NetworkAddresses {
  readonly #network: IConstruct
  readonly #written: readonly string[]
  readonly #prefixes: readonly IpPrefix[]
  /** Who has which address. */
  readonly #hosts = new Map<string, Named>()
  /** What was said to be outside of the lab. */
  readonly #outside = new Set<string>()

  /** @param written cidrs as they were given. What is none is a problem of the whole Workspace, found with all others */
  constructor(network: IConstruct, written: readonly unknown[]) {
    this.#network = network
    this.#written = written.filter((one) => typeof one === 'string')
    this.#prefixes = this.#written.flatMap((one) => parseCidr(one) ?? [])
  }

  /**
   * Returns the addresses with a host number, with their lengths: one for each cidr.
   * @throws Error if there is no cidr, or no host of that number
   */
  prefixesOf(host: number): readonly IpPrefix[] {
    if (this.#prefixes.length < this.#written.length)
      throw this.#error(
        `its cidr ${this.#written.map((one) => JSON.stringify(one)).join(', ')} has no addresses, so host ${host} has none: write a network such as 10.10.0.0/24`,
      )
    if (this.#prefixes.length === 0)
      throw this.#error(
        `has no cidr, so host ${host} has no address: give an address such as 10.0.0.1/24, or give the network a cidr`,
      )
    return this.#prefixes.map((prefix) => {
      const network = networkOf(prefix)
      const found =
        Number.isInteger(host) && host >= 0 ? { ...network, value: network.value + BigInt(host) } : undefined
      if (found === undefined || !isInNetwork(found, network) || !isHostAddress(found))
        throw this.#error(
          `${ipText(network)}/${network.length} has no host ${host}: take a number of one of its addresses`,
        )
      return found
    })
  }

  /**
   * Returns an address of the network, with its length.
   * @param text an address with or without a length
   * @throws Error if it is no address, or not of this network
   */
  prefixOf(text: string): IpPrefix {
    const given = parseCidr(text)
    const address = given ?? parseIp(text)
    if (address === undefined) throw this.#error(`"${text}" is no address such as 10.10.0.11 or 10.10.0.11/24`)
    const home = this.#prefixes.find((prefix) => isInNetwork(address, prefix))
    if (home === undefined && this.#prefixes.length > 0)
      throw this.#error(`${text} is not in ${this.#cidrs()}: take an address of that network`)
    if (home === undefined && given === undefined)
      throw this.#error(`has no cidr, so ${text} needs a length, such as ${text}/24`)
    if (home !== undefined && given !== undefined && given.length !== home.length)
      throw this.#error(`${text} must have the length of the network, /${home.length}; it may be left out`)
    const prefix = given ?? { ...address, length: (home as IpPrefix).length }
    if (!isHostAddress(prefix))
      throw this.#error(`${text} stands for the network or for all of its hosts: take another address`)
    return prefix
  }

  /**
   * Notes who has an address.
   * @throws Error if somebody else has it
   */
  occupy(prefix: IpPrefix, host: Named): void {
    const text = ipText(prefix)
    const other = this.#hosts.get(text)
    if (other === host)
      throw this.#error(
        `${host.memberName} has ${text} already: a host number is an address of each cidr of the network`,
      )
    if (other !== undefined) throw this.#error(`${text} is the address of ${other.memberName}: take another one`)
    this.#hosts.set(text, host)
  }

  /** Reports whether an address is in one of the cidrs. */
  has(address: IpAddress): boolean {
    return this.#prefixes.some((prefix) => isInNetwork(address, prefix))
  }

  /** Returns the cidrs, as they were written. Those that are none are left out. */
  cidrs(): readonly string[] {
    return this.#prefixes.map((prefix) => prefixText(prefix))
  }

  /** Reports whether a member has an address. @param address without a length */
  isTaken(address: string): boolean {
    return this.#hosts.has(plainAddress(address))
  }

  /** Notes that an address was said to be outside of the lab. */
  noteOutside(address: string): void {
    this.#outside.add(plainAddress(address))
  }

  /** Reports whether a gateway, next hop or name server was said to be outside of the lab. */
  isOutside(address: string): boolean {
    return this.#outside.has(plainAddress(address))
  }

  #cidrs(): string {
    return this.#prefixes.map((prefix) => `${ipText(networkOf(prefix))}/${prefix.length}`).join(' or ')
  }

  #error(text: string): Error {
    return new Error(`${this.#network.node.path}: ${text}`)
  }
}
