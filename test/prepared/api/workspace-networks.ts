import { accepted, field, refused, type SpecFixture } from './spec.ts'

const NET = { name: 'net', cidr: '10.10.0.0/24' }
const VM = { backingVMDiskImage: 'image', resources: { cpu: 2, memory: '2Gi' } }
const CONTAINERS = [{ name: 'app', image: 'registry.example/app:1' }]

const net = (fields: object) => ({ networks: [{ ...NET, ...fields }] })
const nic = (ipAddress: unknown, network: unknown = 'net') => ({ network, ipAddress })
const vm = (name: string, ...interfaces: object[]) => ({ ...VM, name, interfaces })
const cluster = (name: string, ...interfaces: object[]) => ({ name, interfaces, containers: CONTAINERS })
/** A machine with this address in the network. */
const at = (ipAddress: unknown, network: object = {}) => ({ ...net(network), vms: [vm('a', nic(ipAddress))] })
const route = (destinationNetworkCidr: unknown, nextHopIpAddress: unknown, network: object = {}) =>
  net({ ...network, routes: [{ destinationNetworkCidr, nextHopIpAddress }] })

const BOTH = ['10.10.0.0/24', 'fd00:10::/64']

const CIDRS: readonly SpecFixture[] = [
  accepted('one network in a list', net({ cidr: undefined, cidrs: ['10.10.0.0/24'] })),
  accepted('a network of each family', net({ cidr: undefined, cidrs: BOTH })),
  refused('a network and a list', net({ cidrs: BOTH }), 'spec.networks[0].cidrs', 'has cidr or cidrs, not both'),
  refused(
    'two networks of one family',
    net({ cidr: undefined, cidrs: ['10.10.0.0/24', '10.11.0.0/24'] }),
    'spec.networks[0].cidrs',
    'must be one of IPv4 and one of IPv6',
  ),
  refused('no network in a list', net({ cidr: undefined, cidrs: [] }), 'spec.networks[0].cidrs'),
  ...[
    '10.0.0.0/8',
    '192.168.1.4/30',
    '10.1.2.3/32',
    '10.1.2.2/31',
    'fd00:10::/64',
    'fd00::1:0/112',
    '2001:db8::1/128',
  ].map((cidr) => accepted(`the network ${cidr}`, net({ cidr }))),
  ...[
    '',
    '10.10.0.0',
    '10.10.0/24',
    '10.0.0.0/7',
    '10.10.0.0/33',
    '10.10.0.0/024',
    '010.10.0.0/24',
    '10.10.0.0/24 ',
    'fd00::/15',
    'fd00::/129',
    '::ffff:10.0.0.0/120',
    'fd00::%eth0/64',
    'net',
  ].map((cidr) => refused(`the network ${JSON.stringify(cidr)}`, net({ cidr }), 'spec.networks[0].cidr')),
  refused(
    'a network that begins within it',
    net({ cidr: '10.10.0.5/24' }),
    'spec.networks[0].cidr',
    'cidr must begin with the first address of the network: write 10.10.0.0/24',
  ),
  refused(
    'a network in long form',
    net({ cidr: 'FD00:0010::/64' }),
    'spec.networks[0].cidr',
    'cidr must begin with the first address of the network: write fd00:10::/64',
  ),
  ...['127.0.0.0/8', '224.0.0.0/8', '169.254.0.0/16', 'fe80::/64', 'ff02::/16', '0.0.0.0/8'].map((cidr) =>
    refused(
      `the network ${cidr}`,
      net({ cidr }),
      'spec.networks[0].cidr',
      'cidr must not be a network of unspecified, loopback, link-local, multicast or reserved addresses',
    ),
  ),
  refused('a network that is a number', net({ cidr: 10 }), 'spec.networks[0].cidr'),
  refused('a network with a bad name', net({ name: 'a_b' }), 'spec.networks[0].name'),
]

const ADDRESSES: readonly SpecFixture[] = [
  ...['10.10.0.1/24', '10.10.0.254/24'].map((address) => accepted(`the address ${address}`, at(address))),
  accepted('both addresses of a network of two', at('10.10.0.0/31', { cidr: '10.10.0.0/31' })),
  accepted('the address of a network of one', at('10.10.0.7/32', { cidr: '10.10.0.7/32' })),
  accepted('the last address of IPv6', at('fd00:10::ffff/112', { cidr: 'fd00:10::/112' })),
  accepted('an address of each network', {
    networks: [NET, { name: 'six', cidr: 'fd00:10::/64' }],
    vms: [vm('a', nic('10.10.0.1/24'), nic('fd00:10::a1/64', 'six'))],
  }),
  ...['', '10.10.0.1', '10.10.0.256/24', '10.10.0.1/7', '10.10.0.01/24', 'fd00::1/8', '::ffff:10.10.0.1/120'].map(
    (address) => refused(`the address ${JSON.stringify(address)}`, at(address), 'spec.vms[0].interfaces[0].ipAddress'),
  ),
  ...['10.10.0.0/24', '10.10.0.255/24'].map((address) =>
    refused(
      `the address ${address}`,
      at(address),
      'spec.vms[0].interfaces[0].ipAddress',
      'ipAddress must be neither the first address of its network nor the last one, which is its broadcast address',
    ),
  ),
  refused(
    'the first address of IPv6',
    at('fd00:10::/64', { cidr: 'fd00:10::/64' }),
    'spec.vms[0].interfaces[0].ipAddress',
  ),
  refused(
    'an address in long form',
    at('fd00:10:0:0::1/64', { cidr: 'fd00:10::/64' }),
    'spec.vms[0].interfaces[0].ipAddress',
    'ipAddress must be written as fd00:10::1/64',
  ),
  ...['127.0.0.1/8', '169.254.0.1/16', '224.0.0.1/24', 'fe80::1/64'].map((address) =>
    refused(
      `the address ${address}`,
      at(address),
      'spec.vms[0].interfaces[0].ipAddress',
      'ipAddress must not be an unspecified, loopback, link-local, multicast or reserved address',
    ),
  ),
]

/** Two members on one network. */
const shared = (fields: object, ...nics: readonly object[]) => ({
  networks: [{ name: 'net', ...fields }],
  vms: nics.map((one, index) => vm(`m${index}`, { network: 'net', ...one })),
})
const LAYER_2: readonly SpecFixture[] = [
  accepted('a network of layer 2 alone', shared({}, {}, { ipAddress: '10.0.0.1/24' }, { ipAddress: 'fd00::1/64' })),
  accepted(
    'routes on it',
    shared(
      { rangeGateway: '10.0.0.1', routes: [{ destinationNetworkCidr: '::/0', nextHopIpAddress: 'fd00::1' }] },
      { ipAddresses: ['10.0.0.2/24', 'fd00::2/64'] },
    ),
  ),
  accepted('an existing network', shared({ attach: 'vlans/vlan-100' }, {}, { ipAddress: '10.0.0.1/24' })),
  ...['vlan-100', 'vlans/', 'Vlans/a', 'a/b/c'].map((attach) =>
    refused(`the existing network ${attach}`, shared({ attach }, {}), 'spec.networks[0].attach'),
  ),
  refused('it as pod', { networks: [{ name: 'pod' }] }, 'spec.networks[0].name'),
  accepted('the pod network beside others', {
    networks: [{ name: 'net' }],
    vms: [vm('m', { network: 'pod', model: 'e1000' }, { network: 'net' })],
  }),
  refused(
    'an address on the pod network',
    { vms: [vm('m', nic('10.0.0.1/24', 'pod'))] },
    'spec.vms',
    'machine "m" has an interface on network "pod", which is not in spec.networks: add it there, or name one that is',
  ),
  refused(
    'the pod network of containers',
    { containerClusters: [cluster('c', { network: 'pod' })] },
    'spec.containerClusters',
  ),
  ...['dhcp', 'none'].map((addressing) => accepted(addressing, shared({ cidr: '10.0.0.0/24' }, { addressing }))),
  refused('static without an address', shared({}, { addressing: 'static' }), 'spec.vms[0].interfaces[0].addressing'),
  refused(
    'dhcp with an address',
    shared({}, { addressing: 'dhcp', ipAddress: '10.0.0.1/24' }),
    'spec.vms[0].interfaces[0].addressing',
  ),
  refused(
    'both fields of addresses',
    shared({}, { ipAddress: '10.0.0.1/24', ipAddresses: ['10.0.0.2/24'] }),
    'spec.vms[0].interfaces[0]',
  ),
  refused('no address in the list', shared({}, { ipAddresses: [] }), 'spec.vms[0].interfaces[0].ipAddresses'),
  refused(
    'the second address of another network',
    shared({ cidr: '10.0.0.0/24' }, { ipAddresses: ['10.0.0.1/24', '10.0.1.1/24'] }),
    'spec.vms',
  ),
  refused(
    'a second address that somebody has',
    shared({}, { ipAddresses: ['10.0.0.1/24', '10.0.0.2/24'] }, { ipAddress: '10.0.0.2/24' }),
    'spec.networks',
  ),
  accepted('a MAC address', shared({}, { macAddress: '52:54:00:12:34:56' })),
  ...['52:54:00:12:34', '53:54:00:12:34:56', '52:54:00:AB:34:56', '52-54-00-12-34-56'].map((macAddress) =>
    refused(`MAC address ${macAddress}`, shared({}, { macAddress }), 'spec.vms[0].interfaces[0].macAddress'),
  ),
  refused(
    'a MAC address twice',
    {
      ...shared({}, { macAddress: '52:54:00:12:34:56' }),
      containerClusters: [cluster('c', { network: 'net', macAddress: '52:54:00:12:34:56' })],
    },
    'spec',
    'MAC address 52:54:00:12:34:56 is given to more than one interface: give it to one alone',
  ),
  refused('a card that KubeVirt does not have', shared({}, { model: 'ne2000' }), 'spec.vms[0].interfaces[0].model'),
]

const MEMBERS: readonly SpecFixture[] = [
  refused(
    'an address of another network',
    at('10.10.1.7/24'),
    'spec.vms',
    'machine "a" has on network "net", which is 10.10.0.0/24, the address 10.10.1.7/24: take an address of that network, with the same length',
  ),
  refused(
    'an address with another length',
    { ...net({}), containerClusters: [cluster('c', nic('10.10.0.7/25'))] },
    'spec.containerClusters',
    'container cluster "c" has on network "net", which is 10.10.0.0/24, the address 10.10.0.7/25: take an address of that network, with the same length',
  ),
  refused(
    'an address of the other family',
    at('fd00::1/64'),
    'spec.vms',
    'machine "a" has on network "net", which is 10.10.0.0/24, the address fd00::1/64: take an address of that network, with the same length',
  ),
  refused(
    'a network that there is not',
    { vms: [vm('a'), vm('b', nic('10.10.0.7/24'))] },
    'spec.vms',
    'machine "b" has an interface on network "net", which is not in spec.networks: add it there, or name one that is',
  ),
  refused(
    'a network that there is not, of a cluster',
    { ...net({}), containerClusters: [cluster('c', nic('10.10.0.7/24'), nic('10.10.0.7/24', 'other'))] },
    'spec.containerClusters',
    'container cluster "c" has an interface on network "other", which is not in spec.networks: add it there, or name one that is',
  ),
  refused(
    'a network twice',
    { ...net({}), vms: [vm('a', nic('10.10.0.7/24'), nic('10.10.0.8/24'))] },
    'spec.vms[0].interfaces',
    'interfaces must each have a network of their own: "net" is named more than once',
  ),
  refused(
    'nine interfaces',
    { vms: [vm('a', ...Array.from({ length: 9 }, (_, n) => nic('10.10.0.1/24', `n${n}`)))] },
    'spec.vms[0].interfaces',
  ),
  refused(
    'a network with a bad name',
    { vms: [vm('a', nic('10.10.0.1/24', 'a/b'))] },
    'spec.vms[0].interfaces[0].network',
  ),
  refused(
    'an address of two machines',
    { ...net({}), vms: [vm('a', nic('10.10.0.7/24')), vm('b', nic('10.10.0.8/24')), vm('c', nic('10.10.0.7/24'))] },
    'spec.networks',
    'network "net" has the address 10.10.0.7/24 more than once: give each machine and container cluster on it another one',
  ),
  refused(
    'an address of a machine and a cluster',
    {
      ...net({}),
      vms: [vm('a', nic('10.10.0.7/24'))],
      containerClusters: [cluster('c', nic('10.10.0.6/24')), cluster('d', nic('10.10.0.7/24'))],
    },
    'spec.networks',
    'network "net" has the address 10.10.0.7/24 more than once: give each machine and container cluster on it another one',
  ),
  refused(
    'an address of two clusters',
    { ...net({}), containerClusters: [cluster('c', nic('10.10.0.6/24')), cluster('d', nic('10.10.0.6/24'))] },
    'spec.networks',
    'network "net" has the address 10.10.0.6/24 more than once: give each machine and container cluster on it another one',
  ),
  accepted('an address in two networks', {
    networks: [NET, { ...NET, name: 'other' }],
    vms: [vm('a', nic('10.10.0.7/24')), vm('b', nic('10.10.0.7/24', 'other'))],
  }),
]

const GATEWAYS: readonly SpecFixture[] = [
  accepted('a gateway', net({ rangeGateway: '10.10.0.254' })),
  refused(
    'a gateway with a length',
    net({ rangeGateway: '10.10.0.254/24' }),
    'spec.networks[0].rangeGateway',
    'rangeGateway must be an address such as 10.10.0.1 or fd00:10::1, without the length of a network',
  ),
  refused(
    'a gateway in long form',
    net({ cidr: 'fd00::/64', rangeGateway: 'fd00:0::1' }),
    'spec.networks[0].rangeGateway',
    'rangeGateway must be written as fd00::1',
  ),
  refused(
    'a gateway elsewhere',
    net({ rangeGateway: '10.10.1.254' }),
    'spec.networks[0].rangeGateway',
    'rangeGateway 10.10.1.254 must be an address of its network, which is 10.10.0.0/24',
  ),
  ...['10.10.0.0', '10.10.0.255'].map((rangeGateway) =>
    refused(
      `the gateway ${rangeGateway}`,
      net({ rangeGateway }),
      'spec.networks[0].rangeGateway',
      `rangeGateway ${rangeGateway} must be neither the first nor the last address of its network, which is 10.10.0.0/24`,
    ),
  ),
  accepted('a machine that is the gateway', at('10.10.0.254/24', { rangeGateway: '10.10.0.254' })),
  accepted('a container cluster that is the gateway', {
    ...net({ rangeGateway: '10.10.0.9' }),
    containerClusters: [cluster('c', nic('10.10.0.9/24'))],
  }),
]

const ROUTES: readonly SpecFixture[] = [
  ...['10.10.0.0', '10.10.0.255'].map((hop) =>
    refused(
      `the next hop ${hop}`,
      route('172.26.0.0/15', hop),
      'spec.networks[0].routes',
      `nextHopIpAddress ${hop} of the route to 172.26.0.0/15 must be an address of the network that has the route, which is 10.10.0.0/24, and neither its first nor its last: packets can only be handed to a neighbour`,
    ),
  ),
  ...['0.0.0.0/0', '172.26.0.0/15', '8.8.8.8/32'].map((to) => accepted(`a route to ${to}`, route(to, '10.10.0.1'))),
  accepted('a route of IPv6', route('::/0', 'fd00::1', { cidr: 'fd00::/64' })),
  ...['', '0.0.0.0', 'default', '10.0.0.0/33'].map((to) =>
    refused(
      `a route to ${JSON.stringify(to)}`,
      route(to, '10.10.0.1'),
      'spec.networks[0].routes[0].destinationNetworkCidr',
    ),
  ),
  refused(
    'a route to an address in a network',
    route('172.26.0.1/15', '10.10.0.1'),
    'spec.networks[0].routes[0].destinationNetworkCidr',
    'destinationNetworkCidr must begin with the first address of the network: write 172.26.0.0/15',
  ),
  refused(
    'a next hop that is none',
    route('0.0.0.0/0', 'gateway'),
    'spec.networks[0].routes[0].nextHopIpAddress',
    'nextHopIpAddress must be an address such as 10.10.0.1 or fd00:10::1, without the length of a network',
  ),
  refused(
    'a next hop elsewhere',
    route('0.0.0.0/0', '10.10.1.1'),
    'spec.networks[0].routes',
    'nextHopIpAddress 10.10.1.1 of the route to 0.0.0.0/0 must be an address of the network that has the route, which is 10.10.0.0/24, and neither its first nor its last: packets can only be handed to a neighbour',
  ),
  refused(
    'a next hop of the other family',
    route('::/0', '10.10.0.1'),
    'spec.networks[0].routes',
    'the route to ::/0 must have a nextHopIpAddress of the same kind, IPv4 or IPv6, which 10.10.0.1 is not',
  ),
  ...field('spec.networks[0].mtu', (mtu) => net({ mtu }), { yes: [576, 1400, 9216], no: [575, 9217, '1400'] }),
  accepted('a name server elsewhere', net({ nameservers: { addresses: ['8.8.8.8', '2001:db8::53'] } })),
  refused(
    'a name server with a name',
    net({ nameservers: { addresses: ['dns'] } }),
    'spec.networks[0].nameservers.addresses[0]',
  ),
  refused('name servers without addresses', net({ nameservers: {} }), 'spec.networks[0].nameservers.addresses'),
]

export const NETWORK_FIXTURES: readonly SpecFixture[] = [
  ...CIDRS,
  ...LAYER_2,
  ...ADDRESSES,
  ...MEMBERS,
  ...GATEWAYS,
  ...ROUTES,
]
