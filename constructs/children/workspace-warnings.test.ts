import { describe, expect, it } from 'vitest'
import type { NetworkDriver } from '../api/policy.ts'
import { parseWorkspaceSpec, type WorkspaceSpec } from '../api/workspace.ts'
import {
  clusterWarnings,
  machineDiskWarnings,
  machineNetworkWarnings,
  networkWarnings,
  podOverrideWarnings,
  serviceWarnings,
  volumeWarnings,
} from './workspace-warnings.ts'

const workspace = { name: 'lab', uid: 'lab-uid' }

interface Member {
  readonly name: string
  readonly at: readonly string[]
  readonly more?: object
}
const NETWORKS: Readonly<Record<string, string>> = { '10.0.0': 'a', '10.0.1': 'b' }
const interfaces = (at: readonly string[]) =>
  at.map((address) => ({ network: NETWORKS[address.replace(/\.\d+$/, '')], ipAddress: `${address}/24` }))

/** A lab with networks a (10.0.0.0/24) and b (10.0.1.0/24). */
function lab(parts: {
  readonly a?: object
  readonly b?: object
  readonly vms?: readonly Member[]
  readonly pods?: readonly Member[]
}): WorkspaceSpec {
  const parsed = parseWorkspaceSpec({
    networks: [
      { name: 'a', cidr: '10.0.0.0/24', ...parts.a },
      { name: 'b', cidr: '10.0.1.0/24', ...parts.b },
    ],
    vms: (parts.vms ?? []).map(({ name, at }) => ({
      name,
      backingVMDiskImage: 'ubuntu',
      resources: { cpu: '1', memory: '1Gi' },
      interfaces: interfaces(at),
    })),
    containerClusters: (parts.pods ?? []).map(({ name, at, more }) => ({
      name,
      interfaces: interfaces(at),
      containers: [{ name, image: 'web:1', ...more }],
    })),
  })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}
const route = (to: string, via: string) => ({ destinationNetworkCidr: to, nextHopIpAddress: via })

/** All warnings of a lab. */
function warnings(spec: WorkspaceSpec, driver: NetworkDriver = 'bridge'): string[] {
  return [
    ...(spec.networks ?? []).flatMap((network) =>
      networkWarnings({ spec, network }).map((text) => `${network.name}: ${text}`),
    ),
    ...(spec.vms ?? []).flatMap((vm) => machineNetworkWarnings(spec, vm).map((text) => `${vm.name}: ${text}`)),
    ...(spec.containerClusters ?? []).flatMap((cluster) =>
      clusterWarnings({ workspace, spec, cluster, driver }).map((text) => `${cluster.name}: ${text}`),
    ),
  ]
}

describe('nothing is warned of', () => {
  it.each<[string, Parameters<typeof lab>[0]]>([
    ['where there are no routes', { vms: [{ name: 'vm', at: ['10.0.0.5', '10.0.1.5'] }] }],
    [
      'where a router is the next hop, and skips its own routes',
      {
        a: { rangeGateway: '10.0.0.1', routes: [route('192.0.2.0/24', '10.0.0.1')] },
        b: { rangeGateway: '10.0.1.1' },
        vms: [{ name: 'router', at: ['10.0.0.1', '10.0.1.1'] }],
        pods: [{ name: 'pod', at: ['10.0.0.5'] }],
      },
    ],
    ['of a network that nobody is on', { a: { rangeGateway: '10.0.0.1' } }],
    [
      'of three name servers, however often they are named',
      {
        a: { nameservers: { addresses: ['192.0.2.1', '192.0.2.2'] } },
        b: { nameservers: { addresses: ['192.0.2.2', '192.0.2.3'] } },
        pods: [{ name: 'pod', at: ['10.0.0.5', '10.0.1.5'] }],
      },
    ],
    [
      'of ports and probes without a default route',
      {
        pods: [
          {
            name: 'pod',
            at: ['10.0.0.5'],
            more: { portMappings: [{ containerPort: 80 }], readinessProbe: { tcpSocket: { port: 80 } } },
          },
        ],
      },
    ],
    [
      'of a probe with a program',
      {
        a: { rangeGateway: '10.0.0.1' },
        vms: [{ name: 'vm', at: ['10.0.0.1'] }],
        pods: [{ name: 'pod', at: ['10.0.0.5'], more: { readinessProbe: { exec: { command: ['true'] } } } }],
      },
    ],
  ])('%s', (_what, parts) => {
    expect(warnings(lab(parts))).toEqual([])
  })

  it('of a next hop on a network where a member chooses its own address', () => {
    const spec = lab({ a: { rangeGateway: '10.0.0.1' }, vms: [{ name: 'vm', at: ['10.0.0.5'] }] })
    expect(warnings(spec)).toHaveLength(1)
    const router = { ...spec.vms?.[0], name: 'router', interfaces: [{ network: 'a', addressing: 'dhcp' }] }
    expect(warnings({ ...spec, vms: [...(spec.vms ?? []), router] } as WorkspaceSpec)).toEqual([])
  })
})

const GATEWAYS = { a: { rangeGateway: '10.0.0.1' }, b: { rangeGateway: '10.0.1.1' } }
const ROUTER = { name: 'router', at: ['10.0.0.1', '10.0.1.1'] }

it('a next hop that nobody is, with everything that it leads to', () => {
  const spec = lab({
    a: { rangeGateway: '10.0.0.1', routes: [route('192.0.2.0/24', '10.0.0.1')] },
    pods: [{ name: 'pod', at: ['10.0.0.5'] }],
  })
  expect(warnings(spec)).toEqual([
    'a: no member has the address 10.0.0.1, so the route to 192.0.2.0/24, 0.0.0.0/0 leads nowhere: give it to a machine or a container cluster',
  ])
})

it('a default route that loses against that of an earlier interface, in a machine and in a pod', () => {
  const spec = lab({
    ...GATEWAYS,
    vms: [ROUTER, { name: 'vm', at: ['10.0.1.5', '10.0.0.5'] }],
    pods: [{ name: 'pod', at: ['10.0.0.6', '10.0.1.6'] }],
  })
  expect(warnings(spec)).toEqual([
    'vm: the default route of network a (10.0.0.1) is not used, since that of network b comes first',
    'pod: the default route of network b (10.0.1.1) is not used, since that of network a comes first',
  ])
})

it('routes that only overlays do not give to pods, and none because one of the pods is the next hop', () => {
  const routes = [route('192.0.2.0/24', '10.0.0.9')]
  const pods = [
    { name: 'hop', at: ['10.0.0.9'] },
    { name: 'one', at: ['10.0.0.5'] },
    { name: 'two', at: ['10.0.0.6'] },
  ]
  expect(warnings(lab({ a: { routes }, pods }))).toEqual([])
  expect(warnings(lab({ a: { routes, rangeGateway: '10.0.0.1' }, pods, vms: [ROUTER] }))).toEqual([])
  expect(warnings(lab({ a: { routes }, pods }), 'ovn-layer2')).toEqual(
    ['one', 'two'].map(
      (name) =>
        `${name}: it does not get the route to 192.0.2.0/24 of network a, since pods on networks of ovn-layer2 get only a default route`,
    ),
  )
})

it('routes of a network that exists already, for pods', () => {
  const a = { attach: 'vlans/v-100', rangeGateway: '10.0.0.1' }
  const vms = [{ name: 'vm', at: ['10.0.0.5'] }]
  expect(warnings(lab({ a, vms }))).toEqual([])
  for (const driver of ['bridge', 'ovn-layer2'] as const)
    expect(warnings(lab({ a, vms, pods: [{ name: 'pod', at: ['10.0.0.6'] }] }), driver)).toEqual([
      'a: pod gets no routes of it, since NetworkAttachmentDefinition vlans/v-100 says which routes its pods get',
    ])
})

it('more name servers than a pod can have', () => {
  const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']
  expect(warnings(lab({ a: { nameservers: { addresses } }, pods: [{ name: 'pod', at: ['10.0.0.5'] }] }))).toEqual([
    'pod: of its 4 name servers the first 3 are used: 192.0.2.1, 192.0.2.2, 192.0.2.3',
  ])
})

it('replies that may be lost, and with a port of the node the default route', () => {
  const more = { portMappings: [{ containerPort: 80 }], livenessProbe: { httpGet: { port: 80 } } }
  const of = (each: object) =>
    lab({ ...GATEWAYS, vms: [ROUTER], pods: [{ name: 'pod', at: ['10.0.0.5'], more: each }] })
  expect(warnings(of(more))).toEqual([
    'pod: clients of its portMappings and its probes with httpGet or tcpSocket may get no reply, since it leaves by the default route of network a: reach it over its networks, or take the default route from that network',
  ])
  expect(warnings(of({ ...more, portMappings: [{ containerPort: 80, hostPort: 80 }] }))).toEqual([
    'pod: because of its hostPort its networks give it routes to each other, but no default route',
  ])
})

it('overrides that replace what the spec says, and names that nobody reads', () => {
  const overrides = {
    spec: {
      hostAliases: [{ ip: '10.0.0.9', hostnames: ['db'] }],
      containers: [{ name: 'pod', imagePullPolicy: 'Always', env: [{ name: 'MODE', value: 'b' }] }],
    },
  }
  const of = (more: Partial<WorkspaceSpec>) => {
    const spec = lab({ pods: [{ name: 'pod', at: ['10.0.0.5'], more: { env: [{ name: 'MODE', value: 'a' }] } }] })
    const clusters = (spec.containerClusters ?? []).map((cluster) => ({ ...cluster, overrides }))
    const whole = { ...spec, ...more, containerClusters: clusters }
    return clusters.flatMap((cluster) => podOverrideWarnings({ workspace, spec: whole, cluster, driver: 'bridge' }))
  }
  const replaced =
    'overrides replaces what the rest of the container cluster says: spec.containers[pod].env[MODE].value'
  expect(of({})).toEqual([replaced])
  expect(of({ names: 'hosts' })).toEqual([replaced, expect.stringContaining('hostAliases in overrides has no effect')])
})

it('a volume that several members use, one of them as a disk', () => {
  const spec = lab({ vms: ['a', 'b'].map((name) => ({ name, at: [] })), pods: [{ name: 'pod', at: [] }] })
  const [a, b] = (spec.vms ?? []).map((vm) => ({ ...vm, disks: [{ name: 'data', volume: 'v' }] }))
  const [pod] = spec.containerClusters ?? []
  const [container] = pod?.containers ?? []
  if (!(a && b && pod && container)) throw new Error('a member is missing')
  const mounts = [{ ...pod, containers: [{ ...container, volumeMounts: [{ name: 'v', containerPath: '/v' }] }] }]
  const told = (vms: WorkspaceSpec['vms'], containerClusters: WorkspaceSpec['containerClusters']) =>
    machineDiskWarnings({ vms, containerClusters }, a)
  expect(told([a], [pod])).toEqual([])
  expect(told([a, { ...b, ignoreOnDeploy: true }], [{ ...pod, ...mounts[0], ignoreOnDeploy: true }])).toEqual([])
  expect(told([a, b], mounts)).toEqual([
    expect.stringMatching(/^disk data is volume v, which machine b, container cluster pod uses too: /),
  ])
})

it('a service for a member that is not deployed', () => {
  const spec = lab({ vms: [{ name: 'vm', at: [] }] })
  const service = { name: 'ssh', member: 'vm', ports: [{ port: 22 }] }
  expect(serviceWarnings(spec, service)).toEqual([])
  const vms = (spec.vms ?? []).map((vm) => ({ ...vm, ignoreOnDeploy: true }))
  expect(serviceWarnings({ ...spec, vms }, service)).toEqual([
    'nobody answers: vm is not deployed, because of its ignoreOnDeploy',
  ])
})

it('a folder of a volume where volumes are in no folders', () => {
  const volume = { name: 'zones', size: '1Gi', localPath: '/zones' }
  expect(volumeWarnings({ volume })).toEqual([
    'localPath /zones has no effect, since the policy key localVolumeRoot is not set: the volume comes from the default StorageClass',
  ])
  expect(volumeWarnings({ volume, localVolumeRoot: '/srv' })).toEqual([])
  expect(volumeWarnings({ volume: { name: 'zones', size: '1Gi' } })).toEqual([])
})

it('a path in a folder with all keys of an object, where nothing can be mounted', () => {
  const container = {
    name: 'web',
    image: 'web:1',
    files: [
      { path: '/etc/app/', secretRef: { name: 'app' } },
      { path: '/etc/app/conf.d/x', content: '' },
      { path: '/etc/application', content: '' },
    ],
    volumeMounts: [{ name: 'data', containerPath: '/etc/app/data' }],
  }
  const parsed = parseWorkspaceSpec({
    volumes: [{ name: 'data', size: '1Gi' }],
    containerClusters: [{ name: 'web', containers: [container] }],
  })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  expect(warnings(parsed.spec)).toEqual([
    'web: container web cannot start, since /etc/app/conf.d/x is in the read-only folder /etc/app of files: take another path',
    'web: container web cannot start, since /etc/app/data is in the read-only folder /etc/app of files: take another path',
  ])
})

it.each([
  ['0400', { runAsUser: 1000 }, {}, true],
  ['0440', { runAsUser: 1000, runAsGroup: 1000 }, {}, true],
  ['0440', { runAsUser: 1000 }, {}, false],
  ['0444', { runAsUser: 1000 }, {}, false],
  [undefined, { runAsUser: 1000 }, {}, false],
  ['0400', {}, {}, false],
  ['0400', { runAsUser: 0 }, {}, false],
  ['0400', { runAsUser: 1000 }, { fsGroup: 2000 }, false],
])(
  'a file of mode %s, in a container with %j of a cluster with %j, is warned of: %j',
  (mode, user, ofCluster, isTold) => {
    const parsed = parseWorkspaceSpec({
      containerClusters: [
        {
          name: 'web',
          ...ofCluster,
          containers: [
            { name: 'web', image: 'web:1', ...user, files: [{ path: '/key', content: 'x', ...(mode && { mode }) }] },
          ],
        },
      ],
    })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
    expect(warnings(parsed.spec)).toEqual(
      isTold
        ? [
            `web: container web runs as user 1000 and cannot read /key (mode ${mode}), which root owns: set fsGroup, or another mode`,
          ]
        : [],
    )
  },
)
