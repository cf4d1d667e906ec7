import { z } from 'zod'
import type { CelRule } from '../schema/cel.ts'
import { searchRule } from '../schema/cel-search.ts'
import { repeatedIn } from './repeated-texts.ts'
import { matching } from './shared.ts'

/** Name by which an interface without an address of its own is on the pod network. With an address it is a network of this name. */
export const POD_NETWORK_NAME = 'pod'

/** How a guest gets the addresses of an interface. */
export const ADDRESSINGS = ['static', 'dhcp', 'none'] as const
export type Addressing = (typeof ADDRESSINGS)[number]

/** Network cards that KubeVirt can give a guest. Older versions of it refuse igb. */
export const INTERFACE_MODELS = ['virtio', 'e1000', 'e1000e', 'ne2k_pci', 'pcnet', 'rtl8139'] as const
export type InterfaceModel = (typeof INTERFACE_MODELS)[number]

/** Namespace and name of a NetworkAttachmentDefinition. */
const ATTACHMENT = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$'

/** An existing NetworkAttachmentDefinition of any namespace, which the policy has to list. */
export const attachField = (description: string) =>
  matching(
    z.string().min(3).max(317),
    ATTACHMENT,
    'attach must be the namespace and the name of a NetworkAttachmentDefinition, such as vlans/vlan-100',
  )
    .describe(`${description} The policy key attachableNetworks must list it.`)
    .optional()

/** Reports whether a text is the namespace and the name of a NetworkAttachmentDefinition. */
export function isAttachment(text: string): boolean {
  return text.length <= 317 && new RegExp(ATTACHMENT).test(text)
}

/** Of a network or of an interface, in bytes. Every host of IPv4 takes packets of 576; 9216 is the most that common switches pass on. */
export const mtuField = (description: string) => z.int().min(576).max(9216).describe(description).optional()

/** Every link that IPv6 is on has at least this MTU (RFC 8200, section 5). */
export const IPV6_MTU = 1280

/** Addresses of one card. More than these are refused. */
export const IP_ADDRESSES_MAX = 4

/** What the rules and the renderings read of an interface. */
export interface InterfaceWords {
  readonly network: string
  readonly ipAddress?: string | undefined
  readonly ipAddresses?: readonly string[] | undefined
  readonly addressing?: Addressing | undefined
  readonly macAddress?: string | undefined
  readonly attach?: string | undefined
}

/** Lower case, so that two spellings of one address cannot be taken for two, and unicast, as libvirt demands it. */
export const macAddressField = matching(
  z.string().min(1).max(17),
  '^[0-9a-f][02468ace](:[0-9a-f]{2}){5}$',
  'macAddress must be six pairs of lower-case hexadecimal digits with ":" between them, the second digit even, such as 52:54:00:12:34:56',
)
  .describe('MAC address of the card. Default: one that follows from the machine and the network, and stays.')
  .meta({ example: '52:54:00:12:34:56' })
  .optional()

/** The fields of an interface of a guest that a machine and one of a workspace have alike. */
export const guestInterfaceFields = {
  addressing: z
    .enum(ADDRESSINGS)
    .describe(
      'How the guest gets its addresses. static: those of ipAddress or ipAddresses. dhcp: from a DHCP server on the network, which is a member of it, or Kubernetes on the pod network. none: it gets none. Default: static with an address, dhcp without.',
    )
    .optional(),
  macAddress: macAddressField,
  model: z
    .enum(INTERFACE_MODELS)
    .describe(
      'Network card that the guest finds. Guests without drivers for virtio, such as older systems, need another. Default: virtio.',
    )
    .optional(),
}

/** Returns the static addresses of an interface in CIDR form; empty if it has none. */
export function staticAddresses({
  ipAddress,
  ipAddresses = [],
}: Pick<InterfaceWords, 'ipAddress' | 'ipAddresses'>): readonly string[] {
  return ipAddress === undefined ? ipAddresses : [ipAddress]
}

/** Reports whether an interface of a machine is on the pod network. */
export function isOnPodNetwork(nic: Pick<InterfaceWords, 'network' | 'ipAddress' | 'ipAddresses' | 'attach'>): boolean {
  return nic.network === POD_NETWORK_NAME && staticAddresses(nic).length === 0 && nic.attach === undefined
}

/** Returns how the guest gets the addresses of an interface. */
export function addressingOf(nic: Omit<InterfaceWords, 'network'>): Addressing {
  return nic.addressing ?? (staticAddresses(nic).length > 0 ? 'static' : 'dhcp')
}

/** CEL: whether the interface has a static address. */
export const celHasAddress = (nic: string) => `(has(${nic}.ipAddress) || has(${nic}.ipAddresses))`

/** CEL: the static addresses of the interface as a list. */
export const celAddresses = (nic: string) =>
  `(has(${nic}.ipAddress) ? [${nic}.ipAddress] : has(${nic}.ipAddresses) ? ${nic}.ipAddresses : [])`

export const oneAddressField: CelRule<InterfaceWords> = {
  rule: '!has(self.ipAddress) || !has(self.ipAddresses)',
  message: 'an interface must have ipAddress or ipAddresses, and not both: put the one address into the list',
  holds: ({ ipAddress, ipAddresses }) => ipAddress === undefined || ipAddresses === undefined,
}

export const addressingFits: CelRule<InterfaceWords> = {
  rule: `!has(self.addressing) || (self.addressing == 'static') == ${celHasAddress('self')}`,
  message: 'addressing must be static with ipAddress or ipAddresses, and dhcp or none without',
  field: 'addressing',
  holds: (nic) => nic.addressing === undefined || (nic.addressing === 'static') === staticAddresses(nic).length > 0,
}

/** A rule on a list of interfaces. */
export const macAddressesUnique = searchRule<readonly Pick<InterfaceWords, 'macAddress'>[]>({
  message: 'interfaces must each have a MAC address of their own',
  among: [
    {
      item: 'nic',
      list: 'self',
      says: 'interfaces must each have a MAC address of their own: "{nic.macAddress}" is given to more than one',
    },
  ],
  isWrong:
    'has(nic.macAddress) && !self.exists_one(other, has(other.macAddress) && other.macAddress == nic.macAddress)',
  finds: (list) =>
    repeatedIn(list.flatMap(({ macAddress }) => macAddress ?? [])).map((one) => ({ at: [], values: [one] })),
})
