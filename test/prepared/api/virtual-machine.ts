import { DISKS } from './machine-disks.ts'
import { LEAST, spec, times } from './machine-spec.ts'
import { accepted, field, manifest, refused, type SpecFixture } from './spec.ts'
import { INTERFACES } from './virtual-machine-interfaces.ts'
import { SECRETS, USERS } from './virtual-machine-users.ts'

/** As the proposal of the VirtualMachine shows it, in full. */
export const PROPOSED_VIRTUAL_MACHINE = manifest('VirtualMachine', 'demo-workspace-1', {
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
})

const { resources: RESOURCES } = LEAST
const TYPE = { instancetype: { name: 'u1.small' } }
/** Without resources, where the word makes them superfluous. */
const sized = (fields: object, word: string) =>
  spec(word === 'instancetype' ? { resources: undefined, ...fields } : fields)
const windows = (fields: object) => spec({ os: 'windows', ...fields })
const resources = (fields: object) => spec({ resources: { ...RESOURCES, ...fields } })

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
  refused('nothing', {}, 'spec.vmDiskImageRef'),
  refused('no cpu', spec({ resources: { memory: '2Gi' } }), 'spec.resources'),
  refused('cpu without a value', resources({ cpu: null }), 'spec.resources'),
  refused('no memory', spec({ resources: { cpu: 2 } }), 'spec.resources'),
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
  ...field('spec.firmware', (firmware) => spec({ firmware }), {
    yes: ['bios', 'uefi', 'uefi-secure'],
    no: ['UEFI', 'efi', ''],
  }),
  ...['instancetype', 'preference'].flatMap((word) => [
    ...field(`spec.${word}.name`, (name) => sized({ [word]: { name } }, word), {
      yes: ['u1.small', 'a', 'x'.repeat(253)],
      no: ['', 'x'.repeat(254), undefined, 7],
    }),
    ...field(`spec.${word}.kind`, (kind) => sized({ [word]: { name: 'a', kind } }, word), {
      yes: [
        `VirtualMachine${word === 'preference' ? 'Preference' : 'Instancetype'}`,
        `VirtualMachineCluster${word === 'preference' ? 'Preference' : 'Instancetype'}`,
      ],
      no: ['', 'virtualmachineinstancetype', `VirtualMachine${word === 'preference' ? 'Instancetype' : 'Preference'}`],
    }),
  ]),
  accepted(
    'an instance type, and a size of the disk',
    sized({ ...TYPE, resources: { diskSize: '24Gi' } }, 'instancetype'),
  ),
  ...[{ cpu: 2 }, { memory: '2Gi' }, RESOURCES].map((both) =>
    refused(`an instance type, and ${Object.keys(both)}`, spec({ ...TYPE, resources: both }), 'spec.resources'),
  ),
  refused('a preference, which is no size', sized({ preference: { name: 'a' } }, 'instancetype'), 'spec.resources'),
  ...field('spec.os', (os) => spec({ os }), { yes: ['linux', 'windows'], no: ['Windows', 'other', ''] }),
  ...field('spec.sysprepSecretRef.name', (name) => spec({ os: 'windows', sysprepSecretRef: { name } }), {
    yes: ['a.b'],
    no: ['', 'x'.repeat(254), undefined],
  }),
  refused('an answer file for Linux', spec({ sysprepSecretRef: { name: 'a' } }), 'spec.sysprepSecretRef'),
  refused('cloud-init in Windows', spec({ os: 'windows', readiness: { cloudInit: true } }), 'spec.readiness'),
  refused('sudo in Windows', windows({ users: [{ name: 'a', sudo: 'ALL=(ALL) ALL' }] }), 'spec.users'),
  ...[
    ...['a'.repeat(21), 'a.', 'a ', 'a/b', 'a\\b', 'a"b', 'a@b', 'a*', '\u{1f600}'.repeat(21)].map((name) =>
      refused(`a user of Windows called ${name}`, windows({ users: [{ name }] }), 'spec.users'),
    ),
    ...['Administrator', 'Demo User', '.a', 'é'.repeat(20), '\u{1f600}'.repeat(20)].map((name) =>
      accepted(`a user of Windows called ${name}`, windows({ users: [{ name }] })),
    ),
  ],
  ...[20, 21].map((length) => {
    const users = [{ name: 'a', plain_text_passwd: '\u{1f600}'.repeat(length) }]
    return length > 20
      ? refused('a long password of Windows', windows({ users }), 'spec.users')
      : accepted('a password of Windows', windows({ users }))
  }),
  ...field('spec.userData', (userData) => windows({ userData }), {
    yes: [
      '#cloud-config\n{}',
      '#ps1_sysnative\nhostname',
      'rem cmd\n',
      '#!/bin/sh',
      '<powershell>',
      '<script>',
      'MIME-Version: 1.0',
    ],
    no: [
      '#cloud-config-archive\n[]',
      '#include\n',
      '## template: jinja\n#cloud-config\n',
      '#cloud-boothook',
      'Write-Host',
    ],
  }),
  ...field('spec.userData', (userData) => spec({ os: 'linux', userData }), {
    yes: ['#!/bin/sh'],
    no: ['#ps1\n', 'rem cmd'],
  }),
  ...field('spec.tpm', (tpm) => spec({ tpm }), { yes: [true, false], no: ['true', {}] }),
  ...field('spec.userData', (userData) => spec({ userData }), {
    yes: [
      ...[
        '#cloud-config\n{}',
        '#cloud-config-archive\n[]',
        '#!/bin/sh',
        '#cloud-boothook\n',
        '#include\nhttps://a.example/b',
      ],
      ...[
        '#part-handler\n',
        '## template: jinja\n#cloud-config\n',
        'Content-Type: multipart/mixed; boundary=a',
        'MIME-Version: 1.0',
      ],
      ...[`#!${'😀'.repeat(65_534)}`, '#!\u0000\n\t'],
    ],
    no: [
      '',
      'packages: []',
      ' #!/bin/sh',
      '\n#cloud-config\n',
      '#Cloud-Config\n',
      '\ufeff#!/bin/sh',
      '#!'.padEnd(65_537, 'a'),
      7,
    ],
  }),
  ...field('spec.userDataSecretRef.name', (name) => spec({ userDataSecretRef: { name, key: 'a' } }), {
    yes: ['a.b'],
    no: ['', 'A', 'a/b', undefined],
  }),
  ...field('spec.userDataSecretRef.key', (key) => spec({ userDataSecretRef: { name: 'a', key } }), {
    yes: ['user-data.txt'],
    no: ['', 'a b', undefined],
  }),
  refused(
    'user data twice',
    spec({ userData: '#!/bin/sh', userDataSecretRef: { name: 'a', key: 'b' } }),
    'spec.userDataSecretRef',
  ),
  ...field('spec.nodeSelector', (nodeSelector) => spec({ nodeSelector }), {
    yes: [{}, { disktype: 'ssd', 'kubernetes.io/hostname': 'node-1', 'node-role.kubernetes.io/lab': '' }],
    no: [
      [],
      'ssd',
      { disk: 'a b' },
      { disk: '-a' },
      { '': 'a' },
      { ['k'.repeat(318)]: 'a' },
      Object.fromEntries(times(17, (at) => [`k${at}`, 'a'])),
    ],
  }),
  accepted('a label without a value', spec({ nodeSelector: { disk: null } })),
  ...field('spec.nodeSelector.disk', (disk) => spec({ nodeSelector: { disk } }), {
    yes: ['', 'ssd', 'x'.repeat(63)],
    no: ['x'.repeat(64), true, 1],
  }),
  ...field('spec.tolerations', (tolerations) => spec({ tolerations }), {
    yes: [[], [{ operator: 'Exists' }], [{ key: 'a' }, { key: 'example.com/lab', operator: 'Equal', value: '' }]],
    no: [{}, Array(17).fill({ key: 'a' })],
  }),
  ...field('spec.tolerations[0].key', (key) => spec({ tolerations: [{ key }] }), {
    yes: ['a', 'A_b.c', 'example.com/lab', `${'a'.repeat(253)}/${'b'.repeat(63)}`],
    no: ['', 'a/', '/a', 'a b', 'A.com/a', 'a..b/c', 'x'.repeat(64)],
  }),
  ...field('spec.tolerations[0].operator', (operator) => spec({ tolerations: [{ operator }] }), {
    yes: ['Exists'],
    no: ['Equal', null, 'exists', ''],
  }),
  ...field('spec.tolerations[0].value', (value) => spec({ tolerations: [{ key: 'a', value }] }), {
    yes: ['', 'b'],
    no: ['b c', true],
  }),
  refused(
    'a value that is not compared',
    spec({ tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] }),
    'spec.tolerations[0].value',
  ),
  ...field('spec.tolerations[0].effect', (effect) => spec({ tolerations: [{ key: 'a', effect }] }), {
    yes: ['NoSchedule', 'PreferNoSchedule', 'NoExecute'],
    no: ['', 'noSchedule'],
  }),
  ...field(
    'spec.tolerations[0].tolerationSeconds',
    (tolerationSeconds) => spec({ tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds }] }),
    { yes: [0, 300], no: [-1, 1.5, '300', 2 ** 31] },
  ),
  refused(
    'a time for a taint that evicts nobody',
    spec({ tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] }),
    'spec.tolerations[0].tolerationSeconds',
  ),
  ...field('spec.readiness', (readiness) => spec({ readiness }), {
    yes: [
      { guestAgent: true },
      { cloudInit: true, tcpPort: null },
      { tcpPort: 22, guestAgent: false, timeoutSeconds: 1 },
    ],
    no: [{}, { guestAgent: false }, { guestAgent: true, tcpPort: 22 }, { cloudInit: true, guestAgent: true }, true],
  }),
  refused(
    'a port that nobody reaches',
    spec({ readiness: { tcpPort: 22 }, interfaces: [{ network: 'a', ipAddress: '10.0.0.1/24' }] }),
    'spec.readiness',
    'needs the pod network',
  ),
  accepted('a port on the pod network beside others', {
    ...spec({ readiness: { tcpPort: 22 }, interfaces: [{ network: 'a' }, { network: 'pod' }] }),
  }),
  ...field('spec.readiness.tcpPort', (tcpPort) => spec({ readiness: { tcpPort } }), {
    yes: [1, 65535],
    no: [0, 65536, '22'],
  }),
  ...field(
    'spec.readiness.timeoutSeconds',
    (timeoutSeconds) => spec({ readiness: { guestAgent: true, timeoutSeconds } }),
    {
      yes: [1, 86_400],
      no: [0, 86_401, '1m'],
    },
  ),
  ...field('spec.nodeGroup', (nodeGroup) => spec({ nodeGroup }), {
    yes: ['lab', 'a'.repeat(63)],
    no: ['', 'Lab', 'a.b', 'a'.repeat(64), true],
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
  ...field('spec.powerState', (powerState) => spec({ powerState }), {
    yes: ['Running', 'Halted', undefined, null],
    no: ['Stopped', 'halted', '', true],
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
  ...DISKS,
  ...INTERFACES,
  ...USERS,
  ...SECRETS,
  ...TEMPLATES,
]

/** Names that a VirtualMachine may have, and names that it may not have although the API server accepts them for other kinds. */
export const VIRTUAL_MACHINE_NAMES = {
  accepted: ['demo-workspace-1', 'a', '1', 'a'.repeat(63)],
  refused: ['a.b', 'a'.repeat(64), `${'a'.repeat(60)}.b`],
} as const
