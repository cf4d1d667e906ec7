import { spec, times } from './machine-spec.ts'
import { accepted, field, refused, type SpecFixture } from './spec.ts'

const address = (ipAddress: unknown) => spec({ interfaces: [{ network: 'a', ipAddress }] })

const IPV4: readonly SpecFixture[] = field('spec.interfaces[0].ipAddress', address, {
  yes: ['10.10.0.161/24', '4.29.163.6/28', '192.168.1.1/8', '1.2.3.4/32', '223.255.255.254/30', '169.253.0.1/16'],
  no: [
    '',
    '10.10.0.161',
    '10.10.0.161/',
    '10.10.0.161/0',
    '10.10.0.161/7',
    '10.10.0.161/33',
    '10.10.0.161/024',
    '10.10.0/24',
    '10.10.0.0161/24',
    '010.10.0.1/24',
    '10.10.0.256/24',
    '4.29.163.666/28',
    '10.10.0.161/24 ',
    '10.10.0.161/24\n',
    '0x0a.1.1.1/24',
    '0.0.0.0/8',
    '0.1.2.3/24',
    '127.0.0.1/8',
    '169.254.169.254/16',
    '224.0.0.1/24',
    '239.1.1.1/24',
    '240.0.0.1/24',
    '255.255.255.255/32',
    '10.10.0.1/٢٤',
    ['10.10.0.1/24'],
    7,
  ],
})

const IPV6: readonly SpecFixture[] = field('spec.interfaces[0].ipAddress', address, {
  yes: [
    'fd00:10::a1/64',
    'FD00:10::A1/64',
    '2001:db8::/32',
    '2001:db8:0:0:1:2:3:4/128',
    '2001:db8:1:2:3:4:5::/64',
    'fd00::1:2:3:4:5:6/16',
    'fe8:1::1/64',
    'ff:1::1/64',
    '64:ff9b::1/96',
  ],
  no: [
    'fd00:10::a1',
    'fd00:10::a1/15',
    'fd00:10::a1/129',
    'fd00:10::a1/064',
    'fd00::1::2/64',
    'fd00:1:2:3:4:5:6/64',
    'fd00:1:2:3:4:5:6:7:8/64',
    'fd00:12345::1/64',
    'fd00::g/64',
    '[fd00::1]/64',
    'fd00::1%eth0/64',
    '::1/128',
    '::/64',
    '0:0:0:0:0:0:0:1/64',
    '0000::1/64',
    '::ffff:127.0.0.1/96',
    '::ffff:7f00:1/96',
    'fe80::1/64',
    'FEBF::1/64',
    'ff02::1/64',
    'fd00::1.2.3.4/64',
  ],
})

const interfaceWith = (more: object) => spec({ interfaces: [{ network: 'a', ipAddress: '10.0.0.5/24', ...more }] })
const via = (hop: unknown, to: unknown = '0.0.0.0/0') => interfaceWith({ routes: [{ to, via: hop }] })

const ROUTES: readonly SpecFixture[] = [
  accepted('routes that no guest can use: they are left out', via('192.168.0.1')),
  ...field('spec.interfaces[0].routes[0].via', via, {
    yes: ['10.0.0.1', '10.0.0.5', 'fe80::1', 'fd00:10::A1'],
    no: ['', '10.0.0', '10.0.0.1/24', '10.0.0.01', '10.0.0.256', 'fd00::g', 'fd00::1%eth0', 'router', 7],
  }),
  ...field('spec.interfaces[0].routes[0].to', (to) => via('10.0.0.1', to), {
    yes: ['0.0.0.0/0', '172.26.0.0/15', '172.26.1.1/32', '::/0', 'fd00::/7'],
    no: ['', '10.1.0.0', '10.1.0.0/33', '10.1.0.0/015', '::/129', 'default', '10.1.0.0/16 ', 7],
  }),
  refused('a route to nowhere', interfaceWith({ routes: [{ via: '10.0.0.1' }] }), 'spec.interfaces[0].routes[0].to'),
  accepted('33 routes', interfaceWith({ routes: times(33, (at) => ({ to: `10.${at}.0.0/16`, via: '10.0.0.1' })) })),
  refused(
    '34 routes',
    interfaceWith({ routes: times(34, (at) => ({ to: `10.${at}.0.0/16`, via: '10.0.0.1' })) }),
    'spec.interfaces[0].routes',
  ),
  ...field('spec.interfaces[0].mtu', (mtu) => interfaceWith({ mtu }), {
    yes: [576, 1400, 9216],
    no: [575, 9217, '1400'],
  }),
  ...field('spec.interfaces[0].nameservers[0]', (address) => interfaceWith({ nameservers: [address] }), {
    yes: ['4.29.163.7', 'fd00::53'],
    no: ['', '4.29.163.7/28', 'dns.example', 7],
  }),
  accepted('8 name servers', interfaceWith({ nameservers: times(8, (at) => `10.0.0.${at}`) })),
  refused(
    '9 name servers',
    interfaceWith({ nameservers: times(9, (at) => `10.0.0.${at}`) }),
    'spec.interfaces[0].nameservers',
  ),
]

const network = (name: string) => ({ network: name, ipAddress: '10.0.0.1/24' })
export const INTERFACES: readonly SpecFixture[] = [
  ...IPV4,
  ...IPV6,
  ...ROUTES,
  ...field('spec.interfaces[0].network', (name) => spec({ interfaces: [{ ...network('a'), network: name }] }), {
    yes: ['control-net', '1', 'a'.repeat(63)],
    no: ['', 'Control_Net', 'other-ns/net', 'a.b', '-net', 'a b', 'a'.repeat(64), 7],
  }),
  accepted('32 interfaces', spec({ interfaces: times(32, (at) => network(`net-${at}`)) })),
  refused('33 interfaces', spec({ interfaces: times(33, (at) => network(`net-${at}`)) }), 'spec.interfaces'),
  refused('a network twice', spec({ interfaces: [network('a'), network('b'), network('a')] }), 'spec.interfaces'),
  accepted('no address', spec({ interfaces: [{ network: 'a' }, { network: 'pod' }] })),
  accepted('two addresses', spec({ interfaces: [{ network: 'a', ipAddresses: ['10.0.0.1/24', 'fd00::1/64'] }] })),
  refused(
    'a bad second address',
    spec({ interfaces: [{ network: 'a', ipAddresses: ['10.0.0.1/24', 'x'] }] }),
    'spec.interfaces[0].ipAddresses[1]',
  ),
  ...['routes', 'nameservers'].map((field) =>
    refused(`${field} without an address`, spec({ interfaces: [{ network: 'a', [field]: [] }] }), 'spec.interfaces[0]'),
  ),
  refused(
    'a MAC address twice',
    spec({ interfaces: ['a', 'b'].map((network) => ({ network, macAddress: '52:54:00:12:34:56' })) }),
    'spec.interfaces',
  ),
]
