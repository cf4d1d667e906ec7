import { describe, expect, it } from 'vitest'
import { PROPOSED_WORKSPACE } from '../api/proposed-workspace.fixtures.ts'
import { parseWorkspaceSpec, type WorkspaceSpec, type WorkspaceSpecInput } from '../api/workspace.ts'
import { IMAGE_NAMESPACE, renderAll } from './rendered-workspace.fixtures.ts'
import { isAnsibleTooLarge, renderWorkspaceAnsible } from './workspace-ansible.ts'
import { renderContainerCluster } from './workspace-containers.ts'
import { podSecurityLevel, renderWorkspaceNamespace } from './workspace-namespace.ts'
import { networksOf } from './workspace-network-suite.fixtures.ts'
import { isLetThrough } from './workspace-policies.fixtures.ts'
import { renderWorkspaceVolume } from './workspace-volume.ts'

const workspace = { name: 'demo-workspace-1', uid: '11111111-2222-3333-4444-555555555555' }

function specOf(input: WorkspaceSpecInput): WorkspaceSpec {
  const parsed = parseWorkspaceSpec(input)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.spec
}

const proposed = { workspace, spec: specOf(PROPOSED_WORKSPACE.spec as unknown as WorkspaceSpecInput) }

type Cluster = NonNullable<WorkspaceSpecInput['containerClusters']>[number]
type Container = Cluster['containers'][number]

const container = (more: Partial<Container> = {}): Container => ({
  name: 'c',
  image: 'registry.example/app:1',
  ...more,
})
const cluster = (name: string, more: Partial<Container> = {}, interfaces: Cluster['interfaces'] = []): Cluster => ({
  name,
  interfaces,
  containers: [container(more)],
})
const mounting = (...names: string[]) => ({ volumeMounts: names.map((name) => ({ name, containerPath: `/${name}` })) })

/** Renders the first container cluster of a spec. */
function deployment(input: WorkspaceSpecInput, quota?: Readonly<Record<string, string>>) {
  const spec = specOf(input)
  const [first] = spec.containerClusters ?? []
  if (first === undefined) throw new Error('no container cluster')
  return renderContainerCluster({ workspace, spec, cluster: first, driver: 'ovn-layer2', quota }).spec.template
}

const firstContainer = (more: Partial<Container>, quota?: Readonly<Record<string, string>>) =>
  deployment({ containerClusters: [cluster('app', more)], volumes: [{ name: 'data', size: '1Gi' }] }, quota).spec
    .containers[0]

describe('the workspace of the proposal', () => {
  const bridge = renderAll(proposed, 'bridge')
  const { namespace, quota, policies, volumes, ansible } = bridge
  const ovn = renderAll(proposed, 'ovn-layer2')

  it.each([
    ['namespace', { namespace, quota }],
    ['policies', policies],
    ['volumes', volumes],
    ['machine on bridges', bridge.machines],
    ['containers on bridges', bridge.clusters],
  ])('has this %s, in full', (_what, objects) => {
    expect(objects).toMatchSnapshot()
  })

  it('has these networks', () => {
    const configs = [bridge, ovn].map(({ networks }) =>
      Object.fromEntries(networks.flat().map(({ metadata, spec }) => [metadata.name, JSON.parse(spec.config)])),
    )
    expect(configs).toMatchSnapshot()
  })

  it('has this inventory and these plays', () => {
    expect(
      Object.entries(ansible.data)
        .map(([file, text]) => `# ${file}\n${text}`)
        .join(''),
    ).toMatchSnapshot()
  })

  it('differs on an overlay in the networks that pods and machines name, and in that any node will do', () => {
    expect(ovn.clusters.map((each) => networksOf(each).map(({ name }) => name))).toEqual([
      ['bridge-inet'],
      ['control-net'],
    ])
    expect(ovn.machines[0]?.spec).toEqual({ ...bridge.machines[0]?.spec, nodeGroup: undefined })
    for (const { spec } of ovn.clusters) expect(spec.template.spec.affinity).toBeUndefined()
  })
})

describe('podSecurityLevel', () => {
  const POLICY = { allowHostPorts: true, allowedCapabilities: ['NET_BIND_SERVICE', 'NET_ADMIN'] }
  const onHost = { portMappings: [{ containerPort: 53, hostPort: 53 }] }

  it.each<[what: string, level: string, container: Partial<Container>, policy?: Partial<typeof POLICY>]>([
    ['nothing in particular', 'baseline', {}],
    ['a port of its own', 'baseline', { portMappings: [{ containerPort: 53 }] }],
    ['a port of the node', 'privileged', onHost],
    ['a port of the node that the policy refuses', 'baseline', onHost, { allowHostPorts: false }],
    ['a capability of the baseline', 'baseline', { capabilities: { add: ['NET_BIND_SERVICE'] } }],
    ['another capability', 'privileged', { capabilities: { add: ['NET_ADMIN'] } }],
    ['one that the policy refuses', 'baseline', { capabilities: { add: ['SYS_ADMIN'] } }],
    ['one less', 'baseline', { capabilities: { drop: ['NET_ADMIN'] } }],
  ])('for a container with %s is %s', (_what, level, more, policy = {}) => {
    const spec = specOf({ containerClusters: [cluster('plain'), cluster('app', more)] })
    const podSecurity = podSecurityLevel(spec, { ...POLICY, ...policy })
    expect(podSecurity).toBe(level)
    expect(renderWorkspaceNamespace({ workspace, podSecurity }).metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': level,
    })
  })
})

describe('renderWorkspaceNetworkPolicies', () => {
  const { policies, clusters } = renderAll(proposed, 'bridge')
  const pod = (namespace: string, labels: Readonly<Record<string, string>> = {}) => ({ namespace, labels })
  const app = pod(workspace.name, clusters[0]?.spec.template.metadata.labels)
  const other = pod(workspace.name, clusters[1]?.spec.template.metadata.labels)
  const receiver = pod(workspace.name, { app: 'containerized-data-importer', 'cdi.kubevirt.io': 'cdi-upload-server' })
  const sender = pod(IMAGE_NAMESPACE, { app: 'containerized-data-importer', 'cdi.kubevirt.io': 'cdi-clone-source' })
  const dns = pod('kube-system', { 'k8s-app': 'kube-dns' })
  const udp = (port: number) => ({ protocol: 'UDP', port }) as const
  const tcp = (port: number) => ({ protocol: 'TCP', port }) as const

  it.each([
    ['a declared port from anywhere', true, pod('elsewhere'), app, udp(53)],
    ['a declared port within the workspace', true, other, app, udp(53)],
    ['a declared port by another protocol', false, pod('elsewhere'), app, tcp(53)],
    ['a port that is not declared', false, other, app, udp(54)],
    ['a port of another cluster', false, app, other, udp(53)],
    ['DNS of the cluster', true, app, dns, udp(53)],
    ['DNS of the cluster by TCP', true, other, dns, tcp(53)],
    ['something else there', false, app, pod('kube-system'), udp(53)],
    ['the Internet', false, app, pod('anywhere'), tcp(443)],
    ['a copy from the namespace of the images', true, sender, receiver, tcp(8443)],
    ['a copy from elsewhere', false, { ...sender, namespace: 'elsewhere' }, receiver, tcp(8443)],
    ['a pod beside the images that is not of CDI', false, pod(IMAGE_NAMESPACE), receiver, tcp(8443)],
  ])('lets through %s: %s', (_what, expected, from, to, destination) => {
    expect(isLetThrough(policies, from, to, destination)).toBe(expected)
  })
})

describe('renderContainerCluster', () => {
  it('asks for what is asked for, and limits memory alone', () => {
    const resources = { cpu: '128m', memory: '256Mi' }
    expect(firstContainer({ resources })?.resources).toEqual({ requests: resources, limits: { memory: '256Mi' } })
    expect(firstContainer({ resources: { cpu: '1' } })?.resources).toEqual({ requests: { cpu: '1' } })
  })

  it('limits processors where the quota does: no pod is admitted otherwise', () => {
    const resources = { cpu: '128m', memory: '256Mi' }
    expect(firstContainer({ resources }, { 'limits.cpu': '8' })?.resources?.limits).toEqual(resources)
    expect(firstContainer({ resources }, { 'requests.cpu': '8' })?.resources?.limits).toEqual({ memory: '256Mi' })
  })

  it('writes protocols as Kubernetes does', () => {
    const portMappings = [{ containerPort: 53, protocol: 'udp' as const, hostPort: 5353 }, { containerPort: 80 }]
    expect(firstContainer({ portMappings })?.ports).toEqual([
      { containerPort: 53, hostPort: 5353, protocol: 'UDP' },
      { containerPort: 80, protocol: 'TCP' },
    ])
  })

  it('mounts a volume as it says, and the plays always read-only', () => {
    const volumeMounts = [
      { name: 'data', containerPath: '/data' },
      { name: 'data', containerPath: '/again', readOnly: true },
      { name: 'ansible', containerPath: '/ansible', readOnly: false },
    ]
    expect(firstContainer({ volumeMounts })?.volumeMounts).toEqual([
      { name: 'data', mountPath: '/data' },
      { name: 'data', mountPath: '/again', readOnly: true },
      { name: 'ansible', mountPath: '/ansible', readOnly: true },
    ])
  })

  it('has no member that the API server would leave out', () => {
    const empty = { capabilities: {}, resources: {}, env: [], portMappings: [], volumeMounts: [] }
    expect(firstContainer(empty)).toEqual({ name: 'c', image: 'registry.example/app:1' })
    expect(Object.keys(firstContainer(empty) ?? {})).toEqual(['name', 'image'])
    expect(firstContainer({ env: [{ name: 'A', value: '' }] })?.env).toEqual([{ name: 'A' }])
  })

  const network = (name: string, third: number, more: object = {}) => ({ name, cidr: `10.0.${third}.0/24`, ...more })
  const via = (nextHopIpAddress: string, destinationNetworkCidr = '0.0.0.0/0') => ({
    destinationNetworkCidr,
    nextHopIpAddress,
  })
  const on = (name: string, third: number) => ({ network: name, ipAddress: `10.0.${third}.5/24` })

  it('has the default route of the first network that has a usable one', () => {
    const networks = [
      network('own', 1, { routes: [via('10.0.1.5')] }),
      network('first', 2, { routes: [via('10.0.2.1')] }),
      network('second', 3, { routes: [via('10.0.3.1')] }),
    ]
    const template = deployment({
      networks,
      containerClusters: [cluster('app', {}, [on('own', 1), on('first', 2), on('second', 3)])],
    })
    const annotation = template.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? ''
    expect(
      (JSON.parse(annotation) as object[]).map((each) => (each as Record<string, unknown>)['default-route']),
    ).toEqual([undefined, ['10.0.2.1'], undefined])
  })

  it('asks the first three name servers of its networks, or those of the cluster', () => {
    const nameservers = (...addresses: string[]) => ({ nameservers: { addresses } })
    const networks = [
      network('a', 1, nameservers('10.0.0.1', '10.0.0.2')),
      network('b', 2, nameservers('10.0.0.2', '10.0.0.3', '10.0.0.4')),
      network('c', 3),
    ]
    const dnsOf = (...interfaces: NonNullable<Cluster['interfaces']>) =>
      deployment({ networks, containerClusters: [cluster('app', {}, interfaces)] }).spec
    expect(dnsOf(on('a', 1), on('b', 2))).toMatchObject({
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] },
    })
    expect(dnsOf(on('c', 3))).not.toHaveProperty('dnsPolicy')
  })

  it('is on one node with all clusters that it shares a volume with, through others too', () => {
    const volumes = ['one', 'two', 'alone'].map((name) => ({ name, size: '1Gi' }))
    const containerClusters = [
      cluster('first', mounting('one')),
      cluster('last', mounting('two')),
      cluster('between', mounting('one', 'two')),
      cluster('other', mounting('alone', 'ansible')),
      cluster('reader', mounting('ansible')),
    ]
    const spec = specOf({ volumes, containerClusters })
    const { clusters } = renderAll({ workspace, spec }, 'ovn-layer2')
    const [first, last, between, other, reader] = clusters.map(
      ({ spec: { template } }) => template.metadata.labels['pelotech.ot/node-group'],
    )
    expect(first).toMatch(/^volumes-[0-9a-f]{8}$/)
    expect([last, between]).toEqual([first, first])
    expect([other, reader]).toEqual([undefined, undefined])
  })
})

describe('renderWorkspaceNetwork', () => {
  const routes = [
    { destinationNetworkCidr: '172.26.0.0/16', nextHopIpAddress: '10.0.0.5' },
    { destinationNetworkCidr: '172.27.1.1/16', nextHopIpAddress: '10.0.0.1' },
    { destinationNetworkCidr: '172.27.0.0/16', nextHopIpAddress: '10.0.0.2' },
    { destinationNetworkCidr: '0.0.0.0/0', nextHopIpAddress: '10.0.0.1' },
    { destinationNetworkCidr: '172.28.0.0/16', nextHopIpAddress: '10.0.1.1' },
  ]
  const routesOfPods = (...ips: string[]) => {
    const containerClusters = ips.map((ip, at) => cluster(`c${at}`, {}, [{ network: 'net', ipAddress: `${ip}/24` }]))
    // As an older schema may have let it into the cluster.
    const spec = { networks: [{ name: 'net', cidr: '10.0.0.0/24', routes }], containerClusters } as WorkspaceSpec
    const config = renderAll({ workspace, spec }, 'bridge').networks[0]?.[1]?.spec.config ?? ''
    return (JSON.parse(config) as { ipam: { routes?: object[] } }).ipam.routes
  }

  it('gives pods the routes that all of them can have, the first to each network, and no default route', () => {
    expect(routesOfPods('10.0.0.7')).toEqual([
      { dst: '172.26.0.0/16', gw: '10.0.0.5' },
      { dst: '172.27.0.0/16', gw: '10.0.0.1' },
    ])
    expect(routesOfPods('10.0.0.7', '10.0.0.5')).toEqual([{ dst: '172.27.0.0/16', gw: '10.0.0.1' }])
    expect(routesOfPods('10.0.0.5', '10.0.0.1')).toEqual([{ dst: '172.27.0.0/16', gw: '10.0.0.2' }])
    expect(routesOfPods()).toBeUndefined()
  })
})

describe('renderWorkspaceVolume', () => {
  const local = renderWorkspaceVolume({
    workspace,
    volume: { name: 'data', size: '1Gi', localPath: '/demo//config/' },
    localVolumeRoot: '/srv/labs/',
  })

  it('is a folder of a node where the policy has a root for it, in full', () => {
    expect(local).toMatchSnapshot()
  })

  it('is any claim otherwise, with what it was asked for as an annotation', () => {
    const [claim, ...rest] = renderWorkspaceVolume({
      workspace,
      volume: { name: 'data', size: '1Gi', localPath: '/config' },
    })
    expect(rest).toEqual([])
    expect(claim?.metadata.annotations).toEqual({ 'pelotech.ot/local-path': '/config' })
    expect(claim?.spec).toEqual({ accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } })
  })

  it('is any claim without a path, whatever the policy says', () => {
    const volume = { name: 'data', size: '1Gi' }
    const kinds = renderWorkspaceVolume({ workspace, volume, localVolumeRoot: '/srv' }).map(({ kind, metadata }) => [
      kind,
      metadata.annotations,
    ])
    expect(kinds).toEqual([['PersistentVolumeClaim', undefined]])
  })
})

describe('isAnsibleTooLarge', () => {
  // Uses letters of two bytes, because the API server counts bytes.
  const withText = (letters: number) => {
    const roles = { build: [{ role: 'r', variables: { text: 'é'.repeat(letters) } }] }
    const vm = { name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: '1', memory: '1Gi' }, ansible: { roles } }
    return renderWorkspaceAnsible({ workspace, spec: specOf({ vms: [vm] }) })
  }

  it('is so from one byte above a MiB on', () => {
    const rest = Object.values(withText(0).data).join('').length
    const most = Math.floor((2 ** 20 - rest) / 2)
    expect(isAnsibleTooLarge(withText(most - 10))).toBe(false)
    expect(isAnsibleTooLarge(withText(most + 10))).toBe(true)
    expect(
      isAnsibleTooLarge({ data: { 'inventory.yaml': 'a'.repeat(2 ** 20), 'build.yaml': '', 'deploy.yaml': '' } }),
    ).toBe(false)
    expect(
      isAnsibleTooLarge({ data: { 'inventory.yaml': 'a'.repeat(2 ** 20), 'build.yaml': 'b', 'deploy.yaml': '' } }),
    ).toBe(true)
  })
})
