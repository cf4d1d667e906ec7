import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { celText } from '../schema/cel-search.ts'
import { ipText, isHostAddress, networkOf, parseCidr, parseIp, prefixText } from './ip-address.ts'
import { cel } from './shared.ts'

/** Maximum text length of an IPv6 address, and of one followed by a prefix length. */
const ADDRESS_MAX = 45
const CIDR_MAX = 49

/** Minimum prefix lengths. No interface can be in a network with a shorter prefix. */
const LENGTH_MIN = { ipv4: 8, ipv6: 16 } as const

/**
 * Matches "this network", loopback, link-local, multicast, reserved and broadcast addresses, and all IPv6 addresses that begin with zeros, such as
 * `::1`. Means the same in RE2 and JavaScript.
 */
const UNUSABLE_ADDRESS =
  '^((0|127|22[4-9]|2[34][0-9]|25[0-5])[.]|169[.]254[.]|:|0{1,4}:|[fF][eE][89abAB][0-9a-fA-F]:|[fF]{2}[0-9a-fA-F]{2}:)'

const unusable = new RegExp(UNUSABLE_ADDRESS)

/** CEL expressions for an address and its network, for `celIsHostAddress`. */
interface CelAddress {
  readonly ip: string
  /** A CIDR value: the network, or any address in it with the prefix length. */
  readonly network: string
  /** The address as a text that begins with its four numbers with a dot behind each: `string(ip)` would have no known length. */
  readonly text: string
}

/** Returns a CEL expression for whether an interface can have the address, equivalent to `isHostAddress`. */
export function celIsHostAddress({ ip, network, text }: CelAddress): string {
  const next = 'int(o[0]) * 16777216 + int(o[1]) * 65536 + int(o[2]) * 256 + int(o[3]) + 1'
  const bits = `(32 - ${network}.prefixLength())`
  // CEL has no powers.
  const size = `([1, 2, 4, 8, 16, 32, 64, 128][${bits} % 8] * [1, 256, 65536, 16777216, 4294967296][${bits} / 8])`
  const isLast = `[${text}.split('.')].exists(o, (${next}) % ${size} == 0)`
  return (
    `${network}.prefixLength() > (${ip}.family() == 4 ? 30 : 126) || ` +
    `!(${network}.masked().ip() == ${ip}) && (${ip}.family() == 6 || !${isLast})`
  )
}

/** Address without a prefix length, such as 10.10.0.1. @param field name of the field, for the messages */
export function addressField(field: string): z.ZodString {
  return cel(
    z.string().min(1).max(ADDRESS_MAX),
    {
      rule: 'isIP(self)',
      message: `${field} must be an address such as 10.10.0.1 or fd00:10::1, without the length of a network`,
      holds: (text: string) => parseIp(text) !== undefined,
    },
    {
      rule: '!isIP(self) || string(ip(self)) == self',
      message: `${field} must be written in the usual short way`,
      offender: {
        rule: celText(`${field} must be written as {string(ip(self))}`),
        of: (text: string) => `${field} must be written as ${ipText(parseIp(text) as never)}`,
      },
      holds: (text: string) => {
        const address = parseIp(text)
        return address === undefined || ipText(address) === text
      },
    },
  )
}

/** Address of an interface with its prefix length, such as 10.10.0.161/24. */
export function interfaceAddress(): z.ZodString {
  return cel(
    z.string().min(1).max(CIDR_MAX),
    lengthRule(
      'ipAddress must be an address with the length of its network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128)',
    ),
    {
      rule: '!isCIDR(self) || string(cidr(self)) == self',
      message: 'ipAddress must be written in the usual short way',
      offender: {
        rule: celText('ipAddress must be written as {string(cidr(self))}'),
        of: (text: string) => `ipAddress must be written as ${prefixText(parseCidr(text) as never)}`,
      },
      holds: (text: string) => {
        const prefix = parseCidr(text)
        return prefix === undefined || prefixText(prefix) === text
      },
    },
    usableRule('ipAddress must not be an unspecified, loopback, link-local, multicast or reserved address'),
    {
      rule: `!isCIDR(self) || ${celIsHostAddress({ ip: 'cidr(self).ip()', network: 'cidr(self)', text: "self.replace('/', '.')" })}`,
      message:
        'ipAddress must be neither the first address of its network nor the last one, which is its broadcast address',
      holds: (text: string) => {
        const prefix = parseCidr(text)
        return prefix === undefined || isHostAddress(prefix)
      },
    },
  )
}

/** Address range of a network that interfaces are in, such as 10.10.0.0/24. */
export function networkCidr(): z.ZodString {
  return cel(
    z.string().min(1).max(CIDR_MAX),
    lengthRule(
      'cidr must be the first address of the network and its length, such as 10.10.0.0/24 (8 to 32) or fd00:10::/64 (16 to 128)',
    ),
    firstAddressRule('cidr'),
    usableRule('cidr must not be a network of unspecified, loopback, link-local, multicast or reserved addresses'),
  )
}

/** Destination of a route: any network, including a single address and 0.0.0.0/0. */
export function destinationCidr(): z.ZodString {
  return cel(
    z.string().min(1).max(CIDR_MAX),
    {
      rule: 'isCIDR(self)',
      message:
        'destinationNetworkCidr must be the first address of a network and its length, such as 172.26.0.0/15, fd00:10::/64 or 0.0.0.0/0',
      holds: (text: string) => parseCidr(text) !== undefined,
    },
    firstAddressRule('destinationNetworkCidr'),
  )
}

/** Rule on a CIDR: the network is not larger than `LENGTH_MIN` allows. */
function lengthRule(message: string) {
  const { ipv4, ipv6 } = LENGTH_MIN
  return {
    rule: `isCIDR(self) && cidr(self).prefixLength() >= (cidr(self).ip().family() == 4 ? ${ipv4} : ${ipv6})`,
    message,
    holds: (text: string) => {
      const prefix = parseCidr(text)
      return prefix !== undefined && prefix.length >= (prefix.family === 4 ? ipv4 : ipv6)
    },
  }
}

/** Rule on an address or a network: `UNUSABLE_ADDRESS` does not match it. */
export function usableRule(message: string) {
  return {
    rule: `!${celMatches('self', UNUSABLE_ADDRESS)}`,
    message,
    holds: (text: string) => !unusable.test(text),
  }
}

function firstAddressRule(field: string) {
  const begin = `${field} must begin with the first address of the network: write `
  return {
    rule: '!isCIDR(self) || string(cidr(self).masked()) == self',
    message: `${field} must begin with the first address of the network, in the usual short way`,
    offender: {
      rule: celText(`${begin}{string(cidr(self).masked())}`),
      of: (text: string) => begin + prefixText(networkOf(parseCidr(text) as never)),
    },
    holds: (text: string) => {
      const prefix = parseCidr(text)
      return prefix === undefined || prefixText(networkOf(prefix)) === text
    },
  }
}
