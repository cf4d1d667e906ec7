import { BlockList, isIP } from 'node:net'

/** An address with the prefix length of its network, such as `10.0.0.7/24`. */
export interface Cidr {
  readonly address: string
  readonly prefix: number
  readonly family: 'ipv4' | 'ipv6'
}

export function parseCidr(text: string): Cidr | undefined {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  const prefix = Number(digits)
  if (version === 0 || prefix > (version === 4 ? 32 : 128)) return undefined
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' }
}

/** Reports whether an address is in the network of another one. */
export function isOnLink(address: string, { address: other, prefix, family }: Cidr): boolean {
  if (isIP(address) !== (family === 'ipv4' ? 4 : 6)) return false
  const network = new BlockList()
  network.addSubnet(other, prefix, family)
  return network.check(address, family)
}

export function isMac(text: string): boolean {
  return /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i.test(text)
}
