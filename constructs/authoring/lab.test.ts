import { App, Chart, Duration, JsonPatch, Size, Testing } from 'cdk8s'
import { Construct } from 'constructs'
import { describe, expect, it } from 'vitest'
import { parseWorkspaceSpec } from '../api/workspace.ts'
import { render } from '../children/render.ts'
import { LabContainers } from './lab-containers.ts'
import { LabNetwork, outside } from './lab-network.ts'
import { defineRole } from './lab-role.ts'
import { LabSecret, plainText } from './lab-secret.ts'
import { LabVm } from './lab-vm.ts'
import { LabVolume } from './lab-volume.ts'
import { Release } from './release.ts'
import { VMDiskImage } from './vm-disk-image.ts'
import { Warnings } from './warnings.ts'
import { Workspace, type WorkspaceProps } from './workspace.ts'

const START = { image: 'debian', cpu: 1, memory: '1Gi' } as const
const inApp = () => new Chart(new App(), 'labs')
const aLab = (props?: WorkspaceProps) => new Workspace(inApp(), 'lab', props)
const specOf = (lab: Workspace) => (lab.toJson() as { spec: Record<string, unknown> }).spec

/** As a team would write it. */
class Router extends Construct {
  constructor(scope: Construct, id: string, props: { uplink: LabNetwork; inside: readonly LabNetwork[] }) {
    super(scope, id)
    const vm = Workspace.of(this).addVm(id, START).connect(props.uplink, 2)
    for (const network of props.inside) {
      vm.connect(network, 1)
      network.setGateway(vm)
      props.uplink.addRoute(network, vm)
    }
  }
}

describe('a lab whose parts are added', () => {
  it('is the lab whose spec is written', () => {
    const lab = aLab({ names: 'hosts', volumes: [{ name: 'written', size: '1Gi' }] })
    const net = lab.addNetwork('net', { cidr: '10.0.0.0/24', gateway: 1, nameservers: [outside('9.9.9.9')] })
    const both = lab.addNetwork('both', { cidrs: ['10.1.0.0/24', 'fd00:1::/64'], mtu: 1400 })
    const plain = lab.addNetwork('plain')
    const data = lab.addVolume('data', { size: Size.gibibytes(2) })
    const logins = lab.addSecret('logins', { generate: ['alice', { key: 'bob', length: 12 }] })
    const gate = lab
      .addVm('gate', START)
      .connect(net, 1)
      .connect(both, [10, '10.1.0.20'])
      .connect(plain, [], { addressing: 'none' })
    lab
      .addVm('desktop', {
        ...START,
        diskSize: Size.mebibytes(1536),
        disks: [
          { name: 'data', volume: data },
          { name: 'cd', image: 'tools', readOnly: true },
        ],
        users: [
          { name: 'alice', password: logins.key('alice'), sudo: true, groups: ['docker', 'kvm'] },
          { name: 'bob', password: LabSecret.fromName('made').key('bob') },
          { name: 'eve', password: plainText('secret') },
        ],
        dependsOn: [gate],
        build: [{ role: 'base', variables: { mode: null } }],
      })
      .connectToPodNetwork({ model: 'e1000' })
    const web = lab.addContainers('web', { aliases: ['www'] }).connect(net, '10.0.0.80')
    web
      .addInit('first', { image: 'busybox:1', mounts: [data.at('/data', { subPath: 'db' }), lab.ansibleAt('/plays')] })
      .add('nginx', {
        image: 'nginx:1',
        cpu: '100m',
        limits: { memory: '1Gi' },
        env: {
          GATE: gate.addressOn(net),
          PORT: 80,
          PASSWORD: logins.key('bob'),
          NODE: { fieldRef: { fieldPath: 'spec.nodeName' } },
        },
        files: { '/etc/motd': 'hello', '/etc/key': logins.key('bob'), '/run.sh': { content: 'x', mode: '0755' } },
        ports: [80],
      })
    lab.addService('web', { member: web, ports: [80, { port: 443, name: 'tls' }] })

    const spec = {
      names: 'hosts',
      networks: [
        { name: 'net', cidr: '10.0.0.0/24', rangeGateway: '10.0.0.1', nameservers: { addresses: ['9.9.9.9'] } },
        { name: 'both', cidrs: ['10.1.0.0/24', 'fd00:1::/64'], mtu: 1400 },
        { name: 'plain' },
      ],
      volumes: [
        { name: 'written', size: '1Gi' },
        { name: 'data', size: '2Gi' },
      ],
      secrets: [{ name: 'logins', generate: [{ key: 'alice' }, { key: 'bob', length: 12 }] }],
      vms: [
        {
          name: 'gate',
          backingVMDiskImage: 'debian',
          resources: { cpu: 1, memory: '1Gi' },
          interfaces: [
            { network: 'net', ipAddress: '10.0.0.1/24' },
            { network: 'both', ipAddresses: ['10.1.0.10/24', 'fd00:1::a/64', '10.1.0.20/24'] },
            { network: 'plain', addressing: 'none' },
          ],
        },
        {
          name: 'desktop',
          backingVMDiskImage: 'debian',
          resources: { cpu: 1, memory: '1Gi' },
          diskSize: '1536Mi',
          disks: [
            { name: 'data', volume: 'data' },
            { name: 'cd', backingVMDiskImage: 'tools', readOnly: true },
          ],
          users: [
            {
              name: 'alice',
              passwordSecretRef: { name: 'logins', key: 'alice' },
              lock_passwd: false,
              sudo: 'ALL=(ALL) NOPASSWD:ALL',
              groups: 'docker,kvm',
            },
            { name: 'bob', passwordSecretRef: { name: 'made', key: 'bob' }, lock_passwd: false },
            { name: 'eve', plain_text_passwd: 'secret', lock_passwd: false },
          ],
          interfaces: [{ network: 'pod', model: 'e1000' }],
          dependsOn: ['gate'],
          ansible: { roles: { build: [{ role: 'base', variables: { mode: null } }] } },
        },
      ],
      containerClusters: [
        {
          name: 'web',
          aliases: ['www'],
          interfaces: [{ network: 'net', ipAddress: '10.0.0.80/24' }],
          initContainers: [
            {
              name: 'first',
              image: 'busybox:1',
              volumeMounts: [
                { name: 'data', containerPath: '/data', subPath: 'db' },
                { name: 'ansible', containerPath: '/plays' },
              ],
            },
          ],
          containers: [
            {
              name: 'nginx',
              image: 'nginx:1',
              resources: { cpu: '100m', limits: { memory: '1Gi' } },
              env: [
                { name: 'GATE', value: '10.0.0.1' },
                { name: 'PORT', value: '80' },
                { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'logins', key: 'bob' } } },
                { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
              ],
              files: [
                { path: '/etc/motd', content: 'hello' },
                { path: '/etc/key', secretKeyRef: { name: 'logins', key: 'bob' } },
                { path: '/run.sh', content: 'x', mode: '0755' },
              ],
              portMappings: [{ containerPort: 80 }],
            },
          ],
        },
      ],
      services: [{ name: 'web', member: 'web', ports: [{ port: 80 }, { port: 443, name: 'tls' }] }],
    }
    const written = parseWorkspaceSpec(spec)
    Warnings.of(lab).acknowledgeAll()
    expect(written).toMatchObject({ ok: true })
    expect(specOf(lab)).toEqual(JSON.parse(JSON.stringify(written.ok && written.spec)))
  })

  it('takes the parts of a construct of a team, which finds the lab that it is in', () => {
    const lab = aLab()
    const uplink = lab.addNetwork('uplink', { cidr: '10.0.0.0/24' })
    const inside = lab.addNetwork('inside', { cidr: '10.1.0.0/24' })
    new Router(lab, 'router', { uplink, inside: [inside] })
    expect(specOf(lab)).toMatchObject({
      networks: [
        { routes: [{ destinationNetworkCidr: '10.1.0.0/24', nextHopIpAddress: '10.0.0.2' }] },
        { rangeGateway: '10.1.0.1' },
      ],
      vms: [{ name: 'router', interfaces: [{ ipAddress: '10.0.0.2/24' }, { ipAddress: '10.1.0.1/24' }] }],
    })
    expect(() => Workspace.of(inApp())).toThrow('labs: is in no Workspace')
  })

  it('is routed in both kinds of addresses on dual stack', () => {
    const lab = aLab()
    const uplink = lab.addNetwork('uplink', { cidrs: ['10.0.0.0/24', 'fd00::/64'], gateway: outside(14) })
    const inside = lab.addNetwork('inside', { cidrs: ['10.1.0.0/24', 'fd00:1::/64'] })
    new Router(lab, 'router', { uplink, inside: [inside] })
    inside.addNameserver(lab.addVm('dns', START).connect(inside, 7))
    uplink.addNameserver(7)
    lab.addVm('other', START).connect(uplink, '10.0.0.7')
    const [up, within] = specOf(lab)['networks'] as readonly object[]
    expect(up).toMatchObject({
      rangeGateway: '10.0.0.14',
      routes: [
        { destinationNetworkCidr: '10.1.0.0/24', nextHopIpAddress: '10.0.0.2' },
        { destinationNetworkCidr: 'fd00:1::/64', nextHopIpAddress: 'fd00::2' },
        { destinationNetworkCidr: '::/0', nextHopIpAddress: 'fd00::e' },
      ],
      nameservers: { addresses: ['10.0.0.7'] },
    })
    expect(within).toMatchObject({
      rangeGateway: '10.1.0.1',
      routes: [{ destinationNetworkCidr: '::/0', nextHopIpAddress: 'fd00:1::1' }],
      nameservers: { addresses: ['10.1.0.7', 'fd00:1::7'] },
    })
  })

  it('keeps the default route of IPv6 that its author gave', () => {
    const lab = aLab()
    const net = lab.addNetwork('net', { cidrs: ['10.0.0.0/24', 'fd00::/64'], gateway: 1 })
    net.addRoute('::/0', outside('fd00::9'))
    lab.addVm('router', START).connect(net, 1)
    const routes = [{ destinationNetworkCidr: '::/0', nextHopIpAddress: 'fd00::9' }]
    expect(specOf(lab)['networks']).toMatchObject([{ rangeGateway: '10.0.0.1', routes }])
  })

  it('has the images of a release, whose names nobody types', () => {
    const chart = inApp()
    const images = {
      kali: { url: 'https://images.example.com/kali.qcow2' },
      dc1: { url: 'https://images.example.com/dc1.qcow2' },
    }
    const release = new Release(chart, 'images', {
      workspaceId: 'lab-033',
      version: '2.0.0',
      images,
      sourceType: 'http',
      diskSize: '1Gi',
    })
    const own = new VMDiskImage(chart, 'own', {
      metadata: { name: 'own', namespace: 'vmdi-farm' },
      url: 'https://images.example.com/own.qcow2',
    })
    const lab = new Workspace(chart, 'lab')
    lab.addVm('a', { ...START, image: release.image('dc1') })
    lab.addVm('b', { ...START, image: own })
    lab.addVm('c', {
      ...START,
      image: Release.fromVersion({ workspaceId: 'lab-033', version: '2.0.0' }).image('kali'),
      vmDiskImageTemplate: release.template('kali'),
    })
    lab.addVm('d', { ...START, image: VMDiskImage.fromName('elsewhere') })
    const [sync, , { spec }] = Testing.synth(chart)
    expect(sync).toMatchObject({
      kind: 'DataSync',
      metadata: { name: 'lab-033-2.0.0', namespace: 'vmdi-farm' },
      spec: { vms: [{ name: 'kali' }, { name: 'dc1' }], version: '2.0.0' },
    })
    expect(spec.vms).toMatchObject([
      { backingVMDiskImage: 'lab-033-2.0.0-dc1-9cef6943' },
      { backingVMDiskImage: 'own' },
      {
        backingVMDiskImage: 'lab-033-2.0.0-kali-84b2ada5',
        vmDiskImageTemplate: { name: 'kali', url: images.kali.url, sourceType: 'http', diskSize: '1Gi' },
      },
      { backingVMDiskImage: 'elsewhere' },
    ])
    expect(() => release.image('dc2' as 'dc1')).toThrow(
      'labs/images: has no image "dc2": add it to images, beside kali, dc1',
    )
  })

  it('can have what no word says', () => {
    const lab = aLab()
    lab.addVm('a', START).patch({ resources: { cpu: '3', memory: null }, instancetype: null, aliases: ['x'] })
    expect(() => lab.toJson()).toThrow('labs/lab/vms.a: memory (spec.vms[0].resources.memory): must be set')
    lab.patch({ vms: null, powerState: 'Halted', updateStrategy: { type: 'Recreate' } })
    lab.patch({ powerState: null, updateStrategy: { maxUnavailable: 2 } })
    expect(specOf(lab)).toEqual({ updateStrategy: { type: 'Recreate', maxUnavailable: 2 } })
    lab.patch({ updateStrategy: null })
    lab.addJsonPatch(JsonPatch.add('/spec/names', 'hosts'))
    expect(specOf(lab)).toEqual({ names: 'hosts' })
  })
})

it('takes sizes, durations and times of TypeScript, wherever a text of one is wanted', () => {
  const chart = inApp()
  const expiresAt = new Date(Date.UTC(2099, 0, 31, 18))
  const lab = new Workspace(chart, 'lab', { lifetime: Duration.minutes(90), expiresAt })
  lab.addVolume('data', { size: Size.kibibytes(1536) })
  Warnings.of(lab).acknowledge('VolumeUnused')
  const diskSize = Size.tebibytes(1)
  const release = new Release(chart, 'images', {
    workspaceId: 'x',
    sourceType: 'http',
    diskSize,
    images: { a: { url: 'https://images.example.com/a.qcow2' } },
  })
  lab.addVm('a', { ...START, image: release.image('a'), vmDiskImageTemplate: release.template('a') })
  const [{ spec }, images] = Testing.synth(chart)
  expect(spec).toMatchObject({
    lifetime: '1h30m',
    expiresAt: '2099-01-31T18:00:00.000Z',
    volumes: [{ size: '1536Ki' }],
  })
  expect(spec.vms[0].vmDiskImageTemplate).toMatchObject({ diskSize: '1Ti' })
  expect(images.spec).toMatchObject({ diskSize: '1Ti' })
  expect(() => new Workspace(inApp(), 'lab', { expiresAt: new Date('soon') }).toJson()).toThrow(
    'spec.expiresAt: must be a time such as 2026-01-31T18:00:00Z; it is "Invalid Date"',
  )
})

it('a role is defined once, with the types of its variables', () => {
  const router = defineRole<{ enable_nat: boolean; index?: number }>('linuxRouter', { index: 1 })
  expect(router({ enable_nat: true })).toEqual({ role: 'linuxRouter', variables: { index: 1, enable_nat: true } })
  expect(defineRole('runtimeChecks')()).toEqual({ role: 'runtimeChecks' })
  // @ts-expect-error: a variable that must be given
  expect(router()).toEqual({ role: 'linuxRouter', variables: { index: 1 } })
})

describe('an object of a lab', () => {
  /** What each method that takes one is given, and the method. */
  const USES: readonly [
    string,
    (of: Workspace) => unknown,
    (given: never, lab: Workspace, net: LabNetwork) => unknown,
  ][] = [
    ['a network in connect', aNetwork, (net: LabNetwork, lab) => lab.addVm('a', START).connect(net)],
    ['a network in connect of containers', aNetwork, (net: LabNetwork, lab) => lab.addContainers('a').connect(net)],
    ['a network in addRoute', aNetwork, (to: LabNetwork, _lab, net) => net.addRoute(to, 1)],
    [
      'a network in routes',
      aNetwork,
      (to: LabNetwork, lab) => lab.addNetwork('r', { cidr: '10.3.0.0/24', routes: [{ to, via: 1 }] }),
    ],
    ['a member in addRoute', aMember, (via: LabVm, _lab, net) => net.addRoute('10.9.0.0/16', via)],
    ['a member in routes', aMember, (via: LabVm, lab) => lab.addNetwork('r', { routes: [{ to: '10.9.0.0/16', via }] })],
    ['a member as gateway', aMember, (gateway: LabVm, lab) => lab.addNetwork('r', { gateway })],
    ['a member in setGateway', aMember, (vm: LabVm, _lab, net) => net.setGateway(vm)],
    ['a member as name server', aMember, (vm: LabVm, lab) => lab.addNetwork('r', { nameservers: [vm] })],
    ['a member in addNameserver', aMember, (vm: LabVm, _lab, net) => net.addNameserver(vm)],
    ['a member in addService', aMember, (member: LabVm, lab) => lab.addService('s', { member, ports: [80] })],
    ['a member to wait for', aMember, (vm: LabVm, lab) => lab.addVm('a', { ...START, dependsOn: [vm] })],
    ['a member for containers to wait for', aMember, (vm: LabVm, lab) => lab.addContainers('a', { dependsOn: [vm] })],
    [
      'a volume as a disk',
      aVolume,
      (volume: LabVolume, lab) => lab.addVm('a', { ...START, disks: [{ name: 'd', volume }] }),
    ],
    [
      'a volume of a container',
      aVolume,
      (volume: LabVolume, lab) => lab.addContainers('a').add('a', { image: 'a:1', mounts: [volume.at('/a')] }),
    ],
    [
      'a volume of an init container',
      aVolume,
      (volume: LabVolume, lab) => lab.addContainers('a').addInit('a', { image: 'a:1', mounts: [volume.at('/a')] }),
    ],
    [
      'the plays of a lab',
      (lab) => lab,
      (of: Workspace, lab) => lab.addContainers('a').add('a', { image: 'a:1', mounts: [of.ansibleAt('/a')] }),
    ],
    [
      'a key as a password',
      aSecret,
      (secret: LabSecret, lab) => lab.addVm('a', { ...START, users: [{ name: 'u', password: secret.key('k') }] }),
    ],
    [
      'a key as a variable',
      aSecret,
      (secret: LabSecret, lab) => lab.addContainers('a').add('a', { image: 'a:1', env: { K: secret.key('k') } }),
    ],
    [
      'a key as a file',
      aSecret,
      (secret: LabSecret, lab) =>
        lab.addContainers('a').addInit('a', { image: 'a:1', files: { '/k': secret.key('k') } }),
    ],
  ]
  function aNetwork(lab: Workspace) {
    return lab.addNetwork('given', { cidr: '10.1.0.0/24' })
  }
  function aMember(lab: Workspace) {
    return lab.addVm('given', START)
  }
  function aVolume(lab: Workspace) {
    return lab.addVolume('given', { size: '1Gi' })
  }
  function aSecret(lab: Workspace) {
    return lab.addSecret('given', { generate: ['k'] })
  }

  it.each(USES)('is refused by every other one: %s', (_name, make, use) => {
    const chart = inApp()
    const [own, other] = ['own', 'other'].map((name) => new Workspace(chart, name)) as [Workspace, Workspace]
    const given = make(own) as never
    const netOf = (lab: Workspace) => lab.addNetwork('net', { cidr: '10.0.0.0/24' })
    use(given, own, netOf(own))
    const net = netOf(other)
    expect(() => use(given, other, net)).toThrow(/^labs\/other[^ ]*: .* labs\/own[^ ]* is of another lab: /)
  })
})

describe('a construct of a team that makes parts in itself', () => {
  class Site extends Construct {
    constructor(scope: Construct, id: string) {
      super(scope, id)
      const net = new LabNetwork(this, `${id}-lan`, { cidr: '10.0.0.0/24' })
      const password = new LabSecret(this, `${id}-logins`, { generate: ['k'] }).key('k')
      const volume = new LabVolume(this, `${id}-data`, { size: '1Gi' })
      const vm = new LabVm(this, `${id}-desk`, { ...START, users: [{ name: 'u', password }] })
      new LabContainers(this, `${id}-web`, { dependsOn: [vm] })
        .connect(net, 1)
        .add('web', { image: 'web:1', mounts: [volume.at('/data')] })
    }
  }

  it('adds them to the lab', () => {
    const lab = aLab()
    const site = new Site(lab, 'red')
    expect(Warnings.of(site).all()).toMatchObject([
      { id: 'NoNetwork', at: { node: { path: 'labs/lab/red/vms.red-desk' } } },
    ])
    Warnings.of(site).acknowledge('NoNetwork')
    expect(specOf(lab)).toMatchObject({
      networks: [{ name: 'red-lan' }],
      secrets: [{ name: 'red-logins' }],
      volumes: [{ name: 'red-data' }],
      vms: [{ name: 'red-desk' }],
      containerClusters: [{ name: 'red-web', interfaces: [{ network: 'red-lan' }] }],
    })
  })

  it('is told of a name that the lab has, and of a place that is in no lab', () => {
    const lab = aLab()
    lab.addVm('red-desk', START)
    expect(() => new Site(lab, 'red')).toThrow(
      /^labs\/lab: there is a machine "red-desk" already \(made at .*lab\.test\.ts:.*, and again at .*lab\.test\.ts:/,
    )
    expect(() => new LabVm(inApp(), 'a', START)).toThrow('labs: is in no Workspace: make it below one')
  })
})

describe('a mistake in a lab', () => {
  it.each<[string, (lab: Workspace, net: LabNetwork) => unknown, string]>([
    [
      'a host number out of range',
      (lab, net) => lab.addVm('a', START).connect(net, 300),
      'labs/lab/networks.net: 10.0.0.0/24 has no host 300',
    ],
    [
      'the broadcast address',
      (lab, net) => lab.addVm('a', START).connect(net, '10.0.0.255'),
      '10.0.0.255 stands for the network or for all of its hosts',
    ],
    [
      'an address of another network',
      (lab, net) => lab.addVm('a', START).connect(net, '10.0.1.7'),
      '10.0.1.7 is not in 10.0.0.0/24',
    ],
    [
      'another length',
      (lab, net) => lab.addVm('a', START).connect(net, '10.0.0.7/25'),
      '10.0.0.7/25 must have the length of the network, /24',
    ],
    ['no address', (lab, net) => lab.addVm('a', START).connect(net, 'ten'), '"ten" is no address'],
    [
      'an address that somebody has',
      (lab, net) => {
        lab.addVm('a', START).connect(net, 7)
        lab.addContainers('b').connect(net, '10.0.0.7')
      },
      'labs/lab/networks.net: 10.0.0.7 is the address of a: take another one',
    ],
    [
      'a second interface on a network',
      (lab, net) => lab.addVm('a', START).connect(net, 7).connect(net, 8),
      'labs/lab/vms.a: is on network net already',
    ],
    [
      'a network of another lab',
      (lab, net) => new Workspace(lab.node.scope as Chart, 'other').addVm('a', START).connect(net, 7),
      'labs/other/vms.a: network labs/lab/networks.net is of another lab',
    ],
    [
      'a number where there is no cidr',
      (lab) => lab.addVm('a', START).connect(lab.addNetwork('plain'), 7),
      'networks.plain: has no cidr, so host 7 has no address',
    ],
    [
      'a key that is not made',
      (lab) => lab.addSecret('s', { generate: ['a'] }).key('b'),
      'labs/lab/secrets.s: has no key "b": add it to generate, beside a',
    ],
    [
      'an address that a member has not',
      (lab, net) => lab.addVm('a', START).addressOn(net),
      'labs/lab/vms.a: has no static address on network net',
    ],
  ])('throws where it is made: %s', (_name, make, message) => {
    const lab = aLab()
    const net = lab.addNetwork('net', { cidr: '10.0.0.0/24' })
    expect(() => make(lab, net)).toThrow(message)
  })

  it('is told with all others of the app, each with the path of its construct, whoever renders it', () => {
    const build = (chart: Construct) => {
      new VMDiskImage(chart, 'image', { metadata: { name: 'A' }, url: 'ftp://x' })
      const lab = new Workspace(chart, 'lab')
      const net = lab.addNetwork('net', {
        cidr: '10.0.0.0/24',
        gateway: 1,
        routes: [{ to: '0.0.0.0/0', via: outside('10.9.0.1') }],
      })
      net.addNameserver(lab.addVm('dns', { ...START, cpu: 'many' }))
      lab.addVolume('data', { size: '1 GB' })
      new Workspace(chart, 'Other')
    }
    const said = [
      'the VMDiskImage is not valid',
      'metadata.name: ',
      'spec.url: ',
      'the Workspace is not valid',
      'lab/networks.net: gateway 10.0.0.1 (host 1) is the address of no member on network net: connect one with it, or write outside(1)',
      'lab/networks.net: route to 0.0.0.0/0: via (spec.networks[0].routes[0].nextHopIpAddress): via (nextHopIpAddress) 10.9.0.1',
      'lab/networks.net: name server dns has no static address on network net',
      'lab/vms.dns: cpu (spec.vms[0].resources.cpu): ',
      'lab/volumes.data: spec.volumes[0].size: ',
      'it is "Other"',
    ]
    const chart = inApp()
    build(chart)
    for (const rendered of [() => Testing.synth(chart), () => render(build)]) {
      let text = ''
      try {
        rendered()
      } catch (error) {
        text = String(error)
      }
      for (const one of said) expect(text).toContain(one)
    }
  })
})

describe('all that is wrong with a lab is told at once', () => {
  const nics = (of: (at: number) => object) =>
    Array.from({ length: 6 }, (_, at) => ({
      name: `v${at}`,
      backingVMDiskImage: 'debian',
      resources: { cpu: 1, memory: '1Gi' },
      interfaces: [of(at)],
    }))
  const linesOf = (props: object) => {
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab', props as never)
    return lab.node.validate().flatMap((one) => one.split('\n  ').slice(1))
  }
  const networks = [{ name: 'n', cidr: '10.0.0.0/24' }]

  it.each<[string, (at: number) => object, (at: number) => string, number]>([
    [
      'wrong networks',
      (at) => ({ network: `m${at}` }),
      (at) => `spec.vms[${at}].interfaces[0].network: machine "v${at}" has an interface on network "m${at}", which is`,
      0,
    ],
    [
      'wrong addresses',
      (at) => ({ network: 'n', ipAddresses: [`10.0.0.${at + 1}/24`, `10.9.0.${at + 1}/24`] }),
      (at) =>
        `spec.vms[${at}].interfaces[0].ipAddresses[1]: machine "v${at}" has on network "n", which is 10.0.0.0/24, the address 10.9.0.${at + 1}/24`,
      0,
    ],
    [
      'one address',
      () => ({ network: 'n', ipAddress: '10.0.0.1/24' }),
      (at) =>
        `spec.vms[${at}].interfaces[0].ipAddress: "v${at}" has the address 10.0.0.1/24 on network "n", which "v0" has too`,
      1,
    ],
  ])('of six machines: %s', (_name, nic, told, from) => {
    const lines = linesOf({ networks, vms: nics(nic) })
    expect(lines).toHaveLength(6 - from)
    for (const [nth, line] of lines.entries()) expect(line).toContain(told(nth + from))
  })

  it('of rules of every kind', () => {
    const source = { sourceType: 'http', diskSize: '1Gi' } as const
    const vm = { backingVMDiskImage: 'debian', resources: { cpu: 1, memory: '1Gi' } }
    const lines = linesOf({
      networks: [
        { ...networks[0], routes: [{ destinationNetworkCidr: '10.7.0.0/24', nextHopIpAddress: '192.168.5.5' }] },
      ],
      vms: [
        {
          ...vm,
          name: 'a',
          dependsOn: ['y', 'z'],
          interfaces: [{ network: 'n' }],
          resources: { cpu: 'many', memory: '1Gi' },
        },
        { ...vm, name: 'b', vmDiskImageTemplate: { ...source, url: 'https://a.example.com/1' } },
        { ...vm, name: 'c', vmDiskImageTemplate: { ...source, url: 'https://a.example.com/2' } },
        { ...vm, name: 'd', dependsOn: ['e'], overrides: { spec: 1, running: true } },
        { ...vm, name: 'e', dependsOn: ['d'] },
      ],
      containerClusters: [
        { name: 'p', containers: [{ name: 'c', image: 'web:1', volumeMounts: [{ name: 'v', containerPath: '/v' }] }] },
      ],
      services: [
        { name: 's', member: 'nobody', ports: [{ port: 80 }] },
        { name: 't', member: 'a', ports: [{ port: 22 }] },
      ],
    })
    for (const told of [
      'nextHopIpAddress 192.168.5.5',
      'mounts volume "v"',
      'service "s" is for member "nobody"',
      'service "t" is for machine "a", which is not on the pod network',
      'spec.vms[0].resources.cpu: ',
      'dependsOn names y',
      'dependsOn names z',
      'machine c: spec.vms[2]: its vmDiskImageTemplate is not used',
      'machine d: spec.vms[3]: overrides: spec is no field that can be overridden: remove it, or correct its spelling',
      'machine d: spec.vms[3]: overrides: running ',
      'dependsOn leads from d back to it',
      'dependsOn leads from e back to it',
    ])
      expect(lines.filter((line) => line.includes(told))).toHaveLength(1)
    expect(lines).toHaveLength(12)
  })

  it('of items that overrides name', () => {
    const containers = [{ name: 'c', image: 'web:1' }]
    const overrides = { spec: { containers: [{ name: 'other', imagePullPolicy: 'Always' }] } }
    expect(linesOf({ containerClusters: [{ name: 'p', containers, overrides }] })).toEqual([
      'member p: spec.containerClusters[0]: overrides: spec.containers[other] is not there: name one of spec.containers[c]',
    ])
  })
})

describe('a part of a lab', () => {
  it('that was taken out of the tree is not rendered', () => {
    const chart = new Chart(new App(), 'labs')
    const lab = new Workspace(chart, 'lab')
    for (const name of ['a', 'b']) lab.addVm(name, { image: 'debian', cpu: 1, memory: '1Gi' })
    lab.node.tryRemoveChild('vms.a')
    expect(Testing.synth(chart)[0].spec.vms).toMatchObject([{ name: 'b' }])
  })

  it('has a Service with the name by which it is reached', () => {
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab')
    const member = lab.addContainers('web').add('web', { image: 'web:1' })
    expect(lab.addService('www', { member, ports: [80] })).toMatchObject({
      serviceName: 'www',
      hostName: 'www.lab.svc',
    })
  })

  it('may have fields without a value, whatever they are called', () => {
    const lab = new Workspace(new Chart(new App(), 'labs'), 'lab', { later: undefined } as never)
    expect(lab.node.validate()).toEqual([])
  })

  it('may have a role whose variables all have defaults', () => {
    const router = defineRole<{ nat: boolean }>('router', { nat: true })
    expect([router(), router({ nat: false })]).toEqual([
      { role: 'router', variables: { nat: true } },
      { role: 'router', variables: { nat: false } },
    ])
  })
})

it('a construct of a team around a lab is asked, too, where the lab alone is rendered', () => {
  const around = new Construct(new Chart(new App(), 'labs'), 'around')
  const lab = new Workspace(around, 'lab')
  around.node.addValidation({ validate: () => ['has too many desks: take some away'] })
  expect(() => lab.toJson()).toThrow('labs/around: has too many desks: take some away')
})
