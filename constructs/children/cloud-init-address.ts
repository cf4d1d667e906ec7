interface Network {
  readonly family: 4 | 6
  readonly bits: bigint
  /** Bits of the address that are the network's. */
  readonly prefix: number
}

const WIDTH = { 4: 32, 6: 128 } as const
/** fe80::/10: next hops of IPv6 routers, on every link without an address of one's own in that network. */
const LINK_LOCAL: Network = { family: 6, bits: 0xfe80n << 112n, prefix: 10 }

/**
 * Whether a next hop can be reached over an interface with these addresses: inside one of their networks, and not one of the
 * addresses itself.
 * @param own addresses of the interface in CIDR form
 */
export function isOnLink(hop: string, own: readonly string[]): boolean {
  const address = parseAddress(hop)
  if (address === undefined) return false
  const networks = own.map(parseCidr).filter((network) => network?.family === address.family)
  if (networks.some((network) => network?.bits === address.bits)) return false
  return [...networks, LINK_LOCAL].some((network) => network !== undefined && contains(network, address))
}

/** Whether a route's destination (an address or CIDR) and its next hop are both IPv4 or both IPv6. */
export function isSameFamily(destination: string, hop: string): boolean {
  return parseAddress(destination.split('/', 1)[0] ?? '')?.family === parseAddress(hop)?.family
}

/** A network as its first address, such as `172.26.0.0/15` for `172.27.1.1/15`. Undefined where the text is no network. */
export function networkOf(cidr: string): string | undefined {
  const network = parseCidr(cidr)
  if (network === undefined) return undefined
  const { family, bits, prefix } = network
  const shift = BigInt(WIDTH[family] - prefix)
  return `${formatAddress({ ...network, bits: (bits >> shift) << shift })}/${prefix}`
}

/** The one spelling of an address, without `::` but for all zeros. */
function formatAddress({ family, bits }: Network): string {
  const [count, width, radix] = family === 4 ? [4, 8n, 10] : [8, 16n, 16]
  if (family === 6 && bits === 0n) return '::'
  const parts = Array.from({ length: count }, (_, at) => {
    const part = (bits >> (BigInt(count - 1 - at) * width)) & ((1n << width) - 1n)
    return part.toString(radix)
  })
  return parts.join(family === 4 ? '.' : ':')
}

function contains({ family, bits, prefix }: Network, address: Network): boolean {
  const shift = BigInt(WIDTH[family] - prefix)
  return family === address.family && bits >> shift === address.bits >> shift
}

function parseCidr(text: string): Network | undefined {
  const [host = '', prefixText = '', ...rest] = text.split('/')
  const address = parseAddress(host)
  const prefix = Number(prefixText)
  if (address === undefined || rest.length > 0 || !/^[0-9]{1,3}$/.test(prefixText)) return undefined
  return prefix <= WIDTH[address.family] ? { ...address, prefix } : undefined
}

function parseAddress(text: string): Network | undefined {
  const isV6 = text.includes(':')
  const bits = isV6 ? v6Bits(text) : v4Bits(text)
  if (bits === undefined) return undefined
  return isV6 ? { family: 6, bits, prefix: WIDTH[6] } : { family: 4, bits, prefix: WIDTH[4] }
}

function v4Bits(text: string): bigint | undefined {
  const octets = text.split('.')
  const isValid =
    octets.length === 4 && octets.every((octet) => /^(0|[1-9][0-9]{0,2})$/.test(octet) && Number(octet) < 256)
  return isValid ? joined(octets.map(BigInt), 8n) : undefined
}

function v6Bits(text: string): bigint | undefined {
  const halves = text.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const [head = [], tail = []] = halves
  const missing = 8 - head.length - tail.length
  if (halves.length > 2 || (halves.length === 2 ? missing < 1 : missing !== 0)) return undefined
  const groups = [...head, ...Array.from({ length: missing }, () => '0'), ...tail]
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined
  return joined(
    groups.map((group) => BigInt(`0x${group}`)),
    16n,
  )
}

function joined(parts: readonly bigint[], width: bigint): bigint {
  return parts.reduce((bits, part) => (bits << width) | part, 0n)
}
