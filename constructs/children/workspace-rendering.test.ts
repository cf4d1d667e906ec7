import { describe, expect, it } from 'vitest'
import { PROPOSED_WORKSPACE } from '../../test/prepared/api/proposed-workspace.ts'
import { IMAGE_NAMESPACE, renderAll } from '../../test/prepared/children/rendered-workspace.ts'
import { networksOf } from '../../test/prepared/children/workspace-network-suite.ts'
import { isLetThrough } from '../../test/prepared/children/workspace-policies.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { parseWorkspaceSpec, type WorkspaceSpec } from '../api/workspace.ts'
import type { WorkspaceSpecInput } from '../authoring/spec-props.ts'
import { renderKubeVirtVirtualMachine } from './kubevirt-virtual-machine.ts'
import { areVariablesTooLarge, isAnsibleTooLarge, renderWorkspaceAnsible } from './workspace-ansible.ts'
import { renderContainerCluster } from './workspace-containers.ts'
import { renderClusterFiles } from './workspace-files.ts'
import { podSecurityLevel, renderWorkspaceNamespace } from './workspace-namespace.ts'
import { renderWorkspaceNetwork } from './workspace-network.ts'
import { OWNER_ROLES, renderWorkspaceOwners } from './workspace-owners.ts'
import { NETWORKS_ANNOTATION, type PodNetwork, renderClusterNetworks } from './workspace-pod-network.ts'
import { renderWorkspaceVolume } from './workspace-volume.ts'
import { networkWarnings } from './workspace-warnings.ts'

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

it('the MTU of a network is that of its definitions, its guests and nobody else', () => {
  const vm = { name: 'vm', backingVMDiskImage: 'a', resources: { cpu: 1, memory: '1Gi' } }
  const nets = [{ name: 'slow', mtu: 1400 }, { name: 'site', mtu: 1400, attach: 'vlans/v-100' }, { name: 'plain' }]
  const spec = specOf({
    networks: nets,
    vms: [{ ...vm, interfaces: nets.map(({ name }) => ({ network: name })) }],
    containerClusters: [cluster('pod', {}, [{ network: 'slow', ipAddress: '10.0.0.3/24' }])],
  })
  const of = (driver: NetworkDriver) => {
    const { networks, machines } = renderAll({ workspace, spec }, driver)
    const mtus = networks.map((all) => all.map((one) => JSON.parse(one.spec.config).mtu))
    return [mtus, machines[0]?.spec.interfaces?.map(({ mtu }) => mtu)]
  }
  const guest = [1400, undefined, undefined]
  expect(of('bridge')).toEqual([[[1400, 1400], [], [undefined, undefined]], guest])
  expect(of('ovn-layer2')).toEqual([[[1400], [], [undefined]], guest])
  expect(networkWarnings({ spec, network: spec.networks?.[1] ?? { name: '' } })).toEqual([
    'mtu has no effect, since NetworkAttachmentDefinition vlans/v-100 says how large its packets are',
  ])
  for (const ranges of [{ cidr: 'fd00::/64' }, { cidrs: ['10.10.0.0/24', 'fd00::/64'] }]) {
    const small = { name: 'six', ...ranges, mtu: 1279 }
    expect(networkWarnings({ spec: { networks: [small] }, network: small })).toEqual([
      'with mtu 1279 there is no IPv6 on it: take at least 1280, or addresses of IPv4 alone',
    ])
  }
})

it('a container cluster is where its spec says, without what the API server leaves out', () => {
  const place = { nodeSelector: { disk: '' }, tolerations: [{ key: 'lab', value: '', effect: 'NoExecute' as const }] }
  const { spec } = deployment({ containerClusters: [{ ...cluster('app'), ...place }] })
  expect(spec).toMatchObject({ nodeSelector: { disk: '' }, tolerations: [{ key: 'lab', effect: 'NoExecute' }] })
  expect(spec.tolerations?.[0]).not.toHaveProperty('value')
  const none = deployment({ containerClusters: [{ ...cluster('app'), nodeSelector: {}, tolerations: [] }] })
  expect(none).toEqual(deployment({ containerClusters: [cluster('app')] }))
})

describe.each(['bridge', 'ovn-layer2'] as const)('a network that exists already, on %s,', (driver) => {
  const spec = specOf({
    networks: [{ name: 'site', attach: 'vlans/v-100', rangeGateway: '10.0.0.1' }],
    vms: [
      {
        name: 'vm',
        backingVMDiskImage: 'a',
        resources: { cpu: 1, memory: '1Gi' },
        interfaces: [{ network: 'site', ipAddress: '10.0.0.2/24' }],
      },
    ],
    containerClusters: [cluster('pod', {}, [{ network: 'site', ipAddress: '10.0.0.3/24' }])],
  })
  const { networks, machines, clusters } = renderAll({ workspace, spec }, driver, undefined)

  it('is what members are attached to, and nothing is made for it', () => {
    expect(networks.flat()).toEqual([])
    const [machine] = machines
    expect(machine?.spec.interfaces).toEqual([
      {
        network: 'site',
        attach: 'vlans/v-100',
        ipAddress: '10.0.0.2/24',
        routes: [{ to: '0.0.0.0/0', via: '10.0.0.1' }],
      },
    ])
    expect(clusters.flatMap(networksOf)).toEqual([
      expect.objectContaining({ namespace: 'vlans', name: 'v-100', interface: 'net1', ips: ['10.0.0.3/24'] }),
    ])
    expect(JSON.stringify(clusters)).not.toContain('default-route')
  })

  it('does not keep a machine on the node of the others', () => {
    expect(machines[0]?.spec.nodeGroup).toBeUndefined()
  })
})

describe('the workspace of the proposal', () => {
  // As a lab has it that an earlier version made: these snapshots must never change.
  const before = new Set((proposed.spec.networks ?? []).map(({ name }) => name))
  const bridge = renderAll(proposed, 'bridge', undefined, before)
  const { namespace, quota, policies, volumes, ansible } = bridge
  const ovn = renderAll(proposed, 'ovn-layer2', undefined, before)

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

describe('owners', () => {
  it.each([
    ['baseline', false, OWNER_ROLES.withShells],
    ['privileged', false, OWNER_ROLES.withoutShells],
    ['privileged', true, OWNER_ROLES.withShells],
  ] as const)('of a workspace of level %s, shells allowed there: %s, have role %s', (podSecurity, allowed, role) => {
    const owners = [{ kind: 'Group', name: 'class-7' }] as const
    const props = { workspace, owners, podSecurity, allowPrivilegedExec: allowed }
    expect(renderWorkspaceOwners(props)).toMatchObject({
      metadata: { namespace: workspace.name, name: role },
      roleRef: { kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'class-7' }],
    })
  })
})

describe('podSecurityLevel', () => {
  const POLICY = {
    allowHostPorts: true,
    allowedCapabilities: ['NET_BIND_SERVICE', 'NET_ADMIN'],
    allowPrivileged: false,
  }
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
    ['all rights of its node', 'privileged', { privileged: true }, { allowPrivileged: true }],
    ['all rights of its node, which the policy refuses', 'baseline', { privileged: true }],
    ['all rights of its node, which it does not ask for', 'baseline', { privileged: false }, { allowPrivileged: true }],
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

  it('limits what the spec limits', () => {
    const limits = { cpu: '2', memory: '1Gi' }
    const of = (resources: object) => firstContainer({ resources }, { 'limits.cpu': '8' })?.resources
    expect(of({ cpu: '1', memory: '256Mi', limits })).toEqual({ requests: { cpu: '1', memory: '256Mi' }, limits })
    expect(of({ cpu: '1', memory: '256Mi', limits: { memory: '1Gi' } })?.limits).toEqual({ cpu: '1', memory: '1Gi' })
    expect(of({ limits })).toEqual({ limits })
    expect(of({ limits: {} })).toBeUndefined()
  })

  it('has one of the resource of each device, beside its other limits', () => {
    expect(firstContainer({ devices: ['tun'] })?.resources).toEqual({ limits: { 'devices.kubevirt.io/tun': '1' } })
    expect(firstContainer({ devices: ['kvm', 'tun'], resources: { memory: '1Gi' } })?.resources).toEqual({
      requests: { memory: '1Gi' },
      limits: { memory: '1Gi', 'devices.kubevirt.io/kvm': '1', 'devices.kubevirt.io/tun': '1' },
    })
    expect(firstContainer({ devices: [] })).not.toHaveProperty('resources')
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

  it('runs the program of the spec, as the user and with the terminal of the spec', () => {
    const valueFrom = { secretKeyRef: { name: 's', key: 'k' } }
    const program = { command: ['sh', '-c'], args: ['sleep 1'], workingDir: '/app', stdin: true, tty: true }
    expect(firstContainer({ ...program, runAsUser: 0, runAsGroup: 10, env: [{ name: 'A', valueFrom }] })).toEqual({
      name: 'c',
      image: 'registry.example/app:1',
      ...program,
      env: [{ name: 'A', valueFrom }],
      securityContext: { runAsUser: 0, runAsGroup: 10 },
    })
    expect(firstContainer({ privileged: true })?.securityContext).toEqual({ privileged: true })
  })

  it('mounts a folder of a volume, and gives the volumes to a group', () => {
    const volumeMounts = [{ name: 'data', containerPath: '/var/lib/db', subPath: 'db/data' }]
    const { spec } = deployment({
      volumes: [{ name: 'data', size: '1Gi' }],
      containerClusters: [{ ...cluster('db', { volumeMounts }), fsGroup: 999 }],
    })
    expect(spec.securityContext).toEqual({ fsGroup: 999 })
    expect(spec.containers[0]?.volumeMounts).toEqual([{ name: 'data', mountPath: '/var/lib/db', subPath: 'db/data' }])
  })

  it('mounts each file of the spec alone, with the content of its ConfigMap or Secret', () => {
    const files = [
      { path: '/etc/app.conf', content: 'a: 1\n' },
      { path: '/run/key', secretKeyRef: { name: 's', key: 'k' }, mode: '400' },
    ]
    const spec = specOf({
      containerClusters: [{ name: 'web', containers: [{ name: 'c', image: 'registry.example/app:1', files }] }],
    })
    const [cluster] = spec.containerClusters ?? []
    if (cluster === undefined) throw new Error('there is no cluster')
    const [configMap] = renderClusterFiles({ workspace, cluster })
    const { template } = renderContainerCluster({ workspace, spec, cluster, driver: 'ovn-layer2' }).spec
    expect(configMap?.data).toEqual({ 'c.0': 'a: 1\n' })
    const { name } = configMap?.metadata ?? {}
    expect(name).toMatch(/^web-files-[0-9a-f]{8}$/)
    expect(template.spec.volumes).toEqual([
      {
        name: 'files',
        projected: {
          sources: [
            { configMap: { name, items: [{ key: 'c.0', path: 'c.0', mode: 0o644 }] } },
            { secret: { name: 's', items: [{ key: 'k', path: 'c.1', mode: 0o400 }] } },
          ],
        },
      },
    ])
    expect(template.spec.containers[0]?.volumeMounts).toEqual([
      { name: 'files', mountPath: '/etc/app.conf', subPath: 'c.0', readOnly: true },
      { name: 'files', mountPath: '/run/key', subPath: 'c.1', readOnly: true },
    ])
  })

  it('has all keys of Secrets and ConfigMaps as variables, and as files of folders that containers share', () => {
    const first = {
      ...container({
        envFrom: [{ configMapRef: { name: 'web.env' } }, { prefix: 'DB_', secretRef: { name: 'db' } }],
        files: [
          { path: '/etc/web', configMapRef: { name: 'web.env' } },
          { path: '/etc/motd', content: 'a' },
          { path: '/run/db', secretRef: { name: 'db' }, mode: '0400' },
        ],
      }),
      name: 'first',
    }
    const same = { files: [{ path: '/run/other', secretRef: { name: 'db' }, mode: '400' }] }
    const spec = specOf({ containerClusters: [{ ...cluster('app', same), initContainers: [first] }] })
    const [own] = spec.containerClusters ?? []
    if (own === undefined) throw new Error('there is no cluster')
    const pod = renderContainerCluster({ workspace, spec, cluster: own, driver: 'bridge' }).spec.template.spec
    const [settings, db] = (pod.volumes ?? []).slice(1).map(({ name }) => name)
    expect([settings, db]).toEqual(Array(2).fill(expect.stringMatching(/^files-[0-9a-f]{8}$/)))
    expect(pod.volumes).toEqual([
      expect.objectContaining({ name: 'files', projected: { sources: [{ configMap: expect.anything() }] } }),
      { name: settings, configMap: { name: 'web.env', defaultMode: 0o644 } },
      { name: db, secret: { secretName: 'db', defaultMode: 0o400 } },
    ])
    expect(pod.initContainers).toEqual([
      expect.objectContaining({
        envFrom: [{ configMapRef: { name: 'web.env' } }, { prefix: 'DB_', secretRef: { name: 'db' } }],
        volumeMounts: [
          { name: settings, mountPath: '/etc/web', readOnly: true },
          { name: 'files', mountPath: '/etc/motd', subPath: 'first.1', readOnly: true },
          { name: db, mountPath: '/run/db', readOnly: true },
        ],
      }),
    ])
    expect(pod.containers[0]?.volumeMounts).toEqual([{ name: db, mountPath: '/run/other', readOnly: true }])
  })

  it('has the containers of the spec that run first, with volumes and files of their own', () => {
    const first = {
      ...container({ files: [{ path: '/a', content: 'a' }], capabilities: { add: ['NET_ADMIN'] } }),
      ...mounting('data'),
      name: 'first',
    }
    const spec = {
      containerClusters: [{ ...cluster('app', { files: [{ path: '/b', content: 'b' }] }), initContainers: [first] }],
      volumes: [{ name: 'data', size: '1Gi' }],
    }
    const pod = deployment(spec).spec
    expect(pod.initContainers).toEqual([
      {
        name: 'first',
        image: 'registry.example/app:1',
        securityContext: { capabilities: { add: ['NET_ADMIN'] } },
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'files', mountPath: '/a', subPath: 'first.0', readOnly: true },
        ],
      },
    ])
    expect(pod.containers.map(({ volumeMounts }) => volumeMounts)).toEqual([
      [{ name: 'files', mountPath: '/b', subPath: 'c.0', readOnly: true }],
    ])
    expect(pod.volumes?.map(({ name }) => name)).toEqual(['data', 'files'])
    expect(podSecurityLevel(specOf(spec), { allowHostPorts: true, allowedCapabilities: ['NET_ADMIN'] })).toBe(
      'privileged',
    )
  })

  it('has the overrides of the spec, merged by the keys of lists, and nothing of those that cannot be', () => {
    const app = cluster('app', { files: [{ path: '/b', content: 'b' }], env: [{ name: 'A', value: 'a' }] })
    const one = { name: 'c', env: [{ name: 'B', value: 'b' }], volumeMounts: [{ mountPath: '/dev/shm', name: 'shm' }] }
    const fragment = {
      containers: [{ ...one, lifecycle: { preStop: { sleep: { seconds: 5 } } } }],
      volumes: [{ name: 'shm', emptyDir: { medium: 'Memory' } }],
      terminationGracePeriodSeconds: 5,
    }
    const of = (overrides: object) => ({
      containerClusters: [{ ...app, overrides: overrides as Record<string, unknown> }],
    })
    const pod = deployment(of({ spec: fragment })).spec
    expect(pod).toMatchObject({ hostname: 'app', terminationGracePeriodSeconds: 5 })
    expect(pod.containers).toEqual([
      {
        name: 'c',
        image: 'registry.example/app:1',
        env: [
          { name: 'A', value: 'a' },
          { name: 'B', value: 'b' },
        ],
        volumeMounts: [
          { name: 'files', mountPath: '/b', subPath: 'c.0', readOnly: true },
          { mountPath: '/dev/shm', name: 'shm' },
        ],
        lifecycle: { preStop: { sleep: { seconds: 5 } } },
      },
    ])
    expect(pod.volumes?.map(({ name }) => name)).toEqual(['files', 'shm'])
    const ofThatName = deployment(of({ spec: { volumes: [{ name: 'files', emptyDir: {} }] } })).spec
    expect(ofThatName.volumes).toEqual([
      expect.objectContaining({ name: 'files-of-ot' }),
      { name: 'files', emptyDir: {} },
    ])
    const without = { containerClusters: [app] }
    expect(deployment(of({ spec: { ...fragment, hostNetwork: true } }))).toEqual(deployment(without))
    expect(JSON.stringify(deployment(of({})))).toBe(JSON.stringify(deployment(without)))
  })

  it('has the probes of the spec, as the API server stores them', () => {
    const probes = {
      startupProbe: { exec: { command: ['true'] }, failureThreshold: 60, initialDelaySeconds: 0 },
      readinessProbe: { httpGet: { port: 80 }, periodSeconds: 5 },
      livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 9, timeoutSeconds: 2 },
    }
    expect(firstContainer(probes)).toEqual({
      name: 'c',
      image: 'registry.example/app:1',
      startupProbe: { exec: { command: ['true'] }, failureThreshold: 60 },
      readinessProbe: { httpGet: { path: '/', port: 80 }, periodSeconds: 5 },
      livenessProbe: { tcpSocket: { port: 80 }, initialDelaySeconds: 9, timeoutSeconds: 2 },
    })
  })

  it('has no member that the API server would leave out', () => {
    const empty = {
      ...{ capabilities: {}, resources: {}, env: [], portMappings: [], volumeMounts: [] },
      ...{ command: [], args: [], files: [], stdin: false, tty: false, privileged: false },
    }
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

  const FROM_THIRD = [
    network('third', 3),
    network('inside', 2, { cidr: '10.0.2.128/28' }),
    network('v6', 0, { cidr: 'fd00::/64' }),
  ]
  const networks = [
    network('own', 1, { routes: [via('10.0.1.5')] }),
    network('first', 2, { routes: [via('10.0.2.1'), via('10.0.2.9', '172.26.0.0/15')] }),
    network('second', 3, { routes: [via('10.0.3.1')] }),
    network('six', 0, { cidr: 'fd00:6::/64', rangeGateway: 'fd00:6::1' }),
  ]
  const interfaces = [on('own', 1), on('first', 2), on('second', 3), { network: 'six', ipAddress: 'fd00:6::5/64' }]
  /** The routes of each interface of a pod, by its network. */
  const routesOfPod = (more: object, all: object[] = networks) => {
    const spec = { networks: all, containerClusters: [cluster('app', more, interfaces)] } as WorkspaceSpec
    const { networks: shared, clusterNetworks, clusters } = renderAll({ workspace, spec }, 'bridge')
    const configs = new Map([...shared, ...clusterNetworks].flat().map((one) => [one.metadata.name, one.spec.config]))
    const asked = JSON.parse(
      clusters[0]?.spec.template.metadata.annotations?.[NETWORKS_ANNOTATION] ?? '',
    ) as PodNetwork[]
    expect(asked.filter((one) => one['default-route'] !== undefined)).toEqual([])
    return asked.map(({ name }) => {
      const { ipam } = JSON.parse(configs.get(name) ?? '') as { ipam: { routes?: { dst: string; gw: string }[] } }
      return ipam.routes?.map(({ dst, gw }) => `${dst} via ${gw}`)
    })
  }

  it('has the default route of the first network that has a usable one, as two halves that no other route beats', () => {
    expect(routesOfPod({})).toEqual([
      undefined,
      ['172.26.0.0/15 via 10.0.2.9', '0.0.0.0/1 via 10.0.2.1', '128.0.0.0/1 via 10.0.2.1'],
      undefined,
      ['::/1 via fd00:6::1', '8000::/1 via fd00:6::1'],
    ])
  })

  it.each([
    ['10.0.1', '24', '172.26.0.0/15', '172.28.0.0/16'],
    ['fd00:1:', '64', '2001:db8::/32', '2001:dc8::/32'],
  ])(
    'has every route that it can use, also where another pod is the next hop of one (%s)',
    (range, length, far, deep) => {
      const at = (host: number) => `${range}${range.includes(':') ? ':' : '.'}${host}`
      const lan = {
        name: 'lan',
        cidr: `${at(0)}/${length}`,
        routes: [via(at(1), far), via(at(9), deep), via(at(3), far)],
      }
      const lab = (ownRoutes?: 'always' | 'never') => {
        const containerClusters = [2, 1, 3].map((host) => {
          const nic = { network: 'lan', ipAddress: `${at(host)}/${length}` }
          return { ...cluster(`at${host}`, {}, [nic]), name: `at${host}` }
        })
        const spec = { networks: [lan], containerClusters } as WorkspaceSpec
        const { networks: shared } = renderAll({ workspace, spec }, 'bridge')
        return (spec.containerClusters ?? []).map((one) => {
          const props = { workspace, spec, cluster: one, driver: 'bridge' as const, ...(ownRoutes && { ownRoutes }) }
          const [{ name } = { name: '' }] = networksOf(renderContainerCluster(props))
          const config = [...shared.flat(), ...renderClusterNetworks(props)].find((each) => each.metadata.name === name)
          const { ipam } = JSON.parse(config?.spec.config ?? '') as { ipam: { routes?: { dst: string; gw: string }[] } }
          return [name.replace(/[0-9a-f]{8}$/, '*'), (ipam.routes ?? []).map(({ dst, gw }) => `${dst} via ${gw}`)]
        })
      }
      const [first, second, last] = [`${far} via ${at(1)}`, `${deep} via ${at(9)}`, `${far} via ${at(3)}`]
      expect(lab()).toEqual([
        ['lan-pod-*', [first, second]],
        ['lan-pod-*', [second, last]],
        ['lan-pod-*', [first, second]],
      ])
      // As earlier versions had it.
      expect(lab('never')).toEqual(Array(3).fill(['lan-pod', [second]]))
    },
  )

  it('has routes to the other networks instead if a port of its node is mapped: replies to others leave by the pod network', () => {
    const portMappings = [{ containerPort: 53, hostPort: 53 }]
    expect(routesOfPod({ portMappings }, [...networks, ...FROM_THIRD, network('far', 9)])).toEqual([
      undefined,
      ['172.26.0.0/15 via 10.0.2.9', '10.0.9.0/24 via 10.0.2.1'],
      undefined,
      ['fd00::/64 via fd00:6::1'],
    ])
  })

  it('asked Multus for a default route up to version 0.1.0', () => {
    const spec = { networks, containerClusters: [cluster('app', {}, interfaces)] } as WorkspaceSpec
    const [app] = spec.containerClusters as [NonNullable<WorkspaceSpec['containerClusters']>[number]]
    const { template } = renderContainerCluster({
      workspace,
      spec,
      cluster: app,
      driver: 'bridge',
      defaultRoute: 'requested',
      placement: 'free',
      serviceLinks: 'added',
    }).spec
    expect(template.spec).not.toHaveProperty('schedulingGates')
    const asked = JSON.parse(template.metadata.annotations?.[NETWORKS_ANNOTATION] ?? '') as PodNetwork[]
    expect(asked.map((one) => [one.name, one['default-route']])).toEqual([
      ['own-pod', undefined],
      ['first-pod', ['10.0.2.1']],
      ['second-pod', undefined],
      ['six-pod', ['fd00:6::1']],
    ])
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

  const named = (uid: string, networksOfBefore?: ReadonlySet<string>) => {
    const network = { name: 'net', cidr: '10.0.0.0/24' }
    const spec = { networks: [network] } as WorkspaceSpec
    const props = { workspace: { name: 'lab', uid }, spec, network, networksOfBefore }
    const [[bridge], [overlay]] = [
      renderWorkspaceNetwork({ ...props, driver: 'bridge' }),
      renderWorkspaceNetwork({ ...props, driver: 'ovn-layer2' }),
    ]
    const configs = [bridge, overlay].map((one) => JSON.parse(one?.spec.config ?? '{}'))
    return configs.map(({ name, bridge: own }) => own ?? name)
  }

  it('names nothing that an author can choose: the uid of the Workspace decides', () => {
    const [bridge, overlay] = named('7d444840-9dc0-11d1-b245-5ffdce74fad2')
    expect(bridge).toMatch(/^ot[0-9a-z]{13}$/)
    const [otherBridge, otherOverlay] = named('7d444840-9dc0-11d1-b245-5ffdce74fad3')
    expect([otherBridge, otherOverlay]).not.toEqual([bridge, overlay])
    expect(otherBridge === bridge || otherOverlay === overlay).toBe(false)
  })

  it('keeps the names of a network that an earlier version made, byte by byte', () => {
    expect(named('any', new Set(['net']))).toEqual(['otfd1c26089fbb', 'lab-net-fd1c26089fbba747'])
    expect(named('any', new Set(['other']))).toEqual(named('any'))
  })

  it('gives pods without a default route the routes that all of them can have, the first to each network', () => {
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

describe('areVariablesTooLarge', () => {
  const specWith = (variables: Readonly<Record<string, unknown>>) => {
    const roles = { build: [{ role: 'r' }], deploy: [{ role: 'r', variables }] }
    const vm = { name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: '1', memory: '1Gi' }, ansible: { roles } }
    return specOf({ vms: [{ ...vm, name: 'first', ansible: {} }, vm] })
  }
  const below = (levels: number, value: unknown): unknown => (levels === 0 ? value : { a: below(levels - 1, value) })

  it.each([
    ['long texts', 'x'.repeat(1_000)],
    ['empty texts', ''],
    ['numbers', 1],
    ['nothing', null],
    ['empty lists', []],
    ['empty maps', {}],
    ['lists in lists', [['', []], [[[0]]]]],
    ['maps in lists', [{ a: '', b: [{ c: {} }] }]],
    ['maps in maps', { a: { b: { c: '' } }, d: '' }],
    ['deep texts', below(20, '')],
  ])('knows of %s that they do not fit without rendering them, and only if they do not', (_what, item) => {
    // Each is about the maximum as YAML, so that in some steps it fits and in others it does not.
    const [one = 0, two = 0] = [[item], [item, item]].map((all) => {
      const { data } = renderWorkspaceAnsible({ workspace, spec: specWith({ all }) })
      return Object.values(data).join('').length
    })
    for (const share of [0.9, 1.1, 4]) {
      const count = Math.ceil((share * 2 ** 20) / (two - one))
      const spec = specWith({ all: Array.from({ length: count }, () => item) })
      const isTooLarge = areVariablesTooLarge(spec)
      // Quotes and line breaks besides are not counted.
      if (share < 1 || share > 2) expect(isTooLarge).toBe(share > 2)
      else if (isTooLarge) expect(isAnsibleTooLarge(renderWorkspaceAnsible({ workspace, spec }))).toBe(true)
    }
  })
})

describe('a service', () => {
  const spec = specOf({
    vms: [{ name: 'router', backingVMDiskImage: 'golden', resources: { cpu: 1, memory: '1Gi' } }],
    containerClusters: [cluster('web'), cluster('other')],
    services: [
      { name: 'ssh', member: 'router', type: 'NodePort', ports: [{ port: 2222, targetPort: 22 }] },
      {
        name: 'front',
        member: 'web',
        ports: [
          { port: 80, targetPort: 8080 },
          { port: 81, targetPort: 8080 },
          { name: 'dns', port: 53, protocol: 'UDP' },
        ],
      },
    ],
  })
  const { policies, services, clusters } = renderAll({ workspace, spec }, 'bridge')

  it('is, in full, with the NetworkPolicy that opens it', () => {
    expect(services).toMatchSnapshot()
  })

  /** As KubeVirt labels the pod of a machine, which has the labels of its template. */
  const launcherOf = (name: string) => {
    const vm = { name, namespace: workspace.name, uid: 'any' }
    const { labels } = renderKubeVirtVirtualMachine({
      vm,
      workspace: workspace.name,
      hostname: name,
      firmwareUuid: vm.uid,
      cpu: '1',
      memory: '1Gi',
      cloudInit: { fingerprint: 'any', hasNetworkData: false },
    }).spec.template.metadata
    return { namespace: workspace.name, labels: { ...labels, 'kubevirt.io': 'virt-launcher' } }
  }
  const podOf = (name: string) => {
    const found = clusters.find(({ metadata }) => metadata.name === name)
    return { namespace: workspace.name, labels: found?.spec.template.metadata.labels ?? {} }
  }
  const copier = {
    namespace: workspace.name,
    labels: { ...launcherOf('router').labels, 'kubevirt.io': '', app: 'containerized-data-importer' },
  }
  const outside = { namespace: 'team-a', labels: {} }
  const isOpen = (to: ReturnType<typeof podOf>, port: number, protocol: 'TCP' | 'UDP' = 'TCP') => {
    const all = [...policies, ...services.flat().filter((one) => one.kind === 'NetworkPolicy')]
    return isLetThrough(all as Parameters<typeof isLetThrough>[0], outside, to, { port, protocol })
  }

  it.each([
    ['the port that the machine listens on', true, launcherOf('router'), 22, 'TCP'],
    ['the port of the Service', false, launcherOf('router'), 2222, 'TCP'],
    ['the port by another protocol', false, launcherOf('router'), 22, 'UDP'],
    ['the pod that copies its disk', false, copier, 22, 'TCP'],
    ['another machine', false, launcherOf('router-2'), 22, 'TCP'],
    ['the container cluster', true, podOf('web'), 8080, 'TCP'],
    ['its port without a targetPort', true, podOf('web'), 53, 'UDP'],
    ['another container cluster', false, podOf('other'), 8080, 'TCP'],
  ] as const)('lets pods of the cluster reach %s: %s', (_what, expected, to, port, protocol) => {
    expect(isOpen(to, port, protocol)).toBe(expected)
  })

  it('is for the pods that have the labels of its selector', () => {
    const selectors = services.flat().flatMap((one) => (one.kind === 'Service' ? [one.spec.selector] : []))
    expect(launcherOf('router').labels).toMatchObject(selectors[0] ?? {})
    expect(podOf('web').labels).toMatchObject(selectors[1] ?? {})
  })

  it('changes nothing else of its workspace', () => {
    const { services: _, ...without } = spec
    expect({ ...renderAll({ workspace, spec: without }, 'bridge'), services }).toEqual(
      renderAll({ workspace, spec }, 'bridge'),
    )
  })
})
