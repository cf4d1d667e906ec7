import type { VirtualMachineSpecInput } from '@open-terrain/constructs'
import {
  type Addressing,
  type CloudInitProps,
  type CloudInitUser,
  type GuestInterface,
  parseVirtualMachineSpec,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'

/** Texts that YAML, cloud-init, its templates or a shell interpret. */
const HOSTILE = [
  ...[
    '"',
    "'",
    '\\',
    '\\n',
    '\\u0000',
    '\\ud83d',
    ' #',
    ': ',
    '- ',
    '? ',
    '|',
    '>',
    '{',
    '}',
    '[',
    ']',
    ',',
    '%YAML 1.1',
  ],
  ...[
    '&anchor',
    '*anchor',
    '<<: *anchor',
    '!!python/object/apply:os.system',
    '!!binary',
    '---',
    '...',
    '~',
    'null',
    'yes',
  ],
  ...[
    '#cloud-config',
    '## template: jinja',
    '{{ ds }}',
    '{% if 1 %}',
    '$(id)',
    '`id`',
    '"}],"runcmd":["id"],"x":[{"a":"',
  ],
  ...['MIME-Version: 1.0', 'mime-version:', 'Content-Type: text/x-shellscript', '#!/bin/sh', '#include', '__proto__'],
  ...['0123', '1e3', 'é', 'ß', '漢', '😀', '\u202e'],
]
/** Characters that the rules of the spec reject, but a Secret may contain. */
const CONTROL = ['\n', '\r\n', '\t', '\u0000', '\u007f', '\u0085', '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff']

function textOf(fragments: readonly string[], max: number): fc.Arbitrary<string> {
  const fragment = fc.oneof(fc.constantFrom(...fragments), fc.string({ unit: 'grapheme', maxLength: 8 }))
  return fc
    .array(fragment, { minLength: 1, maxLength: 6 })
    .map((parts) => [...parts.join('')].slice(0, max).join(''))
    .filter((text) => text !== '')
}

function optional<T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.option(value, { nil: undefined })
}

const sshKey = fc
  .tuple(
    fc.constantFrom('ssh-ed25519', 'ssh-rsa'),
    fc.base64String({ minLength: 4, maxLength: 80 }),
    textOf(HOSTILE, 40),
  )
  .map(([type, key, comment]) => `${type} AAAA${key} ${comment.replaceAll(/[^ -~]/g, '')}`)

const user: fc.Arbitrary<CloudInitUser> = fc
  .record({
    name: fc.oneof(textOf(HOSTILE, 64), fc.stringMatching(/^[a-z_][a-z0-9_-]{0,31}$/)),
    plain_text_passwd: optional(textOf(HOSTILE, 256)),
    lock_passwd: optional(fc.boolean()),
    sudo: optional(textOf(HOSTILE, 512)),
    groups: optional(fc.constantFrom('sudo', 'sudo,docker', 'adm , wheel')),
    ssh_authorized_keys: optional(fc.array(sshKey, { maxLength: 3 })),
  })
  .map((candidate) => ({ ...candidate, name: candidate.name.replaceAll(':', '') }))
  .filter((candidate) => parseVirtualMachineSpec(specWith(candidate)).ok)

function specWith(candidate: CloudInitUser): VirtualMachineSpecInput {
  return { resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: 'image' }, users: [candidate] }
}

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/)
const octet = fc.nat(255)
const v4 = fc.tuple(fc.constantFrom(10, 172, 192), octet, octet, octet).map((octets) => octets.join('.'))
const v6 = fc
  .array(fc.nat(0xffff), { minLength: 7, maxLength: 7 })
  .map((groups) => ['fd00', ...groups.map((group) => group.toString(16))].join(':'))
const cidr = fc.oneof(
  fc.tuple(v4, fc.integer({ min: 8, max: 32 })).map(([host, prefix]) => `${host}/${prefix}`),
  fc.tuple(v6, fc.integer({ min: 16, max: 128 })).map(([host, prefix]) => `${host}/${prefix}`),
)
const route = fc.record({
  to: fc.oneof(fc.constantFrom('0.0.0.0/0', '::/0', '172.26.0.0/15'), cidr),
  via: fc.oneof(v4, v6),
})
/** Without an address: routes and name servers come from the DHCP server. */
const bareNic = fc.record({ network: label, addressing: fc.constantFrom<Addressing>('dhcp', 'none') })
const manyNic = fc.record({ network: label, ipAddresses: fc.uniqueArray(cidr, { minLength: 1, maxLength: 3 }) })
const staticNic = fc
  .record({
    network: label,
    ipAddress: cidr,
    routes: optional(fc.array(route, { maxLength: 3 })),
    mtu: optional(fc.integer({ min: 576, max: 9216 })),
    nameservers: optional(fc.array(fc.oneof(v4, v6), { maxLength: 2 })),
    /** A random next hop is hardly ever on the network. The neighbor address mostly is. */
    defaultRoute: fc.boolean(),
  })
  .map(({ defaultRoute, ...rest }) => (defaultRoute ? { ...rest, routes: [routeOverNeighbour(rest.ipAddress)] } : rest))

const nic: fc.Arbitrary<Omit<GuestInterface, 'macAddress'>> = fc.oneof(
  { arbitrary: staticNic, weight: 3 },
  { arbitrary: bareNic, weight: 1 },
  { arbitrary: manyNic, weight: 1 },
)

function routeOverNeighbour(ipAddress: string): { to: string; via: string } {
  const [host = ''] = ipAddress.split('/')
  const isV6 = host.includes(':')
  const last = host.slice(host.lastIndexOf(isV6 ? ':' : '.') + 1)
  const next = isV6 ? (Number.parseInt(last, 16) ^ 1).toString(16) : String(Number(last) ^ 1)
  return { to: isV6 ? '::/0' : '0.0.0.0/0', via: host.slice(0, -last.length) + next }
}

/** Props that any valid spec of a machine can lead to, of any size. */
export const cloudInitProps: fc.Arbitrary<CloudInitProps> = fc
  .record({
    hostname: label,
    users: fc.uniqueArray(user, { selector: ({ name }) => name, maxLength: 4 }),
    nics: fc.uniqueArray(nic, { selector: ({ network }) => network, maxLength: 4 }),
  })
  .map(({ hostname, users, nics }) => ({ hostname, users, interfaces: withMacAddresses('scope', hostname, nics) }))

/** Text that no rule has checked, as in a Secret. */
export const anyText: fc.Arbitrary<string> = textOf([...HOSTILE, ...CONTROL], 256)
