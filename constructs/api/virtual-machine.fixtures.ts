import type { SpecFixture } from './vm-disk-image.fixtures.ts'

/** Where the proposal of the VirtualMachine shows it, in full. */
export const PROPOSED_VIRTUAL_MACHINE = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VirtualMachine',
  metadata: { name: 'demo-workspace-1' },
  spec: {
    baseVm: 'ubuntu_2004_lts_en-us_x64',
    baseVmVersion: '2.1.2',
    ignoreOnDeploy: true,
    name: 'demo-vm',
    version: '2.1.0',
    users: [
      {
        name: 'demo user',
        plain_text_passwd: 'demo-pwd',
        lock_passwd: false,
        sudo: 'ALL=(ALL) NOPASSWD:ALL',
        groups: 'sudo',
      },
    ],
    resources: { cpu: '2', memory: '2Gi', diskSize: '18Gi' },
    interfaces: [
      { network: 'control-net', ipAddress: '10.10.0.161/24' },
      { network: 'bridge-inet', ipAddress: '4.29.163.6/28' },
      { network: 'bridge-edge', ipAddress: '172.27.11.11/28' },
    ],
    vmDiskImageRef: { name: 'demo-vmdi', namespace: 'vmdi-farm' },
    vmDiskImageTemplate: {
      storageClass: 'gp3',
      snapshotClass: 'ebs-snapshot',
      secretRef: 'foo-bar',
      name: 'harrison-vm',
      url: 'https://s3.us-gov-west-1.amazonaws.com/vm-images/images/harrison-vm/1.0.0/vm.qcow2',
      sourceType: 's3',
      diskSize: '24Gi',
    },
  },
} as const

const RESOURCES = { cpu: 2, memory: '2Gi' }
const LEAST = { resources: RESOURCES, vmDiskImageRef: { name: 'image' } }

const accepted = (name: string, spec: unknown): SpecFixture => ({ name, spec, valid: true })
const refused = (name: string, spec: unknown, path: string): SpecFixture => ({ name, spec, valid: false, path })
const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= 60 ? text : `${text.slice(0, 40)}... of ${text.length}`
}

/** Fixtures of one field: values that are accepted, and values that are refused with the path of the field. */
function field(path: string, put: (value: unknown) => unknown, values: { yes: unknown[]; no: unknown[] }) {
  return [
    ...values.yes.map((value) => accepted(`${path} ${shown(value)}`, put(value))),
    ...values.no.map((value) => refused(`${path} ${shown(value)}`, put(value), path)),
  ]
}

const spec = (fields: object) => ({ ...LEAST, ...fields })
const resources = (fields: object) => spec({ resources: { ...RESOURCES, ...fields } })
const user = (fields: object) => spec({ users: [{ name: 'demo', ...fields }] })
const address = (ipAddress: unknown) => spec({ interfaces: [{ network: 'a', ipAddress }] })
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const WHOLE: readonly SpecFixture[] = [
  accepted('the manifest of the proposal', PROPOSED_VIRTUAL_MACHINE.spec),
  accepted('the least that is needed', LEAST),
  accepted('a field that nobody knows, at any depth', { ...resources({ gpu: 1 }), unknown: true }),
  accepted('fields without a value, at any depth', {
    ...LEAST,
    users: [{ name: 'demo', sudo: null, passwordSecretRef: null }],
    interfaces: null,
    vmDiskImageRef: { name: 'image', namespace: null },
    vmDiskImageTemplate: null,
    vmDiskImageMode: null,
  }),
  accepted('empty lists', spec({ users: [], interfaces: [] })),
  refused('nothing', {}, 'spec.resources'),
  refused('no cpu', spec({ resources: { memory: '2Gi' } }), 'spec.resources.cpu'),
  refused('cpu without a value', resources({ cpu: null }), 'spec.resources.cpu'),
  refused('no memory', spec({ resources: { cpu: 2 } }), 'spec.resources.memory'),
  refused('resources without a value', spec({ resources: null }), 'spec.resources'),
  refused('no image', { resources: RESOURCES }, 'spec.vmDiskImageRef'),
  refused('an image without a name', spec({ vmDiskImageRef: { namespace: 'farm' } }), 'spec.vmDiskImageRef.name'),
  refused('a user without a value', spec({ users: [null] }), 'spec.users[0]'),
  refused('users that are no list', spec({ users: { name: 'demo' } }), 'spec.users'),
]

const LABELS = field('spec.baseVm', (baseVm) => spec({ baseVm }), {
  yes: ['ubuntu_2004_lts_en-us_x64', 'a', '2.1.2', 'x'.repeat(63)],
  no: ['', '-a', 'a-', 'a b', 'a/b', 'ä', 'x'.repeat(64), 2.1, 2],
})

const NAMES: readonly SpecFixture[] = [
  ...['baseVmVersion', 'version'].flatMap((name) =>
    field(`spec.${name}`, (value) => spec({ [name]: value }), { yes: ['2.1.0'], no: ['', '2.1 0', 2.1] }),
  ),
  ...field('spec.name', (name) => spec({ name }), {
    yes: ['demo-vm', '0', 'a'.repeat(63)],
    no: ['', 'Demo_VM', 'a.b', '-a', 'a-', 'a'.repeat(64), 'a b', 7],
  }),
  ...field('spec.vmDiskImageRef.name', (name) => spec({ vmDiskImageRef: { name } }), {
    yes: ['demo-vmdi', 'a.b', 'a'.repeat(253)],
    no: ['', 'A', 'farm/image', 'a..b', 'a'.repeat(254)],
  }),
  ...field('spec.vmDiskImageRef.namespace', (namespace) => spec({ vmDiskImageRef: { name: 'a', namespace } }), {
    yes: ['vmdi-farm', 'a'.repeat(63)],
    no: ['', 'a.b', 'A', 'a'.repeat(64)],
  }),
  ...field('spec.ignoreOnDeploy', (ignoreOnDeploy) => spec({ ignoreOnDeploy }), {
    yes: [true, false],
    no: ['true', 1],
  }),
  ...field('spec.vmDiskImageMode', (vmDiskImageMode) => spec({ vmDiskImageMode }), {
    yes: ['CreateIfNotExist', 'FailIfNotExist'],
    no: ['', 'createIfNotExist', 'Create'],
  }),
]

const SIZES: readonly SpecFixture[] = [
  ...field('spec.resources.cpu', (cpu) => resources({ cpu }), {
    yes: ['2', 2, 1, 512, '512', '500m', '1.5', '0.001', '1m', '512000m', '002', '1.0'],
    no: [
      '',
      '0',
      0,
      -1,
      '-1',
      513,
      '513',
      '512.001',
      '512001m',
      '0m',
      '0.000',
      1.5,
      '1.5m',
      '.5',
      '1.',
      '2k',
      '2Ki',
      '1e2',
    ],
  }),
  ...field('spec.resources.cpu', (cpu) => resources({ cpu }), {
    yes: [],
    no: ['two', ' 2', '+2', '1,5', '0.0001', true],
  }),
  ...field('spec.resources.memory', (memory) => resources({ memory }), {
    yes: ['2Gi', '64Mi', '16Ti', 67108864, '67108864', '1.5Gi', '2G', '67108863.5', 17592186044416, '.5Gi', '+1Gi'],
    no: ['', '0', 0, '-1Gi', 1, 2, '1', '1Ki', '1500m', '63.9Mi', 67108863, '67108863', '17Ti', 17592186044417],
  }),
  ...field('spec.resources.memory', (memory) => resources({ memory }), {
    yes: [],
    no: ['2gb', '2 Gi', 'Gi', '1e99999999', '1e30', 1.5, [], true],
  }),
  ...field('spec.resources.diskSize', (diskSize) => resources({ diskSize }), {
    yes: ['18Gi', '1Mi', '1Pi', 1048576],
    no: ['1Ki', '2Pi', '', 'big', 0],
  }),
]

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

const network = (name: string) => ({ network: name, ipAddress: '10.0.0.1/24' })
const INTERFACES: readonly SpecFixture[] = [
  ...field('spec.interfaces[0].network', (name) => spec({ interfaces: [{ ...network('a'), network: name }] }), {
    yes: ['control-net', '1', 'a'.repeat(63)],
    no: ['', 'Control_Net', 'other-ns/net', 'a.b', '-net', 'a b', 'a'.repeat(64), 7],
  }),
  accepted('32 interfaces', spec({ interfaces: times(32, (at) => network(`net-${at}`)) })),
  refused('33 interfaces', spec({ interfaces: times(33, (at) => network(`net-${at}`)) }), 'spec.interfaces'),
  refused('a network twice', spec({ interfaces: [network('a'), network('b'), network('a')] }), 'spec.interfaces'),
  refused('no address', spec({ interfaces: [{ network: 'a' }] }), 'spec.interfaces[0].ipAddress'),
]

const CONTROL = [
  'a\nb',
  'a\tb',
  'a\u0000b',
  'a\rb',
  '\u007f',
  'a\u0085b',
  'a\u009b',
  'a\u2028b',
  'a\u2029',
  '\ufeffa',
  'a\ufffe',
  'a\uffff',
]
const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0DPMRD6OIh65tjkxFNOtwGcWB2gCgPhk'

const USERS: readonly SpecFixture[] = [
  ...field('spec.users[0].name', (name) => user({ name }), {
    yes: [
      'demo user',
      'demo',
      'Ärger 世 😀',
      'a,b',
      '"',
      "'",
      '\\',
      '{{x}}',
      '$(id)',
      ' ',
      '-rf',
      '😀'.repeat(64),
      'x'.repeat(64),
    ],
    no: ['', 'a:b', ':', '😀'.repeat(65), 'x'.repeat(65), 7, ...CONTROL],
  }),
  ...field('spec.users[0].plain_text_passwd', (plain_text_passwd) => user({ plain_text_passwd }), {
    yes: ['demo-pwd', 'a:b', ' ', '"\'\\', 'pässwörd', '#', '12345', 'true', '😀'.repeat(256)],
    no: ['', '😀'.repeat(257), 'x'.repeat(257), 12345, true, ...CONTROL],
  }),
  ...field('spec.users[0].sudo', (sudo) => user({ sudo }), {
    yes: ['ALL=(ALL) NOPASSWD:ALL', 'ALL=(ALL:ALL) ALL'],
    no: ['', 'x'.repeat(513), false, ['ALL=(ALL) ALL'], 'ALL=(ALL) ALL\nroot ALL=(ALL) ALL', ...CONTROL],
  }),
  ...field('spec.users[0].groups', (groups) => user({ groups }), {
    yes: ['sudo', 'sudo,docker', 'sudo, docker', '_a-b_c,users0', 'x'.repeat(32)],
    no: [
      '',
      ',',
      'sudo,',
      ',sudo',
      'sudo docker',
      'sudo;docker',
      'a:b',
      '1000',
      'Users',
      'a.b',
      'x'.repeat(33),
      'ä',
      ['sudo'],
      ...CONTROL,
    ],
  }),
  ...field('spec.users[0].lock_passwd', (lock_passwd) => user({ lock_passwd }), {
    yes: [true, false],
    no: ['false', 0],
  }),
  ...field('spec.users[0].ssh_authorized_keys[0]', (key) => user({ ssh_authorized_keys: [key] }), {
    yes: [
      `ssh-ed25519 ${KEY}`,
      `ssh-ed25519 ${KEY} demo@laptop: "work", 2026`,
      `ssh-rsa ${KEY}==`,
      `ecdsa-sha2-nistp256 ${KEY}= x`,
      `sk-ssh-ed25519@openssh.com ${KEY}`,
      `from="10.0.0.0/8",command="echo hi there" ssh-ed25519 ${KEY}`,
    ],
    no: [
      '',
      'key',
      KEY,
      `# ssh-ed25519 ${KEY}`,
      ` ssh-ed25519 ${KEY}`,
      'ssh-ed25519 something',
      '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA',
      `ssh-ed25519 ${KEY}\nssh-ed25519 ${KEY}`,
      `ssh-ed25519 ${KEY}\n`,
      `ssh-ed25519 ${KEY} jörg`,
      `ssh-rsa AAAA${'a'.repeat(4096)}`,
      7,
    ],
  }),
  accepted('16 users with 16 keys each', {
    ...LEAST,
    users: times(16, (at) => ({ name: `u${at}`, ssh_authorized_keys: times(16, () => `ssh-ed25519 ${KEY}`) })),
  }),
  refused(
    '17 keys',
    user({ ssh_authorized_keys: times(17, () => `ssh-rsa ${KEY}`) }),
    'spec.users[0].ssh_authorized_keys',
  ),
  refused('17 users', spec({ users: times(17, (at) => ({ name: `u${at}` })) }), 'spec.users'),
  refused('a user twice', spec({ users: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] }), 'spec.users'),
  accepted('users that differ in case', spec({ users: [{ name: 'a' }, { name: 'A' }] })),
]

const ref = (fields: object) => user({ passwordSecretRef: { name: 'passwords', key: 'demo', ...fields } })
const SECRETS: readonly SpecFixture[] = [
  ...field('spec.users[0].passwordSecretRef.name', (name) => ref({ name }), {
    yes: ['a.b'],
    no: ['', 'A', 'ns/name', null],
  }),
  ...field('spec.users[0].passwordSecretRef.key', (key) => ref({ key }), {
    yes: ['a', '.A_b-c', 'x'.repeat(253)],
    no: ['', 'a/b', 'a b', 'ä', 'x'.repeat(254), null],
  }),
  refused(
    'two passwords',
    user({ plain_text_passwd: 'x', passwordSecretRef: { name: 'a', key: 'b' } }),
    'spec.users[0].passwordSecretRef',
  ),
]

const TEMPLATES: readonly SpecFixture[] = [
  accepted('an empty disk as template', spec({ vmDiskImageTemplate: { sourceType: 'blank', diskSize: 1048576 } })),
  refused('a template without url', spec({ vmDiskImageTemplate: {} }), 'spec.vmDiskImageTemplate.url'),
  refused(
    'a template from a metadata server',
    spec({ vmDiskImageTemplate: { url: 'http://169.254.169.254/a' } }),
    'spec.vmDiskImageTemplate.url',
  ),
  refused(
    'a template with a bad size',
    spec({ vmDiskImageTemplate: { sourceType: 'blank', diskSize: '1Ki' } }),
    'spec.vmDiskImageTemplate.diskSize',
  ),
  refused('a template that is a text', spec({ vmDiskImageTemplate: 'x' }), 'spec.vmDiskImageTemplate'),
]

export const VIRTUAL_MACHINE_FIXTURES: readonly SpecFixture[] = [
  ...WHOLE,
  ...LABELS,
  ...NAMES,
  ...SIZES,
  ...IPV4,
  ...IPV6,
  ...INTERFACES,
  ...USERS,
  ...SECRETS,
  ...TEMPLATES,
]

/** Names that a VirtualMachine may have, and names that it may not, although the API server takes them for other kinds. */
export const VIRTUAL_MACHINE_NAMES = {
  accepted: ['demo-workspace-1', 'a', '1', 'a'.repeat(63)],
  refused: ['a.b', 'a'.repeat(64), `${'a'.repeat(60)}.b`],
} as const
