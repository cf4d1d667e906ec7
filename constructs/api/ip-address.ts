import { memoizedLately } from '../schema/memoized.ts'

/** An IPv4 or IPv6 address as a number. */
export interface IpAddress {
  /** 4 for IPv4, 6 for IPv6. */
  readonly family: 4 | 6
  /** Its 32 or 128 bits as a number. */
  readonly value: bigint
}

/** An address with a prefix length, such as 10.10.0.161/24, or a network, whose address is its first one. */
export interface IpPrefix extends IpAddress {
  /** Bits of the network, such as 24. */
  readonly length: number
}

/** How many texts are parsed once: rules, renderings and warnings of a workspace ask for each of its addresses again and again. */
const TEXTS = 1024
/** Characters of the longest text that is one: IPv6 with an IPv4 address in it and a length. */
const LONGEST = '0000:0000:0000:0000:0000:0000:255.255.255.255/128'.length
const BITS = { 4: 32, 6: 128 } as const
const OCTET = /^(0|[1-9][0-9]{0,2})$/
const HEX_GROUP = /^[0-9a-fA-F]{1,4}$/
const LENGTH = /^(0|[1-9][0-9]{0,2})$/

/**
 * Parses what `ip()` in the CEL of the API server accepts: no zone, no leading zeros in IPv4, and no IPv4-mapped IPv6 address. Returns undefined for
 * everything else.
 */
export function parseIp(text: string): IpAddress | undefined {
  return text.length > LONGEST ? undefined : knownIp(text)
}

const knownIp = memoizedLately(TEXTS, (text: string): IpAddress | undefined => {
  if (!text.includes(':')) return parseIpv4(text)
  const value = parseIpv6(text)
  if (value === undefined || value >> BigInt(32) === BigInt(0xffff)) return undefined
  return { family: 6, value }
})

/** Parses what `cidr()` in the CEL of the API server accepts: an address, a slash and a decimal length. Returns undefined for everything else. */
export function parseCidr(text: string): IpPrefix | undefined {
  return text.length > LONGEST ? undefined : knownCidr(text)
}

const knownCidr = memoizedLately(TEXTS, (text: string): IpPrefix | undefined => {
  const slash = text.lastIndexOf('/')
  const address = slash < 0 ? undefined : parseIp(text.slice(0, slash))
  const length = text.slice(slash + 1)
  if (address === undefined || !LENGTH.test(length) || Number(length) > BITS[address.family]) return undefined
  return { ...address, length: Number(length) }
})

/** Returns the canonical form of an address: IPv6 in lower case, with the longest run of zeros left out. */
export function ipText({ family, value }: IpAddress): string {
  if (family === 4) return [24, 16, 8, 0].map((shift) => (value >> BigInt(shift)) & BigInt(0xff)).join('.')
  const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & BigInt(0xffff)))
  const { start, count } = longestZeros(groups)
  const hex = groups.map((group) => group.toString(16))
  return count < 2 ? hex.join(':') : `${hex.slice(0, start).join(':')}::${hex.slice(start + count).join(':')}`
}

/** Returns the same text for each spelling of an address, with or without a prefix length. What is no address stays as it is. */
export function plainAddress(text: string): string {
  const address = text.split('/', 1)[0] ?? ''
  const parsed = parseIp(address)
  return parsed === undefined ? address : ipText(parsed)
}

export function prefixText(prefix: IpPrefix): string {
  return `${ipText(prefix)}/${prefix.length}`
}

/** Returns the network of the address, with the first address of that network. */
export function networkOf(prefix: IpPrefix): IpPrefix {
  return { ...prefix, value: prefix.value - hostPart(prefix) }
}

/** Reports whether the address is in the network. */
export function isInNetwork({ family, value }: IpAddress, network: IpPrefix): boolean {
  return family === network.family && networkOf({ ...network, value }).value === networkOf(network).value
}

/** Reports whether two ranges in CIDR notation have an address in common. False if one is none. */
export function isOverlapping(one: string, other: string): boolean {
  const [first, second] = [parseCidr(one), parseCidr(other)]
  if (first === undefined || second === undefined) return false
  return isInNetwork(first, second) || isInNetwork(second, first)
}

/**
 * Reports whether an interface can have the address. In a network of more than two addresses it cannot have the first one, which stands for the
 * network (in IPv6, for its routers), nor in IPv4 the last one, which is the broadcast address.
 */
export function isHostAddress(prefix: IpPrefix): boolean {
  const host = hostPart(prefix)
  const bits = BITS[prefix.family] - prefix.length
  if (bits < 2) return true
  return host !== BigInt(0) && (prefix.family === 6 || host !== (BigInt(1) << BigInt(bits)) - BigInt(1))
}

function hostPart({ family, value, length }: IpPrefix): bigint {
  return value & ((BigInt(1) << BigInt(BITS[family] - length)) - BigInt(1))
}

function parseIpv4(text: string): IpAddress | undefined {
  const octets = text.split('.')
  if (octets.length !== 4 || !octets.every((octet) => OCTET.test(octet) && Number(octet) <= 255)) return undefined
  return { family: 4, value: octets.reduce((value, octet) => (value << BigInt(8)) | BigInt(octet), BigInt(0)) }
}

function parseIpv6(text: string): bigint | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [head, tail] = halves.map((half, at) => hexGroupsOf(half, at === halves.length - 1))
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined
  const given = head.length + (tail?.length ?? 0)
  // "::" stands for at least one group.
  if (tail === undefined ? given !== 8 : given > 7) return undefined
  const groups = [...head, ...Array.from({ length: 8 - given }, () => 0), ...(tail ?? [])]
  return groups.reduce((value, group) => (value << BigInt(16)) | BigInt(group), BigInt(0))
}

/** Returns the groups of 16 bits. The last two may be written as an IPv4 address. Returns undefined if the text is not made of groups. */
function hexGroupsOf(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const dotted = isLast && parts.at(-1)?.includes('.') ? parseIpv4(parts.pop() ?? '') : null
  if (dotted === undefined || !parts.every((part) => HEX_GROUP.test(part))) return undefined
  const groups = parts.map((part) => Number.parseInt(part, 16))
  return dotted === null
    ? groups
    : [...groups, Number(dotted.value >> BigInt(16)), Number(dotted.value & BigInt(0xffff))]
}

function longestZeros(groups: readonly number[]): { start: number; count: number } {
  let best = { start: 0, count: 0 }
  for (let start = 0; start < groups.length; start += 1) {
    let count = 0
    while (groups[start + count] === 0) count += 1
    if (count > best.count) best = { start, count }
  }
  return best
}
