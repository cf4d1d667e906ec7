import { PROPOSED_WORKSPACE } from './proposed-workspace.ts'
import { accepted, field, refused, type SpecFixture } from './spec.ts'
import { NETWORK_FIXTURES } from './workspace-networks.ts'

const VM = { name: 'a', backingVMDiskImage: 'image', resources: { cpu: 2, memory: '2Gi' } }
const CONTAINER = { name: 'app', image: 'registry.example/app:1' }
const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const vm = (fields: object) => ({ vms: [{ ...VM, ...fields }] })
const withUserData = (...lengths: number[]) => ({
  vms: lengths.map((length, at) => ({ ...VM, name: `vm-${at}`, userData: '#!'.padEnd(length, 'a') })),
})
const role = (fields: object) => vm({ ansible: { roles: { build: [{ role: 'any', ...fields }] } } })
const container = (fields: object, beside: object = {}) => ({
  ...beside,
  containerClusters: [{ name: 'c', containers: [{ ...CONTAINER, ...fields }] }],
})
const limited = (reserved: object, limits: unknown) => container({ resources: { ...reserved, limits } })
const volume = (fields: object) => ({ volumes: [{ name: 'v', size: '1Gi', ...fields }] })
const ports = (...mappings: object[]) =>
  container({ portMappings: mappings.map((mapping, at) => ({ containerPort: at + 1, ...mapping })) })

const WHOLE: readonly SpecFixture[] = [
  accepted('the manifest of the proposal', PROPOSED_WORKSPACE.spec),
  accepted('nothing at all', {}),
  accepted('empty lists', { vms: [], containerClusters: [], volumes: [], networks: [] }),
  accepted('fields without a value', { vms: null, networks: null }),
  accepted('a field that nobody knows', { unknown: true }),
  accepted('100 machines', { vms: times(100, (at) => ({ ...VM, name: `vm-${at}` })) }),
  refused('101 machines', { vms: times(101, (at) => ({ ...VM, name: `vm-${at}` })) }, 'spec.vms'),
  refused(
    '65 networks',
    { networks: times(65, (at) => ({ name: `n${at}`, cidr: `10.${at}.0.0/16` })) },
    'spec.networks',
  ),
  refused('machines that are no list', { vms: VM }, 'spec.vms'),
  refused('two machines of a name', { vms: [VM, VM] }, 'spec.vms[1]'),
  refused(
    'two networks of a name',
    { networks: times(2, () => ({ name: 'a', cidr: '10.0.0.0/24' })) },
    'spec.networks[1]',
  ),
  refused('two volumes of a name', { volumes: times(2, () => ({ name: 'a', size: '1Gi' })) }, 'spec.volumes[1]'),
  refused(
    'a cluster with the name of a machine',
    { ...vm({}), containerClusters: [{ name: 'a', containers: [CONTAINER] }] },
    'spec.containerClusters',
    'container cluster "a" has the name of a machine: both would have the same host name, so call one of them otherwise',
  ),
  ...field('spec.powerState', (powerState) => ({ powerState }), {
    yes: ['Running', 'Halted', undefined, null],
    no: ['Stopped', 'halted', '', true],
  }),
  ...field('spec.internetAccess', (internetAccess) => ({ internetAccess }), {
    yes: ['Disabled', 'Enabled', undefined, null],
    no: ['Allowed', 'enabled', '', true],
  }),
  ...field('spec.lifetime', (lifetime) => ({ lifetime }), {
    yes: ['72h', '1h30m', '0', undefined, null],
    no: ['', '3d', '-1h', 'soon', 72],
  }),
  ...field('spec.expiresAt', (expiresAt) => ({ expiresAt }), {
    yes: ['2026-01-31T18:00:00Z', '2026-01-31T18:00:00.5+01:30', '9999-12-31T23:59:59-23:59', undefined, null],
    no: ['', '2026-01-31', '2026-13-01T00:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T18:00:00', 'tomorrow', 7],
  }),
  ...field('spec.onExpiry', (onExpiry) => ({ onExpiry }), {
    yes: ['Halt', 'Delete', undefined, null],
    no: ['Halted', 'delete', '', true],
  }),
  ...field('spec.updateStrategy.type', (type) => ({ updateStrategy: { type } }), {
    yes: ['OnRequest', 'Recreate', undefined, null],
    no: ['Rolling', 'recreate', '', true],
  }),
  ...field('spec.updateStrategy.maxUnavailable', (maxUnavailable) => ({ updateStrategy: { maxUnavailable } }), {
    yes: [1, 100, undefined, null],
    no: [0, 101, -1, 1.5, '1', true],
  }),
  ...field('spec.vms[0].runStrategy', (runStrategy) => vm({ runStrategy }), {
    yes: ['Always', 'Halted', 'Manual', undefined, null],
    no: ['RerunOnFailure', 'Once', '', true],
  }),
  ...field('spec.owners[0].name', (name) => ({ owners: [{ kind: 'Group', name }] }), {
    yes: ['alice@example.com', 'class 7', 'my-system:a'],
    no: ['', 'system:masters', 'system:serviceaccount:default:default', 'a'.repeat(254), 7],
  }),
  ...field('spec.owners[0].kind', (kind) => ({ owners: [{ kind, name: 'a' }] }), {
    yes: ['User', 'Group'],
    no: ['ServiceAccount', undefined],
  }),
]

const MACHINES: readonly SpecFixture[] = [
  ...field('spec.vms[0].name', (name) => vm({ name }), {
    yes: ['demo-vm', '0', 'a'.repeat(63)],
    no: ['Demo', 'a.b', '', 'a'.repeat(64), 7],
  }),
  ...field('spec.vms[0].backingVMDiskImage', (backingVMDiskImage) => vm({ backingVMDiskImage }), {
    yes: ['demo-vmdi', 'a.b'],
    no: ['farm/image', 'A', undefined],
  }),
  ...['baseVm', 'baseVmVersion', 'version'].flatMap((name) =>
    field(`spec.vms[0].${name}`, (value) => vm({ [name]: value }), { yes: ['2.1.0'], no: ['2 1', 2.1, ''] }),
  ),
  ...field('spec.vms[0].diskSize', (diskSize) => vm({ diskSize }), {
    yes: ['18Gi', 1048576],
    no: ['1Ki', '2Pi', 'big', 0],
  }),
  ...field('spec.vms[0].resources.cpu', (cpu) => vm({ resources: { cpu, memory: '1Gi' } }), {
    yes: ['2', 2, '500m'],
    no: [0, '2k', 513, undefined],
  }),
  ...field('spec.vms[0].resources.memory', (memory) => vm({ resources: { cpu: 1, memory } }), {
    yes: ['2Gi'],
    no: ['1Ki', '2gb', undefined],
  }),
  refused('a machine without resources', { vms: [{ name: 'a', backingVMDiskImage: 'b' }] }, 'spec.vms[0].resources'),
  accepted(
    'a template',
    vm({ vmDiskImageTemplate: { url: 'https://a.example/b', sourceType: 'http', diskSize: '1Gi' } }),
  ),
  refused(
    'a template of a metadata server',
    vm({ vmDiskImageTemplate: { url: 'http://169.254.169.254/a' } }),
    'spec.vms[0].vmDiskImageTemplate.url',
  ),
  accepted(
    'users',
    vm({ users: [{ name: 'demo user', sudo: 'ALL=(ALL) ALL', passwordSecretRef: { name: 'a', key: 'b' } }] }),
  ),
  ...field('spec.vms[0].userData', (userData) => vm({ userData }), {
    yes: ['#!/bin/sh'],
    no: ['', 'packages: []', '#!'.padEnd(65_537, 'a')],
  }),
  ...field('spec.vms[0].userDataSecretRef.key', (key) => vm({ userDataSecretRef: { name: 'a', key } }), {
    yes: ['user-data.txt'],
    no: ['', 'a b', undefined],
  }),
  refused(
    'user data twice',
    vm({ userData: '#!/bin/sh', userDataSecretRef: { name: 'a', key: 'b' } }),
    'spec.vms[0].userDataSecretRef',
  ),
  accepted('as much user data as all machines may have', withUserData(65_536, 65_536, 65_536, 65_536)),
  refused('more user data than all machines may have', withUserData(65_536, 65_536, 65_536, 65_535, 2), 'spec.vms'),
  refused(
    'two passwords of a user',
    vm({ users: [{ name: 'a', plain_text_passwd: 'b', passwordSecretRef: { name: 'a', key: 'b' } }] }),
    'spec.vms[0].users[0].passwordSecretRef',
  ),
]

/** Everything that JSON can represent. Uses `JSON.parse`, because a literal would set the prototype. */
const ANYTHING = JSON.parse(
  '{"__proto__":{"x":1},"constructor":"y","":null,"deep":[[{"a":[null,1.5,-0,"ä"]}]],"big":1e300}',
)

const ANSIBLE: readonly SpecFixture[] = [
  accepted('any variables', role({ variables: ANYTHING })),
  accepted('no variables', role({ variables: {} })),
  ...field('spec.vms[0].ansible.roles.build[0].variables', (variables) => role({ variables }), {
    yes: [null],
    no: [[], 'a', 1, true],
  }),
  ...field('spec.vms[0].ansible.roles.build[0].role', (name) => role({ role: name }), {
    yes: ['linuxRouter', 'lab.net.router', 'a-b_c'],
    no: ['', '../a', 'a b', '-a', 'a/b', 'a'.repeat(65)],
  }),
  accepted('a role twice', vm({ ansible: { roles: { deploy: [{ role: 'a' }, { role: 'a' }] } } })),
]

const CONTAINERS: readonly SpecFixture[] = [
  refused(
    'a cluster without containers',
    { containerClusters: [{ name: 'c', containers: [] }] },
    'spec.containerClusters[0].containers',
  ),
  refused(
    'two containers of a name',
    { containerClusters: [{ name: 'c', containers: [CONTAINER, CONTAINER] }] },
    'spec.containerClusters[0].containers[1]',
  ),
  ...field('spec.containerClusters[0].containers[0].image', (image) => container({ image }), {
    yes: ['a', 'ghcr.io/a/b@sha256:00'],
    no: ['', 'a b', 'a\nb', undefined],
  }),
  ...field(
    'spec.containerClusters[0].containers[0].resources.memory',
    (memory) => container({ resources: { memory } }),
    { yes: ['256Mi', '4Mi'], no: ['1Mi', '20Ti'] },
  ),
  ...field('spec.containerClusters[0].containers[0].resources.cpu', (cpu) => container({ resources: { cpu } }), {
    yes: ['128m', 2],
    no: ['128k'],
  }),
  ...field('spec.containerClusters[0].containers[0].resources.limits', (limits) => limited({}, limits), {
    yes: [{}, { cpu: '500m' }, { memory: 4194304 }],
    no: ['1Gi'],
  }),
  accepted(
    'limits above and at what is reserved',
    limited({ cpu: 1, memory: '1Gi' }, { cpu: '1000m', memory: '1.5Gi' }),
  ),
  refused(
    'fewer CPUs than are reserved',
    limited({ cpu: 1 }, { cpu: '999m' }),
    'spec.containerClusters[0].containers[0].resources.limits',
    'limits.cpu must not be less than cpu, which is reserved',
  ),
  refused(
    'less memory than is reserved',
    limited({ memory: '1G' }, { memory: '900Mi' }),
    'spec.containerClusters[0].containers[0].resources.limits',
    'limits.memory must not be less than memory, which is reserved',
  ),
  ...['add', 'drop'].flatMap((way) =>
    field(
      `spec.containerClusters[0].containers[0].capabilities.${way}[0]`,
      (one) => container({ capabilities: { [way]: [one] } }),
      { yes: ['ALL', 'NET_BIND_SERVICE'], no: ['net_admin', '', 'NET-ADMIN'] },
    ),
  ),
  refused(
    'a capability with CAP_',
    container({ capabilities: { add: ['CAP_CHOWN'] } }),
    'spec.containerClusters[0].containers[0].capabilities.add[0]',
    'must be a capability of Linux in upper case without CAP_, such as NET_BIND_SERVICE, or ALL',
  ),
  ...field('spec.containerClusters[0].containers[0].env[0].name', (name) => container({ env: [{ name }] }), {
    yes: ['DEBUG', 'a.b', '_'],
    no: ['', '1A', 'A B', 'A=B'],
  }),
  ...field(
    'spec.containerClusters[0].containers[0].env[0].value',
    (value) => container({ env: [{ name: 'A', value }] }),
    { yes: ['', 'true', 'a\nb', '😀'.repeat(4096)], no: [true, 1, '😀'.repeat(4097)] },
  ),
  ...Object.entries({
    secretKeyRef: { name: 's', key: 'k' },
    configMapKeyRef: { name: 'c', key: 'a.b_1' },
    fieldRef: { fieldPath: 'status.podIP' },
  }).flatMap(([source, ref]) =>
    field(
      `spec.containerClusters[0].containers[0].env[0].valueFrom.${source}`,
      (one) => container({ env: [{ name: 'A', valueFrom: { [source]: one } }] }),
      { yes: [ref], no: ['a'] },
    ),
  ),
  ...field(
    'spec.containerClusters[0].containers[0].env[0].valueFrom.secretKeyRef.key',
    (key) => container({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key } } }] }),
    { yes: ['k', 'tls.crt'], no: ['', 'a b', 'a/b'] },
  ),
  ...field(
    'spec.containerClusters[0].containers[0].env[0].valueFrom.fieldRef.fieldPath',
    (fieldPath) => container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath } } }] }),
    { yes: ['metadata.name'], no: ["metadata.annotations['a']", ''] },
  ),
  refused(
    'a variable with two sources',
    container({
      env: [
        { name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' }, fieldRef: { fieldPath: 'status.podIP' } } },
      ],
    }),
    'spec.containerClusters[0].containers[0].env[0].valueFrom',
    'valueFrom must have exactly one of secretKeyRef, configMapKeyRef and fieldRef',
  ),
  refused(
    'a variable with a value and a source of one',
    container({ env: [{ name: 'A', value: '', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] }),
    'spec.containerClusters[0].containers[0].env[0].valueFrom',
    'valueFrom must be left out where value is set, and the other way round',
  ),
  ...['command', 'args'].flatMap((list) =>
    field(`spec.containerClusters[0].containers[0].${list}`, (one) => container({ [list]: one }), {
      yes: [[], ['sh', '-c', 'a\nb'], ['']],
      no: ['sh', Array.from({ length: 65 }, () => 'a')],
    }),
  ),
  ...['runAsUser', 'runAsGroup'].flatMap((one) =>
    field(`spec.containerClusters[0].containers[0].${one}`, (id) => container({ [one]: id }), {
      yes: [0, 1000, 2 ** 31 - 1],
      no: [-1, 1.5, '0', 2 ** 31],
    }),
  ),
  ...field(
    'spec.containerClusters[0].hostname',
    (hostname) => ({ containerClusters: [{ name: 'c', hostname, containers: [CONTAINER] }] }),
    { yes: ['web-1', 'a'.repeat(63)], no: ['', 'Web', 'web.lab', 'a_b', 'a'.repeat(64)] },
  ),
  ...field(
    'spec.containerClusters[0].fsGroup',
    (fsGroup) => ({ containerClusters: [{ name: 'c', fsGroup, containers: [CONTAINER] }] }),
    { yes: [0, 1000, 2 ** 31 - 1], no: [-1, 1.5, '0', 2 ** 31] },
  ),
  ...field('spec.containerClusters[0].containers[0].devices', (devices) => container({ devices }), {
    yes: [[], ['tun'], ['kvm', 'tun', 'vhost-net']],
    no: ['tun', ['tun', 'kvm', 'tun', 'kvm']],
  }),
  ...field('spec.containerClusters[0].containers[0].devices[0]', (device) => container({ devices: [device] }), {
    yes: ['kvm'],
    no: ['/dev/net/tun', 'fuse', ''],
  }),
  ...field('spec.containerClusters[0].containers[0].privileged', (privileged) => container({ privileged }), {
    yes: [true, false],
    no: ['true', 1],
  }),
  ...field('spec.containerClusters[0].containers[0].workingDir', (workingDir) => container({ workingDir }), {
    yes: ['/', '/app'],
    no: ['app', ''],
  }),
  ...['startupProbe', 'readinessProbe', 'livenessProbe'].flatMap((one) =>
    field(`spec.containerClusters[0].containers[0].${one}`, (probe) => container({ [one]: probe }), {
      yes: [
        { exec: { command: ['true'] } },
        { httpGet: { port: 80, path: '/healthz?a=b', scheme: 'HTTPS' }, failureThreshold: 1 },
        { tcpSocket: { port: 65535 }, initialDelaySeconds: 0 },
      ],
      no: [{}, { tcpSocket: { port: 1 }, exec: { command: ['true'] } }, 'true'],
    }),
  ),
  ...field('spec.containerClusters[0].containers[0].files[0]', (file) => container({ files: [file] }), {
    yes: [
      { path: '/etc/app.conf', content: '' },
      { path: '/a', content: 'a\n', mode: '0755' },
      { path: '/a', secretKeyRef: { name: 's', key: 'k' }, mode: '400' },
      { path: '/a', secretRef: { name: 'a.b-1' } },
      { path: '/a/', configMapRef: { name: 'kube-root-ca.crt' }, mode: '440' },
    ],
    no: [
      { path: '/a' },
      { path: '/a', content: '', secretKeyRef: { name: 's', key: 'k' } },
      { path: '/a', content: '', configMapRef: { name: 'c' } },
      { path: '/a', secretKeyRef: { name: 's', key: 'k' }, secretRef: { name: 's' } },
      { path: '/a', secretRef: { name: 's' }, configMapRef: { name: 'c' } },
      { path: '/a', secretRef: { name: 'a b' } },
      '/a',
    ],
  }),
  ...field('spec.containerClusters[0].containers[0].envFrom[0]', (one) => container({ envFrom: [one] }), {
    yes: [{ secretRef: { name: 's' } }, { configMapRef: { name: 'a.b-1' }, prefix: 'DB_' }],
    no: [
      {},
      { prefix: 'DB_' },
      { secretRef: { name: 's' }, configMapRef: { name: 'c' } },
      ...['A', 'a..b', '-a', 'a b', 'a;b'].flatMap((name) => [{ secretRef: { name } }, { configMapRef: { name } }]),
      's',
    ],
  }),
  ...field(
    'spec.containerClusters[0].containers[0].envFrom[0].prefix',
    (prefix) => container({ envFrom: [{ secretRef: { name: 's' }, prefix }] }),
    { yes: ['DB_', 'a.b-', '_'], no: ['', '1', 'A=', 'A B'] },
  ),
  ...field('spec.containerClusters[0].containers[0].envFrom', (envFrom) => container({ envFrom }), {
    yes: [[], times(8, () => ({ secretRef: { name: 's' } }))],
    no: [times(9, () => ({ secretRef: { name: 's' } })), { secretRef: { name: 's' } }],
  }),
  ...field(
    'spec.containerClusters[0].containers[0].files[0].mode',
    (mode) => container({ files: [{ path: '/a', content: '', mode }] }),
    { yes: ['0644', '777'], no: ['4755', '0888', '64', 644] },
  ),
  refused(
    'a file twice',
    container({
      files: [
        { path: '/a', content: '' },
        { path: '/a', content: 'b' },
      ],
    }),
    'spec.containerClusters[0].containers[0].files[1]',
  ),
  refused(
    'a probe of a port by name',
    container({ readinessProbe: { tcpSocket: { port: 'http' } } }),
    'spec.containerClusters[0].containers[0].readinessProbe.tcpSocket.port',
  ),
  refused(
    'a variable twice',
    container({ env: [{ name: 'A' }, { name: 'A' }] }),
    'spec.containerClusters[0].containers[0].env[1]',
  ),
]

const INIT = { name: 'first', image: 'registry.example/init:1' }
const initial = (fields: object, beside: object = {}) => ({
  ...beside,
  containerClusters: [{ name: 'c', initContainers: [{ ...INIT, ...fields }], containers: [CONTAINER] }],
})

const INIT_CONTAINERS: readonly SpecFixture[] = [
  accepted(
    'a container that runs first, with all its words',
    initial({
      ...{ command: ['sh', '-c'], args: ['true'], workingDir: '/', runAsUser: 0, runAsGroup: 0 },
      ...{ resources: { cpu: 1, memory: '64Mi' }, capabilities: { add: ['NET_ADMIN'] }, env: [{ name: 'A' }] },
      ...{ files: [{ path: '/a', content: '' }], volumeMounts: [{ name: 'ansible', containerPath: '/plays' }] },
    }),
  ),
  refused(
    'three containers that run first',
    {
      containerClusters: [
        { name: 'c', initContainers: times(3, (at) => ({ ...INIT, name: `i${at}` })), containers: [CONTAINER] },
      ],
    },
    'spec.containerClusters[0].initContainers',
  ),
  refused(
    'two containers of a name, of which one runs first',
    initial({ name: CONTAINER.name }),
    'spec.containerClusters[0].initContainers',
    'an init container must not have the name of another container of its cluster: call one of them otherwise',
  ),
  refused(
    'a volume that there is not, in a container that runs first',
    initial({ volumeMounts: [{ name: 'w', containerPath: '/w' }] }, { volumes: [{ name: 'v', size: '1Gi' }] }),
    'spec.containerClusters',
    'container cluster "c" mounts volume "w" at /w, which is not in spec.volumes: add it there, or name one that is, or ansible',
  ),
  ...field('spec.containerClusters[0].initContainers[0].image', (image) => initial({ image }), {
    yes: ['a'],
    no: ['', 'a b', undefined],
  }),
]

const mount = (fields: object) =>
  container({ volumeMounts: [{ name: 'v', containerPath: '/config', ...fields }] }, volume({}))
const PATHS = {
  yes: ['/config', '/a/.ssh', '/a/..b', '/a/b/', '/var/lib/app_1-2+3@4'],
  no: ['config', '/', '//', '/a//b', '/a/../b', '/..', '/a/.', '/a b', '/a:b', '', `/${'a'.repeat(256)}`],
}

/** Only one: with two, a link in the first one would lead out of the second one. */
const FOLDERS = {
  yes: ['/config', '/.ssh', '/..b', '/a/', '/app_1-2+3@4'],
  no: [...PATHS.no, '/a/b', '/a/b/', '/a/.ssh'],
}

const VOLUMES: readonly SpecFixture[] = [
  accepted('a volume in a container', mount({ readOnly: true })),
  accepted('the plays in a container', container({ volumeMounts: [{ name: 'ansible', containerPath: '/plays' }] })),
  refused(
    'a volume that there is not',
    mount({ name: 'w' }),
    'spec.containerClusters',
    'container cluster "c" mounts volume "w" at /config, which is not in spec.volumes: add it there, or name one that is, or ansible',
  ),
  accepted('a volume as a disk', { ...vm({ disks: [{ name: 'data', volume: 'v' }] }), ...volume({}) }),
  accepted(
    'images as disks',
    vm({
      disks: [
        { name: 'a', backingVMDiskImage: 'i' },
        { name: 'b', backingVMDiskImage: 'i', readOnly: true },
      ],
    }),
  ),
  refused(
    'a disk of a volume and an image',
    { ...vm({ disks: [{ name: 'a', volume: 'v', backingVMDiskImage: 'i' }] }), ...volume({}) },
    'spec.vms[0].disks[0]',
    'a disk must have exactly one of size, volume and backingVMDiskImage, or size beside backingVMDiskImage',
  ),
  accepted('an empty disk', vm({ disks: [{ name: 'data', size: '1Gi', bus: 'scsi' }] })),
  refused(
    'a disk with a volume that there is not',
    { ...vm({ disks: [{ name: 'data', volume: 'w' }] }), ...volume({}) },
    'spec.vms',
    'machine "a" has disk "data" with volume "w", which is not in spec.volumes: add it there, or name one that is',
  ),
  refused('nine disks', vm({ disks: times(9, (at) => ({ name: `d${at}`, size: '1Gi' })) }), 'spec.vms[0].disks'),
  refused(
    'two volumes at one place',
    container({ volumeMounts: times(2, () => ({ name: 'ansible', containerPath: '/a' })) }),
    'spec.containerClusters[0].containers[0].volumeMounts[1]',
  ),
  ...field(
    'spec.containerClusters[0].containers[0].volumeMounts[0].containerPath',
    (containerPath) => mount({ containerPath }),
    PATHS,
  ),
  ...field('spec.containerClusters[0].containers[0].volumeMounts[0].subPath', (subPath) => mount({ subPath }), {
    yes: ['data', 'db/data', '.ssh/', 'app_1-2+3@4'],
    no: ['', '/data', '..', 'a/../b', 'a//b', 'a b', 'a'.repeat(129)],
  }),
  ...field('spec.volumes[0].localPath', (localPath) => volume({ localPath }), FOLDERS),
  ...field('spec.volumes[0].name', (name) => volume({ name }), { yes: ['v', 'ansible-2'], no: ['V', 'a/b'] }),
  refused(
    'a volume called ansible',
    volume({ name: 'ansible' }),
    'spec.volumes[0].name',
    'name must not be ansible: that is the volume with the inventory and the plays, which every workspace has',
  ),
  refused(
    'a machine with the name of a group of Ansible',
    vm({ name: 'all' }),
    'spec.vms[0].name',
    'name must not be all or ungrouped: these are groups of every Ansible inventory',
  ),
  refused(
    'a container cluster with the name of a group of Ansible',
    { containerClusters: [{ name: 'ungrouped', containers: [CONTAINER] }] },
    'spec.containerClusters[0].name',
    'name must not be all or ungrouped: these are groups of every Ansible inventory',
  ),
  ...field('spec.volumes[0].size', (size) => volume({ size }), {
    yes: ['1Gi', 1048576],
    no: ['1Ki', '1 GB', undefined],
  }),
]

const PORTS: readonly SpecFixture[] = [
  accepted('a port of two protocols', ports({ hostPort: 53, protocol: 'udp' }, { hostPort: 53 })),
  accepted('a port that is not of the node, twice', ports({ containerPort: 53 }, { containerPort: 53 })),
  refused(
    'a port of a node twice',
    ports({ hostPort: 53 }, { hostPort: 53, protocol: 'tcp' }),
    'spec.containerClusters',
    'hostPort 53/tcp is used more than once: give each container another one, since they may meet on a node',
  ),
  refused(
    'a port of a node in two clusters',
    {
      containerClusters: ['a', 'b'].map((name) => ({
        name,
        containers: [{ ...CONTAINER, portMappings: [{ containerPort: 1, hostPort: 80, protocol: 'sctp' }] }],
      })),
    },
    'spec.containerClusters',
    'hostPort 80/sctp is used more than once: give each container another one, since they may meet on a node',
  ),
  refused(
    '257 ports of nodes',
    {
      containerClusters: times(17, (at) => ({
        name: `c${at}`,
        containers: [
          {
            ...CONTAINER,
            portMappings: times(at === 16 ? 1 : 16, (port) => ({ containerPort: 1, hostPort: 1 + at * 16 + port })),
          },
        ],
      })),
    },
    'spec.containerClusters',
    'the containers must have at most 256 hostPorts together: they have 257',
  ),
  ...field('spec.containerClusters[0].containers[0].portMappings[0].hostPort', (hostPort) => ports({ hostPort }), {
    yes: [1, 65535],
    no: [0, 65536, '53', 1.5],
  }),
  ...field(
    'spec.containerClusters[0].containers[0].portMappings[0].containerPort',
    (containerPort) => ports({ containerPort }),
    { yes: [1, 65535], no: [0, 65536, undefined] },
  ),
  ...field('spec.containerClusters[0].containers[0].portMappings[0].protocol', (protocol) => ports({ protocol }), {
    yes: ['tcp', 'udp', 'sctp'],
    no: ['TCP', 'icmp', ''],
  }),
]

const AWAY = { networks: [{ name: 'lab' }], vms: [{ ...VM, interfaces: [{ network: 'lab' }] }] }
const ON_PODS = { networks: [], vms: [{ ...VM, interfaces: [{ network: 'pod' }] }] }
/** A machine on a network that is called as the pod network is. */
const POD_NAMED = {
  networks: [{ name: 'pod', cidr: '10.0.0.0/24' }],
  vms: [{ ...VM, interfaces: [{ network: 'pod', ipAddress: '10.0.0.1/24' }] }],
}
const SERVICE = { name: 's', member: 'a', ports: [{ port: 80 }] }
const service = (fields: object, beside: object = vm({})) => ({ ...beside, services: [{ ...SERVICE, ...fields }] })
const servicePorts = (...all: object[]) => service({ ports: all })
const OFF_PODS =
  'service "s" is for machine "a", which is not on the pod network: add an interface with network pod to it'

const SERVICES: readonly SpecFixture[] = [
  accepted('a service for a machine', service({ type: 'NodePort' })),
  accepted('a service for a machine with interfaces, one on the pod network', service({}, ON_PODS)),
  accepted('a service for a machine with an empty list of interfaces', service({}, vm({ interfaces: [] }))),
  accepted('a service for a container cluster', service({ member: 'c' }, container({}))),
  accepted(
    'a service for a container cluster with interfaces',
    service(
      { member: 'c' },
      {
        networks: [{ name: 'lab' }],
        containerClusters: [{ name: 'c', containers: [CONTAINER], interfaces: [{ network: 'lab' }] }],
      },
    ),
  ),
  accepted('16 services', { ...vm({}), services: times(16, (at) => ({ ...SERVICE, name: `s${at}` })) }),
  refused('17 services', { ...vm({}), services: times(17, (at) => ({ ...SERVICE, name: `s${at}` })) }, 'spec.services'),
  refused('two services of a name', { ...vm({}), services: [SERVICE, SERVICE] }, 'spec.services[1]'),
  refused(
    'a service for nobody',
    service({ member: 'b' }),
    'spec.services',
    'service "s" is for member "b", which is neither in spec.vms nor in spec.containerClusters: add it there, or name one that is',
  ),
  refused('a service for a machine on a network of the lab alone', service({}, AWAY), 'spec.services', OFF_PODS),
  refused('a service for a machine on a network called pod', service({}, POD_NAMED), 'spec.services', OFF_PODS),
  ...field('spec.services[0].name', (name) => service({ name }), {
    yes: ['a', 'web-1', 'a'.repeat(63)],
    no: ['', '1a', 'Web', 'a-', 'a.b', 'a'.repeat(64), undefined],
  }),
  ...field('spec.services[0].type', (type) => service({ type }), {
    yes: ['ClusterIP', 'NodePort', 'LoadBalancer'],
    no: ['ExternalName', '', 'nodeport'],
  }),
  ...field('spec.services[0].ports', (all) => service({ ports: all }), {
    yes: [times(16, (at) => ({ port: at + 1 }))],
    no: [[], undefined, times(17, (at) => ({ port: at + 1 }))],
  }),
  ...(['port', 'targetPort'] as const).flatMap((one) =>
    field(`spec.services[0].ports[0].${one}`, (number) => servicePorts({ port: 80, [one]: number }), {
      yes: [1, 65535],
      no: [0, 65536, '80', 1.5],
    }),
  ),
  ...field('spec.services[0].ports[0].protocol', (protocol) => servicePorts({ port: 80, protocol }), {
    yes: ['TCP', 'UDP'],
    no: ['tcp', 'SCTP', ''],
  }),
  ...field('spec.services[0].ports[0].name', (name) => servicePorts({ port: 80, name }), {
    yes: ['http', 'tcp-x', '80', 'a'.repeat(63)],
    no: ['', 'Http', 'a_b', 'tcp-80', 'udp-1'],
  }),
  accepted('a port of a service for each protocol', servicePorts({ port: 53 }, { port: 53, protocol: 'UDP' })),
  refused(
    'a port of a service twice',
    servicePorts({ port: 1 }, { port: 53 }, { port: 53, protocol: 'TCP', targetPort: 54 }),
    'spec.services[0].ports',
    'port 53 is given more than once: give it once for each protocol',
  ),
  refused(
    'a name of a port twice',
    servicePorts({ port: 1, name: 'dns' }, { port: 53, name: 'dns' }),
    'spec.services[0].ports',
    'ports must each have a name of their own: "dns" is given more than once',
  ),
]

const SECRET = { name: 's', generate: [{ key: 'password' }] }
const secret = (fields: object) => ({ secrets: [{ ...SECRET, ...fields }] })
const generated = (...generate: object[]) => secret({ generate })

const SECRETS: readonly SpecFixture[] = [
  accepted('16 secrets', { secrets: times(16, (at) => ({ ...SECRET, name: `s${at}` })) }),
  refused('17 secrets', { secrets: times(17, (at) => ({ ...SECRET, name: `s${at}` })) }, 'spec.secrets'),
  refused('two secrets of a name', { secrets: [SECRET, SECRET] }, 'spec.secrets[1]'),
  ...field('spec.secrets[0].name', (name) => secret({ name }), {
    yes: ['a', 'logins.lab', 'web-cloudinit-2', 'a'.repeat(253)],
    no: ['', 'Logins', 'a_b', 'a'.repeat(254), undefined],
  }),
  refused(
    'a secret with the name of the Secret of a machine',
    secret({ name: 'web-cloudinit' }),
    'spec.secrets[0].name',
    'name must not end with -cloudinit: Secrets with such names have the cloud-init data of machines',
  ),
  ...field('spec.secrets[0].generate', (generate) => secret({ generate }), {
    yes: [times(16, (at) => ({ key: `k${at}` }))],
    no: [[], times(17, (at) => ({ key: `k${at}` }))],
  }),
  ...field('spec.secrets[0].from', (from) => secret({ generate: undefined, from }), {
    yes: [
      { namespace: 'logins', name: 'registry' },
      { namespace: 'n'.repeat(63), name: 's'.repeat(253) },
    ],
    no: ['logins/registry'],
  }),
  ...field(
    'spec.secrets[0].from.namespace',
    (namespace) => secret({ generate: undefined, from: { namespace, name: 'a' } }),
    {
      yes: [],
      no: ['n'.repeat(64), undefined],
    },
  ),
  ...field('spec.secrets[0].from.name', (name) => secret({ generate: undefined, from: { namespace: 'a', name } }), {
    yes: [],
    no: ['n'.repeat(254), undefined],
  }),
  ...[{}, { generate: [{ key: 'a' }], from: { namespace: 'logins', name: 'registry' } }].map((origin) =>
    refused(
      `a secret with ${Object.keys(origin).length} origins`,
      secret({ generate: undefined, ...origin }),
      'spec.secrets[0]',
      'must have generate or from',
    ),
  ),
  refused('a key of a secret twice', generated({ key: 'a' }, { key: 'a', length: 8 }), 'spec.secrets[0].generate[1]'),
  ...field('spec.secrets[0].generate[0].key', (key) => generated({ key }), {
    yes: ['a', '_A.b-1', '__proto__', 'k'.repeat(253)],
    no: ['', '.', '..', '.a', 'a b', 'ä', 'a=b', 'k'.repeat(254), undefined],
  }),
  ...field('spec.secrets[0].generate[0].length', (length) => generated({ key: 'a', length }), {
    yes: [8, 128],
    no: [7, 129, '24', 24.5],
  }),
]

const player = (fields: object) => ({ ansible: fields })

const PLAYER: readonly SpecFixture[] = [
  accepted('a player without anything', player({})),
  ...field('spec.ansible.image', (image) => player({ image }), {
    yes: ['registry.example.com/ansible:2.19', 'a'.repeat(512)],
    no: ['', 'an image', 'a'.repeat(513), 7],
  }),
  ...field('spec.ansible.pullSecrets', (pullSecrets) => player({ pullSecrets }), {
    yes: [[], ['login.lab']],
    no: [times(5, (at) => `s${at}`)],
  }),
  ...field('spec.ansible.pullSecrets[0]', (name) => player({ pullSecrets: [name] }), { yes: ['a'], no: ['', 'A'] }),
  ...field('spec.ansible.sshKeySecretRef.name', (name) => player({ sshKeySecretRef: { name, key: 'id' } }), {
    yes: ['range-key', 'a'.repeat(63)],
    no: ['', 'a.b', 'a'.repeat(64), undefined],
  }),
  ...field('spec.ansible.sshKeySecretRef.key', (key) => player({ sshKeySecretRef: { name: 'a', key } }), {
    yes: ['ssh-privatekey', 'id_ed25519'],
    no: ['', 'a b', 'k'.repeat(64), undefined],
  }),
  ...field('spec.ansible.timeout', (timeout) => player({ timeout }), {
    yes: ['30m', '1h30m', '0s'],
    no: ['', '30', 'soon', 30],
  }),
]

export const WORKSPACE_FIXTURES: readonly SpecFixture[] = [
  ...WHOLE,
  ...NETWORK_FIXTURES,
  ...MACHINES,
  ...ANSIBLE,
  ...CONTAINERS,
  ...INIT_CONTAINERS,
  ...VOLUMES,
  ...PORTS,
  ...SERVICES,
  ...SECRETS,
  ...PLAYER,
]
