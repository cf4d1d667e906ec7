import { readFileSync } from 'node:fs'
import { App, Chart, Testing } from 'cdk8s'
import { describe, expect, it, vi } from 'vitest'
import { type LabNetwork, outside } from './lab-network.ts'
import { defineRole } from './lab-role.ts'
import { LabSecret } from './lab-secret.ts'
import { Release } from './release.ts'
import { VirtualMachine } from './virtual-machine.ts'
import { VMDiskImage } from './vm-disk-image.ts'
import { Workspace, type WorkspaceProps } from './workspace.ts'

/** What authors do wrong, and who catches it: nothing that can be known is left to the cluster. */

interface Author {
  readonly chart: Chart
  readonly lab: Workspace
  /** 10.0.0.0/24 */
  readonly net: LabNetwork
  /** A lab whose fields are written as in YAML. */
  readonly written: (props: WorkspaceProps) => Workspace
}

type Code = (author: Author) => unknown
type Row = readonly [mistake: string, code: Code, told: string | RegExp]

const START = { image: 'debian', cpu: 1, memory: '1Gi' } as const
const VM = { name: 'a', backingVMDiskImage: 'debian', resources: { cpu: 1, memory: '1Gi' } } as const
const POD = { name: 'p', containers: [{ name: 'c', image: 'web:1' }] }
const NET = { name: 'n', cidr: '10.5.0.0/24' }
const SOURCE = { url: 'https://images.example.com/a.qcow2', sourceType: 'http', diskSize: '10Gi' } as const
const OTHER = { ...SOURCE, url: 'https://images.example.com/b.qcow2' } as const
const router = defineRole<{ enable_nat: boolean }>('linuxRouter')
const releaseOf = (chart: Chart, id: string, more: object = {}) =>
  new Release(chart, id, {
    workspaceId: 'redblue',
    version: '1.0.0',
    images: { kali: { url: SOURCE.url } },
    sourceType: 'http',
    diskSize: '10Gi',
    metadata: { name: id },
    ...more,
  })

/** The compiler marks them in the editor. Who has none is told at synth, but of the last one. */
const BY_COMPILER: readonly Row[] = [
  [
    'a misspelt property',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, memroy: '2Gi' }),
    'has no field memroy',
  ],
  [
    'a machine without an image',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { cpu: 1, memory: '1Gi' }),
    'labs/lab/vms.a: image (spec.vms[0].backingVMDiskImage): must be set: it is required',
  ],
  [
    'a password as a text',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, users: [{ name: 'eve', password: 'hush' }] }),
    'labs/lab/vms.a: password of user "eve" is a text: take a key of a Secret, or say plainText',
  ],
  [
    'an image that a release does not have',
    // @ts-expect-error
    ({ chart }) => releaseOf(chart, 'images').image('kalli'),
    'has no image "kalli": add it to images, beside kali',
  ],
  [
    'a network by its name',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', START).connect('net', 7),
    'labs/lab/vms.a: network "net" is no network: give what addNetwork returned',
  ],
  [
    'a flag as a text',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, ignoreOnDeploy: 'yes' }),
    'must be true or false, without quotes; it is "yes"',
  ],
  [
    'an update strategy that there is not',
    // @ts-expect-error
    ({ chart }) => new Workspace(chart, 'new', { updateStrategy: { type: 'RollingUpdate' } }),
    'spec.updateStrategy.type: must be one of OnRequest, Recreate; it is "RollingUpdate"',
  ],
  [
    'a power state that there is not',
    // @ts-expect-error
    ({ chart }) => new Workspace(chart, 'new', { powerState: 'Off' }),
    'spec.powerState: must be one of Running, Halted; it is "Off"',
  ],
  [
    'a protocol in upper case',
    ({ lab }) =>
      // @ts-expect-error
      lab.addContainers('p').add('c', { image: 'web:1', ports: [{ containerPort: 53, protocol: 'UDP' }] }),
    'must be one of tcp, udp, sctp; it is "UDP"',
  ],
  [
    'an addressing that there is not',
    // @ts-expect-error
    ({ lab, net }) => lab.addVm('a', START).connect(net, [], { addressing: 'auto' }),
    'must be one of static, dhcp, none; it is "auto"',
  ],
  [
    'a network card that there is not',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', START).connectToPodNetwork({ model: 'vmxnet3' }),
    'it is "vmxnet3"',
  ],
  [
    'an operating system that there is not',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, os: 'Windows' }),
    'it is "Windows"',
  ],
  [
    'a volume without a path',
    // @ts-expect-error
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1', mounts: [lab.addVolume('v', { size: 1 }).at()] }),
    'containerPath: must be set: it is required',
  ],
  [
    'a volume by its name',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, disks: [{ name: 'data', volume: 'data' }] }),
    'spec.vms[0].disks[0]',
  ],
  [
    'a member to wait for by its name',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, dependsOn: ['b'] }),
    'spec.vms[0].dependsOn[0]: must be',
  ],
  [
    'a service for a name',
    // @ts-expect-error
    ({ lab }) => lab.addService('s', { member: 'web', ports: [80] }),
    'spec.services[0].member: must be set: it is required',
  ],
  [
    'a kind of source that there is not',
    // @ts-expect-error
    ({ chart }) => new VMDiskImage(chart, 'i', { metadata: { name: 'i' }, url: SOURCE.url, sourceType: 'ftp' }),
    'spec.sourceType: must be one of',
  ],
  [
    'a container without an image',
    // @ts-expect-error
    ({ lab }) => lab.addContainers('p').add('c', {}),
    'spec.containerClusters[0].containers[0].image: must be set: it is required',
  ],
  [
    'a variable of a role with another type',
    // @ts-expect-error
    ({ lab }) => lab.addVm('a', { ...START, build: [router({ enable_nat: 'yes' })] }),
    'only the compiler',
  ],
]

/** They throw where they are made: the stack trace shows the line. */
const AT_THE_LINE: readonly Row[] = [
  ['a host number out of range', ({ lab, net }) => lab.addVm('a', START).connect(net, 300), 'has no host 300'],
  ['a host number of the whole network', ({ lab, net }) => lab.addVm('a', START).connect(net, 0), 'has no host 0'],
  [
    'the broadcast address',
    ({ lab, net }) => lab.addVm('a', START).connect(net, '10.0.0.255'),
    'stands for the network or for all of its hosts',
  ],
  [
    'an address of another network',
    ({ lab, net }) => lab.addVm('a', START).connect(net, '10.0.1.7'),
    'labs/lab/networks.net: 10.0.1.7 is not in 10.0.0.0/24',
  ],
  [
    'an address with another length',
    ({ lab, net }) => lab.addVm('a', START).connect(net, '10.0.0.7/25'),
    'must have the length of the network',
  ],
  ['no address', ({ lab, net }) => lab.addVm('a', START).connect(net, '10.0.0'), 'is no address'],
  [
    'an address that somebody has',
    ({ lab, net }) => {
      lab.addVm('a', START).connect(net, 7)
      lab.addContainers('b').connect(net, 7)
    },
    '10.0.0.7 is the address of a: take another one',
  ],
  [
    'an address that it has by its host number',
    ({ lab, net }) => lab.addVm('a', START).connect(net, [7, '10.0.0.7']),
    'a has 10.0.0.7 already: a host number is an address of each cidr of the network',
  ],
  [
    'two interfaces on one network',
    ({ lab, net }) => lab.addVm('a', START).connect(net, 7).connect(net, 8),
    'is on network net already',
  ],
  [
    'a network of another lab',
    ({ chart, net }) => new Workspace(chart, 'other').addVm('a', START).connect(net, 7),
    'is of another lab',
  ],
  [
    'a host number on a network without addresses',
    ({ lab }) => lab.addVm('a', START).connect(lab.addNetwork('wire'), 7),
    'has no cidr, so host 7 has no address',
  ],
  [
    'a key of a Secret that is not made',
    ({ lab }) => lab.addSecret('s', { generate: ['alice'] }).key('bob'),
    'has no key "bob": add it to generate, beside alice',
  ],
  [
    'the address of somebody who has none',
    ({ lab, net }) => lab.addVm('a', START).addressOn(net),
    'has no static address on network net',
  ],
  [
    'two machines of one name',
    ({ lab }) => [lab.addVm('a', START), lab.addVm('a', START)],
    /^labs\/lab: there is a machine "a" already \(made at \S+mistakes.test.ts:\d+:\d+, and again at \S+mistakes.test.ts:\d+:\d+\): give one of them another name/,
  ],
  [
    'two objects of one id',
    ({ chart }) => [new Workspace(chart, 'twice'), new Workspace(chart, 'twice')],
    /^labs: there is a construct "twice" already \(made at \S+mistakes.test.ts:\d+:\d+, and again at \S+mistakes.test.ts:/,
  ],
  [
    'a gateway out of range',
    ({ net }) => net.setGateway(300),
    /^labs\/lab\/networks.net: 10.0.0.0\/24 has no host 300: /,
  ],
  ['a next hop out of range', ({ net }) => net.addRoute('0.0.0.0/0', outside(300)), 'has no host 300'],
  [
    'a name server out of range',
    ({ lab }) => lab.addNetwork('b', { cidr: '10.1.0.0/24', nameservers: [300] }),
    'has no host 300',
  ],
  [
    'a host number on a network whose cidr is none',
    ({ lab }) => lab.addVm('a', START).connect(lab.addNetwork('b', { cidr: '10.1.0/24' }), 7),
    'labs/lab/networks.b: its cidr "10.1.0/24" has no addresses, so host 7 has none: write a network such as 10.10.0.0/24',
  ],
  [
    'two services of one name',
    ({ lab }) => {
      const member = lab.addVm('a', START)
      return [80, 443].map((port) => lab.addService('web', { member, ports: [port] }))
    },
    /^labs\/lab: there is a Service "web" already \(made at \S+mistakes.test.ts:\d+:\d+, and again at \S+mistakes.test.ts:/,
  ],
  [
    'two containers of one name',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1' }).addInit('c', { image: 'web:1' }),
    /^labs\/lab\/containerClusters.p: there is a container "c" already \(made at \S+mistakes.test.ts:\d+:\d+, and again at /,
  ],
  [
    'a machine of nothing',
    ({ lab }) => lab.addVm('q', undefined as never),
    'labs/lab/vms.q: its props must be an object with fields, such as { image',
  ],
  [
    'no network at all',
    ({ lab }) => lab.addVm('a', START).connect(null as never, 1),
    'network null is no network: give what addNetwork returned',
  ],
  [
    'a release without images',
    ({ chart }) => releaseOf(chart, 'images', { images: undefined }),
    'labs/images: images must have one image or more, by the names of their machines',
  ],
  ['a part outside of a lab', ({ chart }) => Workspace.of(chart), 'is in no Workspace: make it below one'],
]

/** Nobody of them was caught by a manifest in TypeScript. */
const UNCAUGHT_ERRORS: readonly Row[] = [
  [
    'a gateway that no member has',
    ({ net }) => net.setGateway(1),
    'gateway 10.0.0.1 (host 1) is the address of no member on network net: connect one with it, or write outside(1)',
  ],
  [
    'a next hop that no member has',
    ({ net }) => net.addRoute('0.0.0.0/0', '10.0.0.9'),
    "next hop 10.0.0.9 is in network net and the address of no member there: connect one with it, or write outside('10.0.0.9')",
  ],
  [
    'a name server that no member has',
    ({ lab, net }) => lab.addNetwork('b', { cidr: '10.1.0.0/24' }) && net.addNameserver('10.1.0.53'),
    'name server 10.1.0.53 is in network b and the address of no member there',
  ],
  [
    'two labs of one name',
    ({ chart }) => new Workspace(chart, 'second', { metadata: { name: 'lab' } }),
    '[labs/second] the Workspace is not valid\n  metadata.name: lab is the name of labs/lab too',
  ],
  [
    'two templates for one image',
    ({ lab }) => {
      lab.addVm('a', { ...START, vmDiskImageTemplate: SOURCE })
      lab.addVm('b', { ...START, vmDiskImageTemplate: OTHER })
    },
    'labs/lab/vms.b: spec.vms[1]: its vmDiskImageTemplate is not used, since that of a comes first for image debian, and differs in url',
  ],
]

const AT_SYNTH: readonly Row[] = [
  ...UNCAUGHT_ERRORS,
  [
    'two templates for one image in two labs',
    ({ chart, lab }) => {
      lab.addVm('a', { ...START, vmDiskImageTemplate: SOURCE })
      new Workspace(chart, 'second').addVm('a', { ...START, vmDiskImageTemplate: OTHER })
    },
    'image debian: labs/lab says something else about it, in url: make them the same, or name another image',
  ],
  [
    'two releases that say different things of one image',
    ({ chart }) => {
      releaseOf(chart, 'one')
      releaseOf(chart, 'two', { diskSize: '20Gi' })
    },
    'labs/one says something else about it, in diskSize',
  ],
  [
    'a release and a template that say different things of one image',
    ({ chart, lab }) =>
      lab.addVm('a', { ...START, image: releaseOf(chart, 'one').image('kali'), vmDiskImageTemplate: OTHER }),
    'says something else about it, in url',
  ],
  [
    'a gateway without an address on the network',
    ({ lab, net }) => net.setGateway(lab.addVm('a', START)),
    'gateway a has no static address on network net',
  ],
  [
    'a member that is said to be outside',
    ({ lab, net }) => lab.addVm('a', START).connect(net, 7) && net.setGateway(outside(7)),
    'gateway 10.0.0.7 is the address of a member, and not outside: name the member',
  ],
  [
    'a gateway outside of its network',
    ({ net }) => net.setGateway(outside('10.9.0.1')),
    'must be an address of its network',
  ],
  [
    'a route to a network without addresses',
    ({ lab, net }) => net.addRoute(lab.addNetwork('w'), outside(1)),
    'has no cidr',
  ],
  ['a cidr that is an address', ({ lab }) => lab.addNetwork('b', { cidr: '10.1.0.1/24' }), 'spec.networks[1].cidr'],
  [
    'two ranges of one kind',
    ({ lab }) => lab.addNetwork('b', { cidrs: ['10.1.0.0/24', '10.2.0.0/24'] }),
    'must be one of IPv4 and one of IPv6',
  ],
  ['a name in upper case', ({ chart }) => new Workspace(chart, 'Lab'), 'metadata.name: must be lower-case letters'],
  [
    'a namespace of a lab',
    ({ chart }) => new Workspace(chart, 'new', { metadata: { namespace: 'team' } }),
    'metadata.namespace: must be left out',
  ],
  ['a machine without a size', ({ lab }) => lab.addVm('a', { image: 'debian' }), 'spec.vms[0]'],
  ['no quantity', ({ lab }) => lab.addVolume('v', { size: '1 GB' }), 'spec.volumes[0].size'],
  ['no number of CPUs', ({ lab }) => lab.addVm('a', { ...START, cpu: 'many' }), 'spec.vms[0].resources.cpu'],
  ['a volume called ansible', ({ lab }) => lab.addVolume('ansible', { size: '1Gi' }), 'name must not be ansible'],
  [
    'a machine and containers of one name',
    ({ lab }) => {
      lab.addVm('a', START)
      lab.addContainers('a').add('c', { image: 'web:1' })
    },
    'member with containers "a" has the name of a machine',
  ],
  [
    'a port of the node twice',
    ({ lab }) => {
      const ports = [{ containerPort: 53, hostPort: 53 }]
      lab.addContainers('p').add('c', { image: 'web:1', ports }).add('d', { image: 'web:1', ports })
    },
    'hostPort 53/tcp is used more than once',
  ],
  [
    'one MAC address twice',
    ({ lab, net }) => {
      lab.addVm('a', START).connect(net, 1, { macAddress: '52:54:00:00:00:01' })
      lab.addVm('b', START).connect(net, 2, { macAddress: '52:54:00:00:00:01' })
    },
    'is given to more than one interface',
  ],
  [
    'a service for a machine that nobody reaches',
    ({ lab, net }) => lab.addService('s', { member: lab.addVm('a', START).connect(net, 1), ports: [22] }),
    'which is not on the pod network: call its connectToPodNetwork()',
  ],
  [
    'a container that reserves more than it may use',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1', memory: '2Gi', limits: { memory: '1Gi' } }),
    'limits.memory must not be less than memory',
  ],
  [
    'a variable whose name is none',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1', env: { '1A': 1 } }),
    'must be the name of an environment variable',
  ],
  [
    'a path that is relative',
    ({ lab }) => {
      const mounts = [lab.addVolume('v', { size: '1Gi' }).at('config')]
      lab.addContainers('p').add('c', { image: 'web:1', mounts })
    },
    'containerPath must be an absolute path',
  ],
  [
    'a role whose name is none',
    ({ lab }) => lab.addVm('a', { ...START, build: [{ role: 'my role' }] }),
    'must be the name of an Ansible role',
  ],
  [
    'a volume that is not there',
    ({ written }) =>
      written({
        containerClusters: [
          { ...POD, containers: [{ name: 'c', image: 'web:1', volumeMounts: [{ name: 'v', containerPath: '/v' }] }] },
        ],
      }),
    'mounts volume "v" at /v, which is not in spec.volumes',
  ],
  [
    'a network that is not there',
    ({ written }) => written({ vms: [{ ...VM, interfaces: [{ network: 'x' }] }] }),
    'on network "x"',
  ],
  [
    'an address outside of both ranges',
    ({ written }) =>
      written({
        networks: [{ name: 'n', cidrs: ['10.5.0.0/24', 'fd00::/64'] }],
        vms: [{ ...VM, interfaces: [{ network: 'n', ipAddress: '10.6.0.1/24' }] }],
      }),
    'its address 10.6.0.1/24 on network n is in none of cidrs (10.5.0.0/24, fd00::/64)',
  ],
  [
    'somebody to wait for who is not there',
    ({ written }) => written({ vms: [{ ...VM, dependsOn: ['b'] }] }),
    'dependsOn names b',
  ],
  [
    'two who wait for each other',
    ({ written }) => written({ vms: [{ ...VM, dependsOn: ['p'] }], containerClusters: [{ ...POD, dependsOn: ['a'] }] }),
    'dependsOn leads from a back to it (a, p, a)',
  ],
  [
    'an override of what the operator decides',
    ({ lab }) => lab.addVm('a', START).patch({ overrides: { running: true } }),
    'labs/lab/vms.a: spec.vms[0]: overrides: running ',
  ],
  [
    'a size of an image of a release',
    ({ chart }) => {
      const images = { a: { url: SOURCE.url }, b: { url: OTHER.url, diskSize: '1 GB' } }
      releaseOf(chart, 'images', { images })
    },
    '\n  images.b.diskSize: must be a quantity',
  ],
  [
    'an id that no name can be made of',
    ({ chart }) => releaseOf(chart, 'images', { workspaceId: 'Lab_33', metadata: undefined }),
    'it is "lab_33-1.0.0", made of workspaceId and version: write others, or metadata with a name',
  ],
  ['a time that is none', ({ written }) => written({ expiresAt: new Date('nope') }), 'it is "Invalid Date"'],
  [
    'a number in a role that JSON does not have',
    ({ lab }) => lab.addVm('a', { ...START, build: [{ role: 'r', variables: { big: 10n } }] }),
    'labs/lab/vms.a: role r: spec.vms[0].ansible.roles.build[0].variables: cannot be written as JSON: it has a BigInt',
  ],
  [
    'an Output of Pulumi as an image',
    ({ lab }) => lab.addVm('a', { ...START, image: { imageName: { __pulumiOutput: true } } as never }),
    /\n {2}labs\/lab\/vms.a: image \(spec.vms\[0\].backingVMDiskImage\): is an Output of Pulumi, .*in outputs of Rendered$/,
  ],
  ['a misspelt field of a patch', ({ lab }) => lab.patch({ ansibel: {} }), 'spec has no field ansibel'],
  [
    'a URL of no kind',
    ({ chart }) => new VMDiskImage(chart, 'i', { metadata: { name: 'i' }, url: 'file:///a.qcow2' }),
    'spec.url: ',
  ],
  [
    'no checksum',
    ({ chart }) => new VMDiskImage(chart, 'i', { ...SOURCE, metadata: { name: 'i' }, checksum: 'abc' }),
    'spec.checksum: ',
  ],
]

/** They may work, so they never fail a synth. Nobody of them was caught by a manifest in TypeScript. */
const UNCAUGHT_WARNINGS: readonly Row[] = [
  [
    'a member on two networks that overlap',
    ({ lab, net }) =>
      lab
        .addVm('a', START)
        .connect(net, 7)
        .connect(lab.addNetwork('b', { cidr: '10.0.0.0/16' }), '10.0.3.7'),
    /^labs\/lab\/vms.a: warning: its networks net and b overlap \(10.0.0.0\/24 and 10.0.0.0\/16\).* \[NetworksOverlap\]$/,
  ],
  [
    'a gateway on a machine that is not deployed',
    ({ lab, net }) => {
      net.setGateway(lab.addVm('gate', { ...START, ignoreOnDeploy: true }).connect(net, 1))
      lab.addVm('a', START).connect(net, 2)
    },
    /^labs\/lab\/networks.net: warning: 10.0.0.1 is an address of gate, which is not deployed .* \[DeadAddress\]$/,
  ],
  [
    'two networks of one range',
    ({ lab }) => lab.addNetwork('b', { cidr: '10.0.0.0/16' }),
    'labs/lab/networks.b: warning: its addresses 10.0.0.0/16 are also in network net (10.0.0.0/24): give one of them another cidr',
  ],
  [
    'a password that everybody can read',
    ({ written }) =>
      written({ vms: [{ ...VM, users: [{ name: 'eve', plain_text_passwd: 'hush', lock_passwd: false }] }] }),
    /^labs\/written: warning: spec.vms\[0\] \(a\): everybody who may read the object can read the password of "eve": .* \[PlainTextPassword\]$/,
  ],
  [
    'a password in variables of Ansible',
    ({ lab }) => lab.addVm('a', { ...START, build: [{ role: 'db', variables: { db: { adminPassword: 'hush' } } }] }),
    /^labs\/lab\/vms.a: warning: everybody who may read the lab can read the variable db.adminPassword of role db: .* \[PasswordInVariables\]$/,
  ],
  [
    'an image without a tag',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'registry.example.com:5000/web' }),
    'container c runs whatever registry.example.com:5000/web is that day: add a tag, such as registry.example.com:5000/web:1.0 [UntaggedImage]',
  ],
  [
    'a volume that nobody mounts',
    ({ lab }) => lab.addVolume('v', { size: '1Gi' }),
    /^labs\/lab\/volumes.v: warning: nobody uses it: mount it in a container \(mounts: \[volume.at\('\/data'\)\]\), .* \[VolumeUnused\]$/,
  ],
]

const WARNED_OF: readonly Row[] = [
  ...UNCAUGHT_WARNINGS,
  [
    'a member that nobody has connected',
    ({ lab }) => lab.addVm('a', START),
    'labs/lab/vms.a: warning: it is on no network of the lab, and on the network of all pods: connect it, or acknowledge this if that is meant [NoNetwork]',
  ],
  [
    'a password that is laid over a machine',
    ({ lab, net }) =>
      lab
        .addVm('a', START)
        .connect(net, 7)
        .patch({ users: [{ name: 'eve', plain_text_passwd: 'hush', lock_passwd: false }] }),
    /^labs\/lab\/vms.a: warning: everybody who may read the object can read the password of "eve": .* \[PlainTextPassword\]$/,
  ],
  [
    'an image by a text that the release beside it does not have, of a machine over which something else is laid',
    ({ chart, lab, net }) => {
      const release = releaseOf(chart, 'images')
      const vm = lab.addVm('a', { ...START, image: release.image('kali') }).connect(net, 1)
      vm.patch({ disks: [{ name: 'd', backingVMDiskImage: 'kalj' }] })
    },
    /^labs\/lab\/vms.a: warning: .*kalj.*\[UnknownImage\]$/,
  ],
  [
    'an image by a text that the release beside it does not have',
    ({ chart, lab, net }) => {
      const release = releaseOf(chart, 'images')
      lab.addVm('a', { ...START, image: release.image('kali').imageName }).connect(net, 1)
      lab.addVm('b', { ...START, image: 'redblue-1.0.0-kalli' }).connect(net, 2)
      lab.addVm('c', { ...START, image: VMDiskImage.fromName('elsewhere') }).connect(net, 3)
    },
    /^labs\/lab\/vms.b: warning: no object of this app makes the image redblue-1.0.0-kalli: take it from its Release or VMDiskImage, .*or write VMDiskImage.fromName\('redblue-1.0.0-kalli'\) if something else makes it \[UnknownImage\]$/,
  ],
  [
    'an image of a machine alone that the release beside it does not have',
    ({ chart }) => {
      releaseOf(chart, 'images')
      const resources = { cpu: 1, memory: '1Gi' }
      new VirtualMachine(chart, 'vm', {
        metadata: { name: 'vm' },
        resources,
        vmDiskImageRef: { name: 'redblue-1.0.0-kalli' },
      })
    },
    /^labs\/vm: warning: no object of this app makes the image redblue-1.0.0-kalli: .*such as redblue-1.0.0-kali, or acknowledge this if something else makes it \[UnknownImage\]$/,
  ],
  [
    'an end that is over',
    ({ written }) => written({ expiresAt: '2020-01-01T00:00:00Z' }),
    'labs/written: warning: expiresAt 2020-01-01T00:00:00Z is over, so the lab is switched off as soon as it is applied: set a later time, or remove it [EndIsOver]',
  ],
  [
    'an end that is over, with all that is in the lab',
    ({ written }) => written({ expiresAt: new Date(0), onExpiry: 'Delete' }),
    'so the lab is deleted with its disks and volumes as soon as it is applied',
  ],
  ['the tag latest', ({ lab }) => lab.addContainers('p').add('c', { image: 'web:latest' }), 'such as web:1.0'],
  [
    'a gateway in a written lab that no member has',
    ({ written }) =>
      written({
        networks: [{ ...NET, rangeGateway: '10.5.0.1' }],
        vms: [{ ...VM, interfaces: [{ network: 'n', ipAddress: '10.5.0.2/24' }] }],
      }),
    'labs/written: warning: spec.networks[0] (n): no member has the address 10.5.0.1',
  ],
  [
    'a password in a variable of a container',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1', env: { DB_PASSWORD: 'hush' } }),
    'can read the variable DB_PASSWORD of container c: take it from a key of a Secret [PasswordInEnvironment]',
  ],
  [
    'a password of a machine alone',
    ({ chart }) =>
      new VirtualMachine(chart, 'vm', {
        metadata: { name: 'vm' },
        resources: { cpu: 1, memory: '1Gi' },
        vmDiskImageRef: { name: 'debian' },
        users: [{ name: 'eve', plain_text_passwd: 'hush', lock_passwd: false }],
      }),
    'labs/vm: warning: everybody who may read the object can read the password of "eve"',
  ],
  [
    'a user who can never log in',
    ({ lab }) => lab.addVm('a', { ...START, users: [{ name: 'eve' }] }),
    'since none has a password or a key: give one a password or sshKeys [NoLogin]',
  ],
  [
    'a password that its user cannot use',
    ({ written }) =>
      written({ vms: [{ ...VM, users: [{ name: 'eve', passwordSecretRef: { name: 's', key: 'k' } }] }] }),
    '[PasswordLocked]',
  ],
  [
    'a name that Linux does not take',
    ({ lab }) => lab.addVm('a', { ...START, users: [{ name: 'Eve A', password: LabSecret.fromName('s').key('k') }] }),
    '[LoginRenamed]',
  ],
  [
    'a key of a Secret whose keys are made, and this one is not',
    ({ lab }) => {
      lab.addSecret('s', { generate: ['alice'] })
      lab.addVm('a', { ...START, users: [{ name: 'bob', password: LabSecret.fromName('s').key('bob') }] })
    },
    'it needs key bob of Secret s, which is not made: add it to generate, beside alice [SecretKeyNotMade]',
  ],
  [
    'a service for somebody who is not deployed',
    ({ lab }) => lab.addService('s', { member: lab.addVm('a', { ...START, ignoreOnDeploy: true }), ports: [22] }),
    'labs/lab/services.s: warning: nobody answers: a is not deployed',
  ],
  [
    'somebody to wait for who is not deployed',
    ({ lab }) => {
      const b = lab.addVm('b', { ...START, ignoreOnDeploy: true })
      lab.addVm('a', { ...START, dependsOn: [b] })
    },
    'it does not wait for b, which is not deployed because of its ignoreOnDeploy [NotWaitedFor]',
  ],
  [
    'names of nobody',
    ({ written }) => written({ names: 'hosts' }),
    'labs/written: warning: names: hosts has no effect',
  ],
  ['a player of no roles', ({ written }) => written({ ansible: { timeout: '1h' } }), '[AnsibleUnused]'],
  [
    'access to the internet that nobody has',
    ({ written }) => written({ internetAccess: 'Enabled' }),
    'internetAccess has no effect, since no member is on the pod network',
  ],
  ['aliases that nobody gets', ({ lab }) => lab.addVm('a', { ...START, aliases: ['www'] }), '[AliasUnused]'],
  [
    'a disk that is smaller than its image',
    ({ lab }) => lab.addVm('a', { ...START, diskSize: '5Gi', vmDiskImageTemplate: SOURCE }),
    '[DiskSmallerThanImage]',
  ],
  [
    'a disk that is smaller than that of its release',
    ({ chart, lab, net }) => {
      const image = releaseOf(chart, 'images').image('kali')
      lab.addVm('a', { ...START, image, diskSize: '5Gi' }).connect(net, 1)
    },
    'labs/lab/vms.a: warning: the disk gets 10Gi, the size of its image: diskSize (resources.diskSize) asks for less (5Gi) [DiskSmallerThanImage]',
  ],
  [
    'a further disk that is smaller than that of its release',
    ({ chart, lab, net }) => {
      const image = releaseOf(chart, 'images').image('kali')
      lab.addVm('a', { ...START, disks: [{ name: 'd', image, size: '5Gi' }] }).connect(net, 1)
    },
    'disk d gets 10Gi, the size of its image: its size asks for less (5Gi) [DiskSmallerThanImage]',
  ],
  [
    'a generated password that is too long for Windows',
    ({ lab }) => {
      const logins = lab.addSecret('logins', { generate: ['analyst'] })
      lab.addVm('dc', { ...START, os: 'windows', users: [{ name: 'analyst', password: logins.key('analyst') }] })
    },
    'labs/lab/secrets.logins: warning: its key analyst is made with 24 characters, and dc needs it as a password of Windows, which has at most 20: give it length: 20 in generate of the Secret or, once it is made, name another key that has [PasswordTooLong]',
  ],
  [
    'a Secret whose keys are made as a login to a registry',
    ({ lab }) => {
      lab.addSecret('logins', { generate: ['a'] })
      lab.addContainers('p', { pullSecrets: ['logins'] }).add('c', { image: 'web:1' })
    },
    'labs/lab/secrets.logins: warning: it is no login to a registry, and p names it in pullSecrets',
  ],
  [
    'roles of a machine without an address',
    ({ lab }) => {
      lab.addVm('a', { ...START, build: [router({ enable_nat: true })] })
      lab.patch({ ansible: { image: 'ansible:1' } })
    },
    'the roles of a are not played, because it has no static address: give connect an address [RolesNotPlayed]',
  ],
  [
    'roles of a machine that nobody can log in to',
    ({ lab, net }) => {
      lab.addVm('a', { ...START, build: [router({ enable_nat: true })] }).connect(net, 1)
      lab.patch({ ansible: { image: 'ansible:1' } })
    },
    /Ansible may not get into a, .* \[RolesNotPlayed\]$/,
  ],
  [
    'an override of what the containers say',
    ({ lab }) =>
      lab.addContainers('p', { overrides: { spec: { enableServiceLinks: true } } }).add('c', { image: 'web:1' }),
    /overrides replaces what the rest of the member with containers says: spec.enableServiceLinks .*\[OverridesReplace\]$/,
  ],
  [
    'one volume for two who write',
    ({ lab }) => {
      const volume = lab.addVolume('v', { size: '1Gi' })
      lab.addVm('a', { ...START, disks: [{ name: 'd', volume }] })
      lab.addVm('b', { ...START, disks: [{ name: 'd', volume }] })
    },
    'labs/lab/vms.b: warning: disk d is volume v, which machine a uses too',
  ],
  [
    'a tunnel that nobody may make',
    ({ lab }) => lab.addContainers('p').add('c', { image: 'web:1', devices: ['tun'] }),
    '[TunnelUnusable]',
  ],
  [
    'a file that its reader cannot read',
    ({ lab }) =>
      lab
        .addContainers('p')
        .add('c', { image: 'web:1', runAsUser: 1000, files: { '/a': { content: '', mode: '0600' } } }),
    '[FileUnreadable]',
  ],
]

function author(code: Code): { readonly synth: () => readonly string[] } {
  const chart = new Chart(new App(), 'labs')
  const lab = new Workspace(chart, 'lab')
  const net = lab.addNetwork('net', { cidr: '10.0.0.0/24' })
  code({ chart, lab, net, written: (props) => new Workspace(chart, 'written', props) })
  return {
    synth: () => {
      const warnings: string[] = []
      vi.mocked(console.warn).mockImplementation((text) => warnings.push(text))
      Testing.synth(chart)
      return warnings
    },
  }
}

describe('a mistake of an author', () => {
  it('is none where there is none', () => {
    const { synth } = author(({ lab, net }) => lab.addVm('a', START).connect(net, 1) && net.setGateway(1))
    expect(synth()).toEqual([])
  })

  it.each(BY_COMPILER.slice(0, -1))('is marked by the compiler, and told without it: %s', (_name, code, told) => {
    expect(() => author(code).synth()).toThrow(told)
  })

  it.each(AT_THE_LINE)('throws where it is made: %s', (_name, code, told) => {
    expect(() => author(code)).toThrow(told)
  })

  it.each(AT_SYNTH)('fails the synth: %s', (_name, code, told) => {
    const { synth } = author(code)
    expect(synth).toThrow(told)
    expect(synth).not.toThrow(/(labs\/\S+): .*\1: /)
  })

  it.each(WARNED_OF)('is warned of, and rendered: %s', (_name, code, told) => {
    const warnings = author(code).synth()
    const isTold = (text: string) => (typeof told === 'string' ? text.includes(told) : told.test(text))
    expect(warnings.filter(isTold)).toHaveLength(1)
    expect(warnings.join()).not.toContain('hush')
  })

  it('is one of 50 and more, of which the compiler marks 12 and more, and those that nobody caught are all told', () => {
    const marks = readFileSync(import.meta.filename, 'utf8').match(/^ +\/\/ @ts-expect-error$/gm)
    expect(marks).toHaveLength(BY_COMPILER.length)
    expect(BY_COMPILER.length).toBeGreaterThanOrEqual(12)
    const all = [BY_COMPILER, AT_THE_LINE, AT_SYNTH, WARNED_OF].flat()
    expect(new Set(all.map(([mistake]) => mistake)).size).toBe(all.length)
    expect(all.length).toBeGreaterThanOrEqual(50)
    expect([...UNCAUGHT_ERRORS, ...UNCAUGHT_WARNINGS]).toHaveLength(12)
  })
})
