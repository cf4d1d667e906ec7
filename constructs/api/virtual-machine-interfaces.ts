import { z } from 'zod'
import { type CelRule, celMatches } from '../schema/cel.ts'
import { usableRule } from './address-fields.ts'
import {
  addressingFits,
  attachField,
  celHasAddress,
  guestInterfaceFields,
  type InterfaceWords,
  IP_ADDRESSES_MAX,
  macAddressesUnique,
  mtuField,
  oneAddressField,
  staticAddresses,
} from './interface-words.ts'
import { cel, dnsLabel, matching } from './shared.ts'

const INTERFACES_MAX = 32
/** Those of a network of a Workspace, and its gateway. */
const ROUTES_MAX = 33
const NAMESERVERS_MAX = 8
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const GROUP16 = '[0-9a-fA-F]{1,4}'

const IPV4 = `(${OCTET}[.]){3}${OCTET}`

/** Mean the same in RE2 and JavaScript. */
const PATTERNS = {
  /** The only spelling that all programs parse alike, with a prefix length that the network of a machine can have. */
  ipv4: `^${IPV4}/([89]|[12][0-9]|3[0-2])$`,
  ipv6: `^${ipv6Pattern()}/(1[6-9]|[2-9][0-9]|1[01][0-9]|12[0-8])$`,
  /** An address without a prefix length. */
  host: `^(${IPV4}|${ipv6Pattern()})$`,
  /** Any network, including the whole internet. */
  network: `^(${IPV4}/([0-9]|[12][0-9]|3[0-2])|${ipv6Pattern()}/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))$`,
} as const

const ipAddress = cel(
  z.string().min(1).max(64),
  {
    rule: `${celMatches('self', PATTERNS.ipv4)} || ${celMatches('self', PATTERNS.ipv6)}`,
    message:
      'ipAddress must be an address with the length of its network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128)',
    holds: isAddress,
  },
  usableRule('ipAddress must not be an unspecified, loopback, link-local, multicast or reserved address'),
)

const address = (field: string) =>
  matching(
    z.string().min(1).max(45),
    PATTERNS.host,
    `${field} must be an IPv4 or IPv6 address such as 10.10.0.1, without the length of a network`,
  )

const route = z
  .object({
    to: matching(
      z.string().min(1).max(49),
      PATTERNS.network,
      'to must be a network in CIDR form such as 172.26.0.0/15 or 0.0.0.0/0',
    ).describe('Network that the route leads to, in CIDR form, such as 172.26.0.0/15; 0.0.0.0/0 and ::/0 are all.'),
    via: address('via')
      .describe(
        'Address that packets are sent to. A route over an address that is not in the network of the interface, or is its own, is left out.',
      )
      .meta({ example: '10.10.0.1' }),
  })
  .describe('One route.')

const interfaceFields = z
  .object({
    network: dnsLabel()
      .describe(
        'Name of the NetworkAttachmentDefinition in the namespace of the virtual machine, or, without an address, pod: the pod network of Kubernetes.',
      )
      .meta({ example: 'mgmt' }),
    attach: attachField(
      'An existing NetworkAttachmentDefinition, also of another namespace, in place of the one that network names. network is then only the name of the interface.',
    ).meta({ example: 'vlans/vlan-100' }),
    ipAddress: ipAddress
      .describe(
        'Static address of the guest in CIDR form, IPv4 or IPv6, such as 10.10.0.161/24: the address, then the length of its network.',
      )
      .optional(),
    ipAddresses: z
      .array(ipAddress.describe('One address in CIDR form.').meta({ example: '10.10.0.161/24' }))
      .min(1)
      .max(IP_ADDRESSES_MAX)
      .describe('Static addresses of the guest in place of ipAddress, such as one of IPv4 and one of IPv6.')
      .optional(),
    ...guestInterfaceFields,
    mtu: mtuField(
      'Largest packet that the guest sends, in bytes, such as 1400. It is not more than the network has. Default: what the network says.',
    ),
    routes: z
      .array(route)
      .max(ROUTES_MAX)
      .describe(
        'Routes over this interface, which needs a static address. The first one to a network counts. Where several interfaces have a default route, that of the first of them counts. Default: none.',
      )
      .optional(),
    nameservers: z
      .array(address('a name server').describe('Address of one name server.').meta({ example: '10.10.0.7' }))
      .max(NAMESERVERS_MAX)
      .describe('Name servers that the guest asks over this interface, which needs a static address. Default: none.')
      .optional(),
  })
  .describe('One network interface.')

type InterfaceFields = InterfaceWords & { readonly routes?: unknown; readonly nameservers?: unknown }

/** A DHCP server gives its own. */
const settingsNeedAddress: CelRule<InterfaceFields> = {
  rule: `!has(self.routes) && !has(self.nameservers) || ${celHasAddress('self')}`,
  message:
    'routes and nameservers need ipAddress or ipAddresses: without an address of its own the guest takes those of the DHCP server',
  holds: (nic) => (nic.routes === undefined && nic.nameservers === undefined) || staticAddresses(nic).length > 0,
}

const networkInterface = cel(interfaceFields, oneAddressField, addressingFits, settingsNeedAddress)

/** In the order in which the guest numbers them. */
export const interfaces = cel(
  z
    .array(networkInterface)
    .max(INTERFACES_MAX)
    .describe(
      'Network interfaces, in the order of the guest. Default: one on the pod network, with DHCP; with any, the machine is on it only if one names it.',
    ),
  {
    rule: 'self.all(one, self.exists_one(other, other.network == one.network))',
    message: 'interfaces must each have a network of their own: name every network only once',
    holds: (list: readonly { readonly network: string }[]) =>
      new Set(list.map(({ network }) => network)).size === list.length,
  },
  macAddressesUnique,
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
