import {
  USER_DATA_BEGINNINGS,
  VM_DISK_IMAGE_MODES,
  WINDOWS_USER_DATA_BEGINNINGS,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { at, type Change, changedSpecs, type Path } from './changes.ts'
import {
  anyObject,
  diskSize,
  noObject,
  objectName,
  oddName,
  oddQuantity,
  oddText,
  slipOf,
  textAround,
} from './odd-values.ts'
import { oddNodeSelector, oddReadiness, oddTolerations, placement, readiness } from './placement-manifests.ts'
import { manifestsOf, nearValidImageSpec, rawNumber, validImageSpec } from './spec-manifests.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

export const label = fc.oneof(
  objectName.map((name) => name.replaceAll('.', '-').slice(0, 63).replace(/-+$/, '')),
  fc.constantFrom('a', 'control-net', '0', 'a'.repeat(63)),
)
export const labelValue = fc.oneof(label, fc.constantFrom('ubuntu_2004_lts_en-us_x64', '2.1.0', 'A', 'x'.repeat(63)))

export const cpu = fc.oneof(
  fc.integer({ min: 1, max: 512 }),
  fc.integer({ min: 1, max: 512 }).map(String),
  fc.integer({ min: 1, max: 512_000 }).map((millis) => `${millis}m`),
  fc.tuple(fc.nat(511), fc.integer({ min: 1, max: 999 })).map(([whole, part]) => `${whole}.${part}`),
)
export const memory = fc.oneof(
  fc.integer({ min: 64, max: 2 ** 24 }).map((size) => `${size}Mi`),
  fc.integer({ min: 2 ** 26, max: 2 ** 44 }),
  fc.constantFrom('64Mi', '16Ti', '67108864', '67108863.1', '1.5Gi', '2G', '.5Gi', '1e9', '67108863000001u'),
)

const ipv4 = fc
  .tuple(fc.integer({ min: 1, max: 223 }), fc.nat(255), fc.nat(255), fc.nat(255), fc.integer({ min: 8, max: 32 }))
  .filter(([first, second]) => first !== 127 && !(first === 169 && second === 254))
  .map(([a, b, c, d, prefix]) => `${a}.${b}.${c}.${d}/${prefix}`)
const group = fc.integer({ min: 0, max: 0xffff }).map((one) => one.toString(16))
/** Eight groups, or fewer around the `::`. */
const ipv6 = fc
  .tuple(fc.array(group, { maxLength: 6 }), fc.array(group, { maxLength: 6 }), fc.integer({ min: 16, max: 128 }))
  .map(([left, right, prefix]) => {
    const groups = ['fd00', ...left].slice(0, 7)
    const rest = right.slice(0, 7 - groups.length)
    return `${groups.join(':')}::${rest.join(':')}/${prefix}`
  })
const ipAddress = fc.oneof(ipv4, ipv6)
export const oddAddress = fc.oneof(
  slipOf(ipAddress),
  fc.tuple(fc.constantFrom('0', '127', '169.254', '224', '239', '240', '255'), fc.nat(32)).map(([net, prefix]) => {
    return `${[...net.split('.'), '1', '2', '3'].slice(0, 4).join('.')}/${prefix}`
  }),
  fc.tuple(fc.array(group, { maxLength: 9 }), fc.nat(130)).map(([groups, prefix]) => `${groups.join(':')}/${prefix}`),
  fc
    .tuple(fc.constantFrom('::', '::1', 'fe80::1', 'FEBF::', 'ff02::1', '0:0::1', '::ffff:1.2.3.4'), fc.nat(130))
    .map((parts) => parts.join('/')),
  fc.constantFrom(
    '10.0.0.1',
    '10.0.0.1/',
    '/24',
    '10.0.0.01/24',
    '10.1/16',
    '0x0a.0.0.1/8',
    '1.2.3.4/٢٤',
    'fd00::1%1/64',
  ),
)

const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0DPMRD6OIh65tjkxFNOtwGcWB2gCgPhk'
const sshKey = fc.constantFrom(
  `ssh-ed25519 ${KEY}`,
  `no-pty ssh-rsa ${KEY}== a "comment"`,
  `sk-ecdsa-sha2@x.org  ${KEY}=`,
)
const userName = fc.oneof(label, fc.constantFrom('demo user', 'Ä 世 😀', ' ', '"\\', '😀'.repeat(64)))
const password = fc.constantFrom('demo-pwd', 'a:b', '"\'\\', 'pässwörd', '😀'.repeat(256))
const secret = fc.record({ name: objectName, key: fc.constantFrom('password', '.A_b-c') })

export const user = fc
  .tuple(
    fc.record({
      name: userName,
      lock_passwd: maybe(fc.boolean()),
      sudo: maybe(fc.constantFrom('ALL=(ALL) NOPASSWD:ALL', 'x'.repeat(512))),
      groups: maybe(fc.constantFrom('sudo', 'sudo, docker', '_a-b_c,users0')),
      ssh_authorized_keys: maybe(fc.array(sshKey, { maxLength: 3 })),
    }),
    fc.oneof(
      fc.record({ plain_text_passwd: maybe(password) }),
      secret.map((passwordSecretRef) => ({ passwordSecretRef })),
    ),
  )
  .map(([one, other]) => ({ ...one, ...other }))

/** Every beginning that there is, and one of the two places. */
export const userData = fc.oneof(
  fc.constantFrom(...USER_DATA_BEGINNINGS, '#!/bin/sh\nexit 0\n', '#cloud-config\nusers: []\n'),
  fc.tuple(fc.constantFrom(...USER_DATA_BEGINNINGS), fc.string()).map(([beginning, rest]) => beginning + rest),
)
export const ownUserData = fc.oneof(
  fc.record({ userData: maybe(userData) }),
  secret.map((userDataSecretRef) => ({ userDataSecretRef })),
)
export const oddUserData = fc.oneof(
  slipOf(userData.map((one) => one.slice(0, 20))),
  fc.constantFrom(
    '',
    'packages: []',
    ' #!/bin/sh',
    '\n#cloud-config',
    '#Cloud-Config',
    '# !',
    '\ufeff#!',
    'content-type: a',
  ),
  textAround(65_536, ['a', '😀']).map((text) => `#!${text.slice(2)}`),
)

const macAddress = fc.constantFrom('52:54:00:12:34:56', '00:00:00:00:00:00', '0e:ff:ff:ff:ff:ff')
const oddMacAddress = fc.oneof(
  slipOf(macAddress),
  fc.constantFrom('01:00:00:00:00:00', '52:54:00:AB:CD:EF', '52-54-00-12-34-56', '52:54:00:12:34', '52:54:00:12:34:5g'),
)
const model = fc.constantFrom('virtio', 'e1000', 'e1000e', 'ne2k_pci', 'pcnet', 'rtl8139')

/** What an interface may say beside its address. */
export const cardWords = fc.record({ model: maybe(model) })
/** How a guest without an address gets one. */
export const addressing = fc.constantFrom('dhcp', 'none')

const networkInterface = fc
  .tuple(
    fc.record({ network: label, attach: maybe(fc.constantFrom('vlans/v-100', 'a/b.c')) }),
    cardWords,
    fc.oneof(
      fc.record({
        ipAddress,
        addressing: maybe(fc.constant('static')),
        routes: maybe(fc.constant([{ to: '172.26.0.0/15', via: '10.0.0.1' }])),
        nameservers: maybe(fc.constant(['8.8.8.8', 'fd00::53'])),
        mtu: maybe(fc.integer({ min: 576, max: 9216 })),
      }),
      fc.record({ ipAddresses: fc.array(ipAddress, { minLength: 1, maxLength: 4 }) }),
      fc.record({ addressing: maybe(addressing) }),
    ),
  )
  .map((parts) => Object.assign({}, ...parts) as { readonly network: string })

/** Words of an interface in any combination. */
export const nearInterface = fc.record(
  {
    network: fc.constantFrom('a', 'pod'),
    ipAddress: fc.constant('10.10.0.2/24'),
    ipAddresses: fc.constantFrom(
      [],
      ['10.10.0.3/24'],
      ['10.10.0.3/24', 'fd00::3/64'],
      ['10.10.0.3/24', '10.10.0.1'],
      ['10.10.0.3/24', 'FD00::1/64', '127.0.0.1/8', '10.10.0.255/24'],
    ),
    addressing: fc.constantFrom('static', 'dhcp', 'none', 'DHCP'),
    macAddress: fc.oneof(macAddress, oddMacAddress),
    model: fc.oneof(model, fc.constantFrom('ne2000', '')),
  },
  { requiredKeys: ['network'] },
)

const DISK_NAMES = ['data', 'd-2', '0', 'a'.repeat(20)]
const bus = maybe(fc.constantFrom('virtio', 'sata', 'scsi', 'usb'))
const ofImage = fc.record({ vmDiskImageRef: fc.record({ name: objectName, namespace: maybe(label) }) })
/** What a disk is, without its name. @param volume that it may be */
const diskSource = (volume: string | undefined): fc.Arbitrary<object | readonly object[]> =>
  fc.oneof<fc.Arbitrary<object | readonly object[]>[]>(
    fc.record({ size: diskSize, bus }),
    volume === undefined ? fc.record({ size: diskSize }) : fc.record({ volume: fc.constant(volume), bus }),
    fc.tuple(ofImage, fc.record({ size: maybe(diskSize), readOnly: maybe(fc.constant(false)), bus })),
    fc.tuple(ofImage, fc.record({ readOnly: fc.constant(true), bus: maybe(fc.constantFrom('sata', 'scsi', 'usb')) })),
  )
/** @param volumes that the disks may be, each once */
const disksOf = (volumes: readonly string[]) =>
  fc
    .tuple(fc.nat(DISK_NAMES.length), fc.tuple(...DISK_NAMES.map((_name, index) => diskSource(volumes[index]))))
    .map(([count, sources]) =>
      sources.slice(0, count).map((source, index) => {
        const fields: object = Object.assign({}, ...[source].flat())
        const present = Object.entries(fields).filter(([, value]) => value !== undefined)
        return { name: DISK_NAMES[index] as string, ...Object.fromEntries(present) }
      }),
    )

/** Overrides are kept as they are, whatever is in them: the operator judges them later. */
export const overrides: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom(
    { template: { spec: { domain: { cpu: { model: 'host-model' }, devices: { disks: [{ name: 'rootdisk' }] } } } } },
    { template: { spec: { volumes: [null], hostname: null } } },
  ),
  anyObject,
)

const specWithoutUserData = fc.record({
  baseVm: maybe(labelValue),
  baseVmVersion: maybe(labelValue),
  version: maybe(labelValue),
  name: maybe(label),
  ignoreOnDeploy: maybe(fc.boolean()),
  runStrategy: maybe(fc.constantFrom('Always', 'Halted', 'Manual')),
  powerState: maybe(fc.constantFrom('Running', 'Halted')),
  firmware: maybe(fc.constantFrom('bios', 'uefi', 'uefi-secure')),
  tpm: maybe(fc.boolean()),
  os: maybe(fc.constant('linux')),
  ...placement,
  readiness,
  users: maybe(fc.uniqueArray(user, { maxLength: 3, selector: ({ name }) => name })),
  resources: fc.record({ cpu, memory, diskSize: maybe(diskSize) }),
  disks: maybe(disksOf(['v', 'a.b', 'a'.repeat(253)])),
  overrides: maybe(overrides),
  interfaces: maybe(fc.uniqueArray(networkInterface, { maxLength: 4, selector: ({ network }) => network })),
  hostAliases: maybe(
    fc.array(
      fc.record({
        ip: fc.constantFrom('10.0.0.1', 'fd00::1', '127.0.0.1'),
        hostnames: fc.array(objectName, { minLength: 1, maxLength: 4 }),
      }),
      { maxLength: 3 },
    ),
  ),
  vmDiskImageRef: fc.record({ name: objectName, namespace: maybe(label) }),
  vmDiskImageTemplate: maybe(validImageSpec),
  vmDiskImageMode: maybe(fc.constantFrom(...VM_DISK_IMAGE_MODES)),
})
const kindOf = (what: string) => maybe(fc.constantFrom(`VirtualMachine${what}`, `VirtualMachineCluster${what}`))
const instancetype = fc.record({ name: objectName, kind: kindOf('Instancetype') })
const preference = fc.record({ name: objectName, kind: kindOf('Preference') })
/** What sizes a machine: resources, or an instance type. @param disk what resources may have beside an instance type */
const sizedBy = (disk: fc.Arbitrary<object | undefined>) =>
  fc.oneof(
    { arbitrary: fc.record({ preference: maybe(preference) }), weight: 3 },
    fc.record({ instancetype, preference: maybe(preference), resources: disk }),
  )
/** Words that size a machine, in any combination. */
export const oddSize: fc.Arbitrary<object> = fc.record({
  instancetype: fc.constantFrom(
    undefined,
    { name: 'a' },
    { name: 'a', kind: 'VirtualMachinePreference' },
    { name: '' },
  ),
  preference: fc.constantFrom(undefined, { name: 'a' }, { kind: 'VirtualMachinePreference' }),
  resources: fc.constantFrom<unknown>(undefined, {}, { cpu: 1 }, { memory: '1Gi' }, { cpu: 1, memory: '1Gi' }),
})

const linuxSpec = fc.tuple(specWithoutUserData, ownUserData).map(([spec, own]) => ({ ...spec, ...own }))

const windowsUser = fc.record({
  name: fc.constantFrom('Administrator', 'Demo User', 'ä'.repeat(20), '.a'),
  plain_text_passwd: maybe(fc.constantFrom('P@ss-w0rd-1', '😀'.repeat(20))),
  groups: maybe(fc.constant('administrators')),
})
/** What only a Windows guest may have, and nothing that it may not. */
const windowsWords = fc
  .tuple(
    fc.record({
      os: fc.constant('windows'),
      sysprepSecretRef: maybe(fc.record({ name: objectName })),
      users: maybe(fc.uniqueArray(windowsUser, { maxLength: 3, selector: ({ name }) => name })),
    }),
    fc.oneof(
      fc.record({ userData: maybe(fc.constantFrom(...WINDOWS_USER_DATA_BEGINNINGS)) }),
      secret.map((userDataSecretRef) => ({ userDataSecretRef })),
    ),
  )
  .map(([words, data]) => ({ ...words, ...data }))
const windowsSpec = fc
  .tuple(specWithoutUserData, windowsWords)
  .map(([{ readiness: _linux, ...spec }, words]) => ({ ...spec, ...words }))
const validSpec = fc
  .tuple(
    fc.oneof({ arbitrary: linuxSpec, weight: 3 }, { arbitrary: windowsSpec, weight: 1 }),
    sizedBy(fc.oneof(fc.record({ diskSize: maybe(diskSize) }), fc.constant(undefined))),
  )
  .map(([spec, size]) => ({ ...spec, ...size }))

/** Words of a Windows guest, of which at most one is wrong, with or without the word that it is one. */
export const oddWindowsWords: fc.Arbitrary<object> = fc
  .tuple(
    fc.constantFrom('windows', 'linux', 'Windows', undefined),
    fc.oneof(
      fc
        .constantFrom('a'.repeat(20), 'a'.repeat(21), 'a.', 'a/b', 'a\\b', '😀'.repeat(20), '😀'.repeat(21))
        .map((name) => ({ users: [{ name }] })),
      fc.constantFrom(20, 21).map((length) => ({ users: [{ name: 'a', plain_text_passwd: '😀'.repeat(length) }] })),
      fc.constant({ users: [{ name: 'a', sudo: 'ALL' }] }),
      fc.constantFrom('a', '').map((name) => ({ sysprepSecretRef: { name } })),
      fc.constantFrom({ cloudInit: true }, { guestAgent: true }).map((one) => ({ readiness: one })),
      fc
        .constantFrom(...USER_DATA_BEGINNINGS, ...WINDOWS_USER_DATA_BEGINNINGS, '#cloud-config-archive', 'Write-Host')
        .map((data) => ({ userData: data })),
    ),
  )
  .map(([os, words]) => ({ os, ...words }))

/** A line with one character that some parsers read as its end. */
const oddLine = (length: number) =>
  fc.oneof(
    fc
      .constantFrom('\n', '\r', '\t', '\u0000', '\u001f', ' ', '\u007f', '\u0080', '\u009f', '\u00a0', ':')
      .map((odd) => `a${odd}b`),
    fc
      .constantFrom('\u2027', '\u2028', '\u2029', '\u202a', '\ufeff', '\ufefe', '\ufffe', '\uffff', '\ufffd')
      .map((odd) => `${odd}x`),
    oddText,
    { arbitrary: textAround(length, ['a', 'ä', '😀']), weight: 2 },
  )

export const oddLabelValue = fc.oneof(slipOf(labelValue), textAround(63, ['a', 'ä', '.']), oddName)
export const oddCpu = fc.oneof(
  slipOf(cpu.map(String)),
  oddQuantity,
  rawNumber,
  fc.constantFrom('0', '0m', '513', '512001m', '0.000', 513, 0),
)
export const oddMemory = fc.oneof(
  oddQuantity,
  rawNumber,
  fc.constantFrom('63Mi', '67108863', 67108863, '16.1Ti', 17592186044417, '1Ki'),
)
const twice = <T>(item: fc.Arbitrary<T>) => item.map((one) => [one, one])
const many = <T>(count: number, make: (index: number) => T) =>
  fc.constant(Array.from({ length: count }, (_, index) => make(index)))
const withTwoPasswords = fc.tuple(user, password, secret).map(([one, plain_text_passwd, passwordSecretRef]) => {
  return { ...one, plain_text_passwd, passwordSecretRef }
})

/** Disks, of which something is wrong in most cases. */
const oddDisks = fc.oneof(
  fc
    .oneof(oddName, slipOf(fc.constantFrom(...DISK_NAMES)), textAround(20, ['a', '-']))
    .map((name) => [{ name, size: '1Gi' }]),
  fc.constantFrom('rootdisk', 'cloudinit', 'sysprep', 'sysprep-2').map((name) => [{ name, size: '1Gi' }]),
  fc.oneof(oddQuantity, rawNumber).map((size) => [{ name: 'a', size }]),
  fc.oneof(oddName, textAround(253, ['a', '.'])).map((volume) => [{ name: 'a', volume }]),
  fc
    .constantFrom({}, { size: '1Gi', volume: 'v' }, { size: '1Gi', bus: 'ide' })
    .map((more) => [{ name: 'a', ...more }]),
  fc
    .record(
      {
        size: fc.constant('1Gi'),
        volume: fc.constant('v'),
        vmDiskImageRef: fc.constantFrom<unknown>({ name: 'i' }, { name: 'i', namespace: 'n' }, {}, 'i', null),
        readOnly: fc.constantFrom<unknown>(true, true, false, 'true'),
        bus: fc.constantFrom('sata', 'virtio'),
      },
      { requiredKeys: [] },
    )
    .map((one) => [{ name: 'a', ...one }]),
  {
    arbitrary: fc
      .constantFrom<object>(
        { size: '1Gi' },
        { vmDiskImageRef: { name: 'i' }, bus: 'virtio' },
        { vmDiskImageRef: { name: 'i' }, size: '1Gi' },
      )
      .map((one) => [{ name: 'a', readOnly: true, ...one }]),
    weight: 2,
  },
  fc.constantFrom('a', 'b').map((name) => [
    { name: 'a', volume: 'v' },
    { name, volume: 'v' },
  ]),
  many(17, (index) => ({ name: `d${index}`, size: '1Gi' })),
)

const LEAST = { resources: { cpu: 1, memory: '1Gi' }, vmDiskImageRef: { name: 'a' } }

/** One odd value, at its place. */
const oddField: fc.Arbitrary<Change> = fc.oneof(
  ...['baseVm', 'baseVmVersion', 'version'].map((name) => at([name], oddLabelValue)),
  at(['name'], fc.oneof(oddName, slipOf(label), textAround(63, ['a', '-']))),
  {
    arbitrary: at(
      [],
      oddWindowsWords.map((words) => ({ ...LEAST, ...words })),
    ),
    weight: 8,
  },
  {
    arbitrary: at(
      [],
      oddSize.map((words) => ({ ...LEAST, ...words })),
    ),
    weight: 2,
  },
  at(['firmware'], fc.constantFrom<unknown>('BIOS', 'uefi', 0, null, '')),
  at(['nodeSelector'], oddNodeSelector),
  at(['readiness'], oddReadiness),
  { arbitrary: at(['tolerations'], oddTolerations), weight: 2 },
  at(['overrides'], noObject),
  at(['ignoreOnDeploy'], fc.constantFrom<unknown>('true', 0, null, '')),
  at(['powerState'], fc.constantFrom<unknown>('Off', true, null, '')),
  at(['runStrategy'], fc.constantFrom<unknown>('Once', true, null, '')),
  { arbitrary: at(['resources', 'cpu'], oddCpu), weight: 3 },
  { arbitrary: at(['resources', 'memory'], oddMemory), weight: 3 },
  at(['resources', 'diskSize'], fc.oneof(oddQuantity, rawNumber)),
  { arbitrary: at(['interfaces', 0, 'ipAddress'], oddAddress), weight: 6 },
  at(['interfaces', 0, 'network'], fc.oneof(oddName, slipOf(label))),
  {
    arbitrary: at(
      ['interfaces'],
      nearInterface.map((one) => [one]),
    ),
    weight: 6,
  },
  {
    arbitrary: at(
      ['interfaces'],
      macAddress.map((one) => ['a', 'b'].map((network) => ({ network, macAddress: one }))),
    ),
    weight: 1,
  },
  ...['routes', 'nameservers'].map((name) => at(['interfaces'], fc.constant([{ network: 'a', [name]: [] }]))),
  at(
    ['interfaces', 0, 'routes'],
    fc.tuple(oddAddress, fc.constantFrom('10.0.0.1', 'fd00::1')).map(([to, via]) => [{ to, via }]),
  ),
  at(
    ['interfaces', 0, 'routes'],
    fc.oneof(oddAddress, oddText).map((via) => [{ to: '0.0.0.0/0', via }]),
  ),
  at(
    ['interfaces', 0, 'nameservers'],
    fc.oneof(oddAddress, oddText).map((one) => [one]),
  ),
  at(['interfaces', 0, 'mtu'], fc.constantFrom(575, 576, 9216, 9217, -1, '1400', 1400.5, null)),
  { arbitrary: at(['disks'], oddDisks), weight: 3 },
  {
    arbitrary: at(
      ['hostAliases'],
      fc
        .oneof(oddAddress, fc.constantFrom('FD00::1', 'fd00:0::1', '10.0.0.01', '10.0.0.1/24', ''))
        .map((ip) => [{ ip, hostnames: ['a'] }]),
    ),
    weight: 3,
  },
  {
    arbitrary: at(
      ['hostAliases'],
      fc
        .oneof(oddName, textAround(253, ['a', '.']), fc.constantFrom('A', 'a_b', '-a', 'a..b', 'a b'))
        .map((name) => [{ ip: '10.0.0.1', hostnames: ['a', name] }]),
    ),
    weight: 3,
  },
  at(
    ['hostAliases'],
    fc.oneof(
      fc.constantFrom<unknown>([], ['a', 'b', 'c', 'd', 'e'], null).map((hostnames) => [{ ip: '10.0.0.1', hostnames }]),
      many(513, (index) => ({ ip: '10.0.0.1', hostnames: [`h${index}`] })),
    ),
  ),
  at(['interfaces'], twice(networkInterface)),
  at(
    ['interfaces'],
    many(33, (index) => ({ network: `n${index}`, ipAddress: '10.0.0.1/24' })),
  ),
  { arbitrary: at(['users', 0, 'name'], oddLine(64)), weight: 2 },
  at(
    ['users', 0, 'name'],
    slipOf(label).map((name) => `${name}:`),
  ),
  { arbitrary: at(['users', 0, 'plain_text_passwd'], oddLine(256)), weight: 2 },
  { arbitrary: at(['users', 0, 'sudo'], oddLine(512)), weight: 2 },
  at(['users', 0, 'groups'], fc.oneof(oddLine(1024), slipOf(fc.constantFrom('sudo', 'a, b')))),
  at(['users', 0, 'lock_passwd'], fc.constantFrom<unknown>('false', 0, null)),
  at(['users', 0, 'ssh_authorized_keys'], fc.array(fc.oneof(slipOf(sshKey), oddLine(4096)), { maxLength: 2 })),
  at(['users', 0, 'passwordSecretRef'], fc.record({ name: oddName, key: fc.oneof(oddName, oddText) })),
  at(
    ['users', 0, 'passwordSecretRef'],
    fc.record({ name: objectName, key: fc.constantFrom('a b', 'a/b', 'pässword', 'a:b') }),
  ),
  at(['users', 0], withTwoPasswords),
  at(['users'], twice(user)),
  at(
    ['users'],
    many(17, (index) => ({ name: `u${index}` })),
  ),
  { arbitrary: at(['userData'], oddUserData), weight: 2 },
  at(['userDataSecretRef'], fc.record({ name: oddName, key: fc.oneof(oddName, oddText) })),
  at(['userDataSecretRef'], secret),
  at(['vmDiskImageRef', 'name'], oddName),
  at(['vmDiskImageRef', 'namespace'], oddName),
  at(['vmDiskImageMode'], fc.constantFrom<unknown>('', 'createIfNotExist', 'Create', null, 1)),
  { arbitrary: at(['vmDiskImageTemplate'], nearValidImageSpec), weight: 3 },
)

const PLACES: readonly Path[] = [
  [],
  ['resources'],
  ['users'],
  ['users', 0],
  ['users', 0, 'passwordSecretRef'],
  ['interfaces'],
  ['interfaces', 0],
  ['userDataSecretRef'],
  ['vmDiskImageRef'],
  ['vmDiskImageTemplate'],
]
const FIELDS: readonly Path[] = [
  ...PLACES.slice(1),
  ...['name', 'version', 'ignoreOnDeploy', 'userData', 'vmDiskImageMode'].map((field) => [field]),
  ...['cpu', 'memory', 'diskSize'].map((field) => ['resources', field]),
  ...['network', 'ipAddress'].map((field) => ['interfaces', 0, field]),
  ...['name', 'plain_text_passwd', 'sudo', 'groups', 'ssh_authorized_keys'].map((field) => ['users', 0, field]),
]

const fullSpec = fc.tuple(linuxSpec, user, networkInterface).map(([spec, one, other]) => ({
  ...spec,
  users: spec.users?.length ? spec.users : [one],
  interfaces: spec.interfaces?.length ? spec.interfaces : [other],
}))

export const machineManifest = manifestsOf('VirtualMachine', {
  valid: validSpec,
  ...changedSpecs({ right: fullSpec, odd: oddField, fields: FIELDS, places: PLACES }),
})
