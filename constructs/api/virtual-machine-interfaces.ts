import { z } from 'zod'
import { celMatches } from '../schema/cel.ts'
import { cel, dnsLabel } from './shared.ts'

const INTERFACES_MAX = 32
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const GROUP16 = '[0-9a-fA-F]{1,4}'

/** RE2 and JavaScript alike. */
const PATTERNS = {
  /** The one spelling that all programs read alike, and a network of a length that a machine can be in. */
  ipv4: `^(${OCTET}[.]){3}${OCTET}/([89]|[12][0-9]|3[0-2])$`,
  ipv6: `^${ipv6Pattern()}/(1[6-9]|[2-9][0-9]|1[01][0-9]|12[0-8])$`,
  /** This network, loopback, link-local, multicast, reserved and broadcast. For IPv6 all that begins with zeros, such as `::1`. */
  unusable:
    '^((0|127|22[4-9]|2[34][0-9]|25[0-5])[.]|169[.]254[.]|:|0{1,4}:|[fF][eE][89abAB][0-9a-fA-F]:|[fF]{2}[0-9a-fA-F]{2}:)',
} as const

const ipAddress = cel(
  z.string().min(1).max(64),
  {
    rule: `${celMatches('self', PATTERNS.ipv4)} || ${celMatches('self', PATTERNS.ipv6)}`,
    message:
      'ipAddress must be an address with the length of its network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128)',
    holds: isAddress,
  },
  {
    rule: `!${celMatches('self', PATTERNS.unusable)}`,
    message: 'ipAddress must not be an unspecified, loopback, link-local, multicast or reserved address',
    holds: (address: string) => !new RegExp(PATTERNS.unusable).test(address),
  },
)

const networkInterface = z
  .object({
    network: dnsLabel().describe('Name of the NetworkAttachmentDefinition in the namespace of the virtual machine.'),
    ipAddress: ipAddress.describe(
      'Static address of the guest in CIDR form, IPv4 or IPv6, such as 10.10.0.161/24: the address, then the length of its network.',
    ),
  })
  .describe('One network interface.')

/** In the order in which the guest numbers them. */
export const interfaces = cel(
  z
    .array(networkInterface)
    .max(INTERFACES_MAX)
    .describe(
      'Network interfaces, in the order of the guest. Default: one on the pod network, with DHCP; with any, the machine is not on it.',
    ),
  {
    rule: 'self.all(one, self.exists_one(other, other.network == one.network))',
    message: 'interfaces must each have a network of their own: name every network only once',
    holds: (list: readonly { readonly network: string }[]) =>
      new Set(list.map(({ network }) => network)).size === list.length,
  },
)

function isAddress(text: string): boolean {
  return new RegExp(PATTERNS.ipv4).test(text) || new RegExp(PATTERNS.ipv6).test(text)
}

/** Eight groups, or fewer around one `::`. Without zones and without an embedded IPv4 address. */
function ipv6Pattern(): string {
  const before = (groups: number) => `(${GROUP16}:){${groups}}`
  const after = (groups: number) => (groups === 1 ? `:${GROUP16}` : `(:${GROUP16}){1,${groups}}`)
  const middle = [1, 2, 3, 4, 5, 6].map((groups) => `${before(groups)}${after(7 - groups)}`)
  const ends = [`${before(7)}${GROUP16}`, `(${GROUP16}:){1,7}:`]
  return `(${[...ends, ...middle, `:((:${GROUP16}){1,7}|:)`].join('|')})`
}
