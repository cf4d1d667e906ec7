import { z } from 'zod'
import { addressField, destinationCidr, interfaceAddress, networkCidr } from './address-fields.ts'
import {
  addressingFits,
  attachField,
  guestInterfaceFields,
  IP_ADDRESSES_MAX,
  macAddressField,
  mtuField,
  oneAddressField,
} from './interface-words.ts'
import { cel, dnsLabel, listMap } from './shared.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import { familiesDiffer, interfacesRule, networkRules } from './workspace-network-rules.ts'

const route = z
  .object({
    destinationNetworkCidr: destinationCidr().describe(
      'Network that the route leads to, such as 172.26.0.0/15; 0.0.0.0/0 is all that no other route names.',
    ),
    nextHopIpAddress: addressField('nextHopIpAddress')
      .describe(
        'Address in this network that packets are sent to. On the machine whose own address it is, the route is left out.',
      )
      .meta({ example: '10.10.0.1' }),
  })
  .describe('One route.')

const networkFields = z.object({
  name: dnsLabel().describe('Name of the network, which interfaces refer to.').meta({ example: 'mgmt' }),
  attach: attachField(
    'An existing NetworkAttachmentDefinition that is this network, such as vlans/vlan-100 for a VLAN of the site. Nothing is made for it. Who else is on it reaches the members.',
  ),
  cidr: networkCidr()
    .describe(
      'Addresses of the network in CIDR form, such as 10.10.0.0/24, IPv4 or IPv6: its first address, then its length. Default: none, a network of layer 2 ' +
        'alone. Its members have any addresses, of IPv4 and IPv6, or none.',
    )
    .optional(),
  cidrs: cel(
    z
      .array(networkCidr().describe('One of them, as cidr is written.').meta({ example: '10.10.0.0/24' }))
      .min(1)
      .max(2),
    familiesDiffer,
  )
    .describe('In place of cidr for both kinds of addresses (dual stack): one of IPv4 and one of IPv6.')
    .optional(),
  rangeGateway: addressField('rangeGateway')
    .describe(
      'Address of the gateway. A member of this network must have it, because nobody else is on the network. It is the default route of everything with an interface ' +
        'on this network, where routes has no default route.',
    )
    .meta({ example: '10.10.0.1' })
    .optional(),
  routes: z
    .array(route)
    .max(WORKSPACE_LIMITS.routes)
    .describe('Routes that everything with an interface on this network has. Default: none.')
    .optional(),
  mtu: mtuField('Largest packet in bytes, such as 1400. Default: that of the nodes.'),
  nameservers: z
    .object({
      addresses: z
        .array(
          addressField('addresses')
            .describe('Address of one name server. It may be in another network.')
            .meta({ example: '10.10.0.7' }),
        )
        .max(WORKSPACE_LIMITS.nameservers)
        .describe('Name servers, the first one asked first.'),
    })
    .describe('DNS servers for every member with an interface on this network. Default: not set.')
    .optional(),
})

const network = cel(networkFields, ...networkRules).describe(
  'One network of the workspace, which no other workspace reaches.',
)

export const networks = listMap(
  z.array(network).max(WORKSPACE_LIMITS.networks),
  'name',
  'Networks of the workspace. One that no interface names is made too.',
)

/** @param alone what applies without an address */
const interfaceFields = (alone: string) => ({
  ipAddress: interfaceAddress()
    .describe(
      `Static address in CIDR form, such as 10.10.0.161/24: the address, then the length of its network. Default: ${alone}.`,
    )
    .optional(),
  ipAddresses: z
    .array(interfaceAddress().describe('One address in CIDR form.').meta({ example: '10.10.0.161/24' }))
    .min(1)
    .max(IP_ADDRESSES_MAX)
    .describe('Static addresses in place of ipAddress.')
    .optional(),
})

/** Network interfaces of a machine. */
export const machineInterfaces = cel(
  z
    .array(
      cel(
        z.object({
          network: dnsLabel()
            .describe('Name of one of spec.networks, or, without an address, pod: the pod network of Kubernetes.')
            .meta({ example: 'mgmt' }),
          ...interfaceFields('the guest asks a DHCP server on the network, see addressing'),
          ...guestInterfaceFields,
        }),
        oneAddressField,
        addressingFits,
      ).describe('One network interface.'),
    )
    .max(WORKSPACE_LIMITS.interfaces)
    .describe(
      'Network interfaces of the machine, in its order, each on another network. Default: one on the pod network, with DHCP.',
    ),
  interfacesRule,
)

/** Network interfaces of the pod of a container cluster. */
export const podInterfaces = cel(
  z
    .array(
      cel(
        z.object({
          network: dnsLabel().describe('Name of one of spec.networks.').meta({ example: 'mgmt' }),
          ...interfaceFields('none, what runs in the containers gives the interface one'),
          macAddress: macAddressField,
        }),
        oneAddressField,
      ).describe('One network interface.'),
    )
    .max(WORKSPACE_LIMITS.interfaces)
    .describe(
      'Network interfaces of the containers, which they share, in their order, each on another network. Default: the pod network alone, which they are always on.',
    ),
  interfacesRule,
)
