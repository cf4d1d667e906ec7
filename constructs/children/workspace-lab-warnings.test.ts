import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { parseWorkspaceSpec, type WorkspaceSpec } from '../api/workspace.ts'
import { templateWarnings, unusedVolumeWarnings, wholeLabWarnings } from './workspace-lab-warnings.ts'
import { clusterWarnings, machineNetworkWarnings, networkWarnings } from './workspace-warnings.ts'

function parsed(raw: object): WorkspaceSpec {
  const result = parseWorkspaceSpec(raw)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.spec
}

/** All warnings of the spec alone. */
function warnings(raw: object): string[] {
  const spec = parsed(raw)
  const { networks = [], vms = [], containerClusters = [], volumes = [] } = spec
  const of = (name: string, texts: readonly string[]) => texts.map((text) => `${name}: ${text}`)
  const workspace = { name: 'lab', uid: 'lab-uid' }
  return [
    ...wholeLabWarnings(spec),
    ...networks.flatMap((network) => of(network.name, networkWarnings({ spec, network }))),
    ...vms.flatMap((vm) => of(vm.name, [...templateWarnings(spec, vm), ...machineNetworkWarnings(spec, vm)])),
    ...containerClusters.flatMap((cluster) =>
      of(cluster.name, clusterWarnings({ workspace, spec, cluster, driver: 'bridge' })),
    ),
    ...volumes.flatMap((volume) => of(volume.name, unusedVolumeWarnings(spec, volume))),
  ]
}

const vm = (name: string, addresses: Readonly<Record<string, string | undefined>>, more: object = {}) => ({
  name,
  backingVMDiskImage: 'ubuntu',
  resources: { cpu: '1', memory: '1Gi' },
  interfaces: Object.entries(addresses).map(([network, ipAddress]) => ({ network, ...(ipAddress && { ipAddress }) })),
  ...more,
})
const pod = (name: string, more: object = {}, container: object = {}) => ({
  name,
  containers: [{ name, image: 'web:1', ...container }],
  ...more,
})
const A = { name: 'a', cidr: '10.0.0.0/24' }
const B = { name: 'b', cidr: '10.0.1.0/24' }
const ON_BOTH = {
  interfaces: [
    { network: 'a', ipAddress: '10.0.0.5/24' },
    { network: 'b', ipAddress: '10.0.1.5/24' },
  ],
}
const template = (more: object = {}) => ({
  vmDiskImageTemplate: {
    name: 'Ubuntu',
    url: 'https://images.example.com/u.qcow2',
    sourceType: 'http',
    diskSize: '18Gi',
    ...more,
  },
})
const ANSWERED = { ...A, nameservers: { addresses: ['10.0.1.2', '192.0.2.53'] } }
const ROLES = { ansible: { roles: { build: [{ role: 'router' }] } } }

it.each<readonly [what: string, wrong: object, warning: string, right: object]>([
  [
    'a gateway that is not deployed',
    {
      networks: [{ ...A, rangeGateway: '10.0.0.1' }],
      vms: [vm('gate', { a: '10.0.0.1/24' }, { ignoreOnDeploy: true }), vm('one', { a: '10.0.0.5/24' })],
    },
    'a: 10.0.0.1 is an address of gate, which is not deployed because of its ignoreOnDeploy, so the route to 0.0.0.0/0 leads nowhere: give it to a member that is deployed',
    {
      networks: [{ ...A, rangeGateway: '10.0.0.1' }],
      vms: [vm('gate', { a: '10.0.0.1/24' }), vm('one', { a: '10.0.0.5/24' })],
    },
  ],
  [
    'a name server that nobody is',
    { networks: [ANSWERED, B], vms: [vm('one', { a: '10.0.0.5/24' }), vm('dns', { b: '10.0.1.3/24' })] },
    'a: no member has the address 10.0.1.2, so nobody answers as its name server: give it to a machine or a container cluster',
    { networks: [ANSWERED, B], vms: [vm('one', { a: '10.0.0.5/24' }), vm('dns', { b: '10.0.1.2/24' })] },
  ],
  [
    'two templates for one image',
    {
      vms: [
        vm('one', {}, template()),
        vm('two', {}, template({ url: 'https://images.example.com/v.qcow2', diskSize: '20Gi' })),
      ],
    },
    'two: its vmDiskImageTemplate is not used, since that of one comes first for image ubuntu, and differs in url, diskSize: make them the same, or name another image',
    { vms: [vm('one', {}, template()), vm('two', {}, template({ diskSize: '18432Mi', name: 'Other words' }))] },
  ],
  [
    'a network with the name of that of Kubernetes',
    { networks: [{ ...A, name: 'pod' }] },
    "pod: a machine's interface on pod without an address is on the pod network of Kubernetes, not on this one: give the network another name",
    { networks: [{ ...A, name: 'pods' }] },
  ],
  [
    'names of nobody',
    { names: 'hosts', networks: [A], vms: [vm('one', { a: undefined })] },
    'names: hosts has no effect, since no member has a static address on a network of the workspace: give members an ipAddress, or remove it',
    { names: 'hosts', networks: [A], vms: [vm('one', { a: '10.0.0.5/24' })] },
  ],
  [
    'access to the internet of nobody',
    { internetAccess: 'Enabled', networks: [A], vms: [vm('one', { a: '10.0.0.5/24' })] },
    'internetAccess has no effect, since no member is on the pod network: give one an interface with network: pod, such as a router for the others, or remove it',
    { internetAccess: 'Enabled', networks: [A], vms: [vm('one', { a: '10.0.0.5/24' }), vm('two', {})] },
  ],
  [
    'a volume of nobody',
    { volumes: [{ name: 'data', size: '1Gi' }], containerClusters: [pod('web')] },
    'data: nobody uses it: mount it in a container (volumeMounts), make it a disk of a machine, or remove it',
    {
      volumes: [{ name: 'data', size: '1Gi' }],
      containerClusters: [pod('web', {}, { volumeMounts: [{ name: 'data', containerPath: '/data' }] })],
    },
  ],
  [
    'networks that overlap in one member',
    {
      networks: [A, { ...B, cidr: '10.0.0.0/16' }],
      vms: [vm('router', { a: '10.0.0.1/24', b: '10.0.7.1/16' })],
    },
    'router: its networks a and b overlap (10.0.0.0/24 and 10.0.0.0/16), so what it sends to one may leave on the other: give one of them another cidr',
    {
      networks: [A, { ...B, cidr: '10.0.0.0/24' }],
      vms: [
        vm('one', { a: '10.0.0.1/24' }),
        vm('two', { b: '10.0.0.1/24' }),
        vm('bridge', { a: undefined, b: undefined }),
      ],
    },
  ],
  [
    'routes of two networks to the same place',
    {
      networks: [
        { ...A, routes: [{ destinationNetworkCidr: '10.9.0.0/16', nextHopIpAddress: '10.0.0.1' }] },
        { ...B, routes: [{ destinationNetworkCidr: '10.9.0.0/16', nextHopIpAddress: '10.0.1.1' }] },
      ],
      vms: [vm('gate', { a: '10.0.0.1/24' }), vm('gate-2', { b: '10.0.1.1/24' })],
      containerClusters: [pod('both', ON_BOTH)],
    },
    'both: the route to 10.9.0.0/16 of network b (10.0.1.1) is not used, since that of network a comes first',
    {
      networks: [
        { ...A, routes: [{ destinationNetworkCidr: '10.9.0.0/16', nextHopIpAddress: '10.0.0.1' }] },
        { ...B, routes: [{ destinationNetworkCidr: '10.8.0.0/16', nextHopIpAddress: '10.0.1.1' }] },
      ],
      vms: [vm('gate', { a: '10.0.0.1/24' }), vm('gate-2', { b: '10.0.1.1/24' })],
      containerClusters: [pod('both', ON_BOTH)],
    },
  ],
  [
    'an image for Ansible that has nothing to play',
    { ansible: { image: 'lab/ansible:1', timeout: '10m' }, networks: [A], vms: [vm('one', { a: '10.0.0.5/24' })] },
    'ansible (image, timeout) has no effect, since no machine has roles: give one ansible.roles, or remove it',
    { ansible: { image: 'lab/ansible:1' }, networks: [A], vms: [vm('one', { a: '10.0.0.5/24' }, ROLES)] },
  ],
  [
    'node selectors of which no node has both',
    {
      containerClusters: [
        pod('one', { nodeSelector: { zone: 'east' } }),
        pod('two', { nodeSelector: { zone: 'west' } }),
      ],
    },
    'two: its nodeSelector wants zone: west, and that of one east, but with the network driver bridge both run on one node, so one of them does not start: make them the same',
    {
      containerClusters: [
        pod('one', { nodeSelector: { zone: 'east' } }),
        pod('two', { nodeSelector: { disk: 'fast' } }),
      ],
    },
  ],
])('warns of %s, and not of the right spec', (_what, wrong, warning, right) => {
  expect([warnings(wrong), warnings(right)]).toEqual([[warning], []])
})

it('warns of nothing in the examples that is not meant', () => {
  const folder = join(import.meta.dirname, '../../examples/labs')
  const labs = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((one) => ({ file, ...one.toJS() })),
    )
    .filter(({ kind }) => kind === 'Workspace')
  expect(labs.length).toBeGreaterThan(10)
  expect(labs.flatMap(({ file, spec }) => warnings(spec).map((text) => `${file}: ${text}`))).toEqual([])
})
