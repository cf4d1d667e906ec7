import fc from 'fast-check'
import { isOnPodNetwork } from '../../../constructs/api/interface-words.ts'
import { uuidFrom } from '../../../constructs/api/names.ts'
import { parseWorkspaceSpec, type WorkspaceSpec } from '../../../constructs/api/workspace.ts'
import type { WorkspaceSpecInput } from '../../../constructs/authoring/spec-props.ts'
import type { WorkspaceRef } from '../../../constructs/children/workspace-child.ts'

/** Part of every password: if it is found anywhere else, it has leaked. */
export const CANARY = 'canary-password'

export interface RandomWorkspace {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
}

/** Names that children get from names of others, so that they would collide if nothing kept them apart. */
const MEETING = [
  'a',
  'a-pod',
  'a-pod-pod',
  'b',
  'b-c',
  'c',
  'a-root',
  'a-root-root',
  'a-ports',
  'a-service',
  'a-ansible',
  'a-b',
  '0',
  'net0',
  'ansible-1',
]
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const label = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...MEETING) },
  { weight: 1, arbitrary: fc.stringMatching(LABEL) },
  // Names that must be shortened, and that differ only at their ends.
  { weight: 1, arbitrary: fc.constantFrom('x', 'y').map((end) => `${'long-'.repeat(12)}${end}x`) },
  { weight: 1, arbitrary: fc.stringMatching(/^[ab]-[0-9a-f]{8}$/) },
)
const labels = (max: number) => fc.uniqueArray(label, { maxLength: max })
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

const V4_PREFIXES = [16, 24, 25, 28] as const
const V6_PREFIXES = [64, 112, 120] as const
/** Host numbers that every network of these lengths has. The last one is for the gateway. */
const HOSTS = 14
const DESTINATIONS = {
  4: ['0.0.0.0/0', '172.26.0.0/15', '192.168.7.0/24'],
  6: ['::/0', 'fd77::/16', '2001:db8::/32'],
} as const

const networkDraw = fc.record({
  family: fc.constantFrom<4 | 6>(4, 4, 4, 6),
  size: fc.nat(),
  hasGateway: fc.boolean(),
  isLayer2: fc.constantFrom(false, false, true),
  routes: fc.array(fc.record({ to: fc.nat(2), hop: fc.nat(HOSTS - 1) }), { maxLength: 4 }),
  nameservers: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 4 }),
})
type NetworkDraw = typeof networkDraw extends fc.Arbitrary<infer T> ? T : never

/** Networks that something is on, by number. Numbers without a network are left out. */
const attached = fc.uniqueArray(fc.nat(4), { maxLength: 4 })
const variables = optional(
  fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
)
const role = fc.record({ role: fc.constantFrom('specialize', 'linuxRouter', 'lab.net.router'), variables })
const roles = optional(fc.array(role, { maxLength: 2 }))

/** What a member says of its interfaces. Those of pods have no model, and nobody asks a DHCP server for them. */
const nicDraw = fc.record({
  style: fc.constantFrom('static', 'static', 'two', 'dhcp', 'none', 'bare'),
  hasMacAddress: fc.boolean(),
  model: optional(fc.constantFrom('e1000', 'virtio')),
  isOnPods: fc.boolean(),
})
type NicDraw = typeof nicDraw extends fc.Arbitrary<infer T> ? T : never
const selector = optional(fc.constantFrom<Record<string, string>>({}, { disk: 'ssd' }))
const tolerations = optional(
  fc.constantFrom<NonNullable<WorkspaceSpec['vms']>[number]['tolerations']>(
    [],
    [{ key: 'lab', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
    [{ key: 'lab', value: '' }],
  ),
)

const machineOverrides = optional(
  fc.constantFrom<NonNullable<NonNullable<WorkspaceSpec['vms']>[number]['overrides']>>(
    {},
    {
      template: {
        spec: { domain: { cpu: { model: 'host-model' }, devices: { disks: [{ name: 'rootdisk', io: 'native' }] } } },
      },
    },
    { template: { spec: { volumes: [] } } },
  ),
)
const podOverrides = optional(
  fc.constantFrom<NonNullable<NonNullable<WorkspaceSpec['containerClusters']>[number]['overrides']>>(
    {},
    {
      spec: {
        hostAliases: [{ ip: '10.0.0.9', hostnames: ['web'] }],
        containers: [{ name: 'c0', volumeMounts: [{ mountPath: '/dev/shm', name: 'shm' }] }],
        volumes: [{ name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '2048Mi' } }],
      },
    },
    { spec: { hostNetwork: true } },
  ),
)

const vmDraw = fc.record({
  attached,
  nic: nicDraw,
  ignoreOnDeploy: optional(fc.boolean()),
  runStrategy: optional(fc.constantFrom('Always' as const, 'Halted' as const, 'Manual' as const)),
  firmware: optional(fc.constantFrom('bios', 'uefi', 'uefi-secure')),
  tpm: optional(fc.boolean()),
  isWindows: fc.boolean(),
  isSizedByType: fc.boolean(),
  nodeSelector: selector,
  tolerations,
  overrides: machineOverrides,
  readiness: optional(fc.constantFrom({ guestAgent: true }, { cloudInit: true, timeoutSeconds: 60 })),
  disks: fc.array(fc.constantFrom('volume', '8Gi', '8192Mi'), { maxLength: 2 }),
  roles: optional(fc.record({ build: roles, deploy: roles })),
  hasUser: fc.boolean(),
  userData: optional(fc.constantFrom('spec', 'Secret')),
  version: optional(fc.constantFrom('2.1.0', '2.10', '007')),
})
const containerDraw = fc.record({
  mounts: fc.uniqueArray(fc.nat(4), { maxLength: 3 }),
  isReadOnly: optional(fc.boolean()),
  ports: fc.uniqueArray(
    fc.record({ port: fc.integer({ min: 1, max: 65535 }), protocol: fc.constantFrom('tcp', 'udp', undefined) }),
    {
      maxLength: 2,
      selector: ({ port }) => port,
    },
  ),
  isOnHost: fc.boolean(),
  env: optional(fc.string({ maxLength: 20 })),
  secret: optional(fc.constantFrom('s', 'other')),
  program: optional(fc.array(fc.constantFrom('sh', '-c', 'exec "$A"', ''), { minLength: 1, maxLength: 3 })),
  user: optional(fc.constantFrom(0, 1000)),
  files: fc.uniqueArray(
    fc.record({ path: fc.constantFrom('/a', '/etc/b'), content: optional(fc.string({ maxLength: 9 })) }),
    { maxLength: 2, selector: ({ path }) => path },
  ),
  whole: optional(fc.constantFrom('s', 'settings')),
  probe: optional(
    fc.constantFrom(
      { httpGet: { port: 80 } },
      { tcpSocket: { port: 80 }, initialDelaySeconds: 0 },
      { exec: { command: ['true'] } },
    ),
  ),
  /** Seldom: a cluster that the policy does not allow is not created. */
  privileged: fc.constantFrom(...Array<undefined>(8), false, true),
  add: optional(fc.constantFrom('NET_BIND_SERVICE', 'NET_ADMIN')),
  memory: optional(fc.constantFrom('256Mi', '2048Mi', '1.5Gi')),
  limits: optional(fc.constantFrom({ memory: '2Gi' }, { cpu: '500m' }, { cpu: 1, memory: '3G' })),
})
const clusterDraw = fc.record({
  attached,
  nic: nicDraw,
  nodeSelector: selector,
  tolerations,
  overrides: podOverrides,
  containers: fc.array(containerDraw, { minLength: 1, maxLength: 2 }),
  initContainers: fc.array(containerDraw, { maxLength: 1 }),
})
const volumeDraw = fc.record({
  size: fc.constantFrom('1Gi', '1024Mi'),
  localPath: optional(fc.constantFrom('/config', '/b/')),
})

const secretDraw = fc.uniqueArray(
  fc.record({ key: fc.constantFrom('password', 'a.b_1', '__proto__'), length: optional(fc.constantFrom(8, 128)) }),
  { minLength: 1, maxLength: 3, selector: ({ key }) => key },
)

const serviceDraw = fc.record({
  member: fc.nat(5),
  type: optional(fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer')),
  ports: fc.uniqueArray(
    fc.record({
      port: fc.integer({ min: 1, max: 65535 }),
      targetPort: optional(fc.constantFrom(80, 8443)),
      protocol: optional(fc.constantFrom('TCP', 'UDP')),
      name: fc.constant(undefined),
    }),
    { minLength: 1, maxLength: 3, selector: ({ port }) => port },
  ),
})
type ServiceDraw = typeof serviceDraw extends fc.Arbitrary<infer T> ? T : never

const draws = fc.record({
  name: label,
  networks: fc.tuple(labels(5), fc.array(networkDraw, { minLength: 5, maxLength: 5 })),
  members: fc.tuple(
    labels(6),
    fc.array(vmDraw, { minLength: 3, maxLength: 3 }),
    fc.array(clusterDraw, { minLength: 3, maxLength: 3 }),
  ),
  volumes: fc.tuple(labels(4), fc.array(volumeDraw, { minLength: 4, maxLength: 4 })),
  services: fc.tuple(labels(3), fc.array(serviceDraw, { minLength: 3, maxLength: 3 })),
  secrets: fc.tuple(labels(2), fc.array(secretDraw, { minLength: 2, maxLength: 2 })),
  names: optional(fc.constant('hosts' as const)),
  powerState: optional(fc.constantFrom('Running' as const, 'Halted' as const)),
  internetAccess: optional(fc.constantFrom('Enabled' as const, 'Disabled' as const)),
  end: fc.record({
    lifetime: optional(fc.constantFrom('90m', '72h')),
    expiresAt: optional(fc.constant('2026-02-01T18:00:00Z')),
    onExpiry: optional(fc.constantFrom('Halt' as const, 'Delete' as const)),
  }),
  /** How many of the members are machines; the others are container clusters. */
  machines: fc.constantFrom(3, 3, 1, 0),
})
type Draws = typeof draws extends fc.Arbitrary<infer T> ? T : never

/** Small workspaces that the API accepts, with many names and addresses that are close to each other. */
export const randomWorkspace: fc.Arbitrary<RandomWorkspace> = draws.map((drawn) => {
  const parsed = parseWorkspaceSpec(specOf(drawn))
  if (!parsed.ok) throw new Error(`not a workspace: ${JSON.stringify(parsed.problems)}`)
  return { workspace: { name: drawn.name, uid: uuidFrom([drawn.name]) }, spec: parsed.spec }
})

function specOf({
  networks: [names, drawnNetworks],
  members,
  volumes: [volumeNames, drawnVolumes],
  services: drawnServices,
  secrets: [secretNames, generated],
  names: asked,
  powerState,
  internetAccess,
  end,
  machines: count,
}: Draws): WorkspaceSpecInput {
  const networks = names.map((name, at) => ({ name, at, drawn: drawnNetworks[at] as NetworkDraw }))
  const [memberNames, vms, clusters] = members
  const taken = networks.map(() => 0)
  let macs = 0
  const nextMacAddress = () => {
    macs += 1
    return `52:54:00:00:00:${String(macs).padStart(2, '0')}`
  }
  const addressOn = (network: Placed) => {
    taken[network.at] = (taken[network.at] ?? 0) + 1
    return `${addressIn(network, taken[network.at] ?? 0)}/${prefixOf(network.drawn)}`
  }
  const interfacesOf: InterfacesOf = (numbers, { style, hasMacAddress, model, isOnPods }, isMachine) => [
    ...(isMachine && isOnPods ? [{ network: 'pod', model }] : []),
    ...numbers.flatMap((number) => {
      const network = networks[number]
      if (network === undefined) return []
      const isAsked = isMachine && (style === 'dhcp' || style === 'none')
      return [
        {
          network: network.name,
          ...(style === 'static' && { ipAddress: addressOn(network) }),
          ...(style === 'two' && { ipAddresses: [addressOn(network), addressOn(network)] }),
          ...(isAsked && { addressing: style }),
          ...(hasMacAddress && { macAddress: nextMacAddress() }),
          ...(isMachine && { model }),
        },
      ]
    }),
  ]
  const machines = memberNames.slice(0, count).map((name, at) => ({
    ...vmOf(name, vms[at] as (typeof vms)[number], interfacesOf),
    ...disksOf(vms[at] as (typeof vms)[number], volumeNames),
  }))
  return {
    networks: networks.map((network) => networkOf(network)),
    volumes: volumeNames.map((name, at) => ({
      name,
      ...(drawnVolumes[at] as object),
      size: drawnVolumes[at]?.size ?? '1Gi',
    })),
    vms: machines,
    containerClusters: memberNames
      .slice(count)
      .map((name, at) =>
        clusterOf(name, clusters[at % clusters.length] as (typeof clusters)[number], at, interfacesOf, [
          ...volumeNames,
          'ansible',
        ]),
      ),
    services: servicesOf(drawnServices, memberNames, machines),
    secrets: secretNames.map((name, at) =>
      at % 3 === 2 ? { name, from: { namespace: 'logins', name } } : { name, generate: generated[at] as never },
    ),
    names: asked,
    powerState,
    internetAccess,
    ...end,
  }
}

/** Services for those members that can have one. */
function servicesOf(
  [names, drawn]: readonly [readonly string[], readonly ServiceDraw[]],
  members: readonly string[],
  machines: readonly Pick<ReturnType<typeof vmOf>, 'name' | 'interfaces'>[],
): NonNullable<WorkspaceSpecInput['services']> {
  const reached = members.filter((member) => {
    const { interfaces = [] } = machines.find(({ name }) => name === member) ?? {}
    return interfaces.length === 0 || interfaces.some(isOnPodNetwork)
  })
  if (reached.length === 0) return []
  return names.flatMap((name, at) => {
    const { member, type, ports } = drawn[at] as ServiceDraw
    if (!/^[a-z]/.test(name)) return []
    return [{ name, member: reached[member % reached.length] as string, type, ports } as never]
  })
}

interface Placed {
  readonly name: string
  readonly at: number
  readonly drawn: NetworkDraw
}

function prefixOf({ family, size }: NetworkDraw): number {
  const prefixes = family === 4 ? V4_PREFIXES : V6_PREFIXES
  return prefixes[size % prefixes.length] as number
}

function addressIn({ at, drawn }: Placed, host: number): string {
  return drawn.family === 4 ? `10.${at}.0.${host}` : `fd00:${at + 1}::${host.toString(16)}`
}

function networkOf(network: Placed) {
  const { name, at, drawn } = network
  const { family, hasGateway, isLayer2, routes, nameservers } = drawn
  return {
    name,
    ...(!isLayer2 && {
      cidr: family === 4 ? `10.${at}.0.0/${prefixOf(drawn)}` : `fd00:${at + 1}::/${prefixOf(drawn)}`,
    }),
    ...(hasGateway && { rangeGateway: addressIn(network, HOSTS) }),
    ...(routes.length > 0 && {
      routes: routes.map(({ to, hop }) => ({
        destinationNetworkCidr: DESTINATIONS[family][to] as string,
        nextHopIpAddress: addressIn(network, hop + 1),
      })),
    }),
    ...(nameservers.length === 1 && { mtu: 1400 }),
    ...(nameservers.length > 0 && { nameservers: { addresses: nameservers.map((host) => `10.${host}.0.53`) } }),
  }
}

type InterfacesOf = (
  numbers: readonly number[],
  nic: NicDraw,
  isMachine: boolean,
) => NonNullable<NonNullable<WorkspaceSpecInput['vms']>[number]['interfaces']>

function vmOf(name: string, drawn: Draws['members'][1][number], interfacesOf: InterfacesOf) {
  const { ignoreOnDeploy, firmware, tpm, version, roles: asked, hasUser, userData } = drawn
  const { nodeSelector, tolerations, readiness, overrides } = drawn
  return {
    name,
    version,
    ignoreOnDeploy,
    runStrategy: drawn.runStrategy,
    firmware,
    tpm,
    // Its user has a longer password than Windows takes, and cloud-init is not in it.
    ...(drawn.isWindows &&
      !hasUser &&
      userData === undefined &&
      readiness?.cloudInit === undefined && { os: 'windows' as const }),
    nodeSelector,
    tolerations,
    overrides,
    readiness,
    backingVMDiskImage: 'golden',
    ...(drawn.isSizedByType
      ? { instancetype: { name: 'u1.small' }, preference: { name: 'any' } }
      : { resources: { cpu: '1', memory: '1Gi' } }),
    interfaces: interfacesOf(drawn.attached, drawn.nic, true),
    ...(asked !== undefined && { ansible: { roles: asked as never } }),
    ...(hasUser && { users: [{ name: 'demo', plain_text_passwd: CANARY, lock_passwd: false }] }),
    ...(userData === 'spec' && { userData: `#cloud-config\npassword: ${CANARY}\n` }),
    ...(userData === 'Secret' && { userDataSecretRef: { name: 's', key: 'user-data' } }),
  }
}

/** The number of a disk is that of its volume. */
function disksOf({ disks }: Draws['members'][1][number], volumes: readonly string[]) {
  if (disks.length === 0) return {}
  return {
    disks: disks.map((what, at) => {
      const volume = what === 'volume' ? volumes[at] : undefined
      return { name: `d${at}`, ...(volume === undefined ? { size: '8Gi' } : { volume }) }
    }),
  }
}

function clusterOf(
  name: string,
  drawn: Draws['members'][2][number],
  at: number,
  interfacesOf: InterfacesOf,
  volumes: readonly string[],
) {
  return {
    name,
    nodeSelector: drawn.nodeSelector,
    tolerations: drawn.tolerations,
    overrides: drawn.overrides,
    ...(at % 2 === 1 && { hostname: `host-${at}`, aliases: [`${name}.lab`] }),
    interfaces: interfacesOf(drawn.attached, drawn.nic, false),
    initContainers: drawn.initContainers.map((container, index) => ({
      name: `i${index}`,
      ...programOf(container, volumes),
    })),
    containers: drawn.containers.map((container, index) => ({
      name: `c${index}`,
      ...programOf(container, volumes),
      ...(container.program !== undefined && { tty: true, stdin: true, devices: ['kvm' as const, 'tun' as const] }),
      ...(container.probe !== undefined &&
        ({ readinessProbe: container.probe, livenessProbe: container.probe } as object)),
      portMappings: container.ports.map(({ port, protocol }, place) => ({
        containerPort: port,
        protocol,
        // Different in all containers of a workspace, because they are on one node.
        ...(container.isOnHost && { hostPort: 1000 + 100 * at + 10 * index + place }),
      })) as never,
    })),
  }
}

function wholeOf(name: string | undefined) {
  if (name === undefined) return undefined
  return name === 's' ? { secretRef: { name } } : { configMapRef: { name } }
}

/** What a container has that runs before the others, too. */
function programOf(
  container: typeof containerDraw extends fc.Arbitrary<infer T> ? T : never,
  volumes: readonly string[],
) {
  const whole = wholeOf(container.whole)
  return {
    image: 'registry.example/app:1',
    privileged: container.privileged,
    resources: { memory: container.memory, limits: container.limits },
    ...(container.add !== undefined && { capabilities: { drop: ['ALL'], add: [container.add] } }),
    env: [
      ...(container.env === undefined ? [] : [{ name: 'A', value: container.env }]),
      ...(container.secret === undefined
        ? []
        : [{ name: 'B', valueFrom: { secretKeyRef: { name: container.secret, key: 'k' } } }]),
    ],
    ...(container.program !== undefined && { command: container.program, args: container.program }),
    files: [
      ...container.files.map(({ path, content }) =>
        content === undefined ? { path, secretKeyRef: { name: 's', key: 'k' }, mode: '0400' } : { path, content },
      ),
      ...(whole === undefined ? [] : [{ path: '/whole', ...whole, mode: '0440' }]),
    ],
    ...(whole !== undefined && { envFrom: [{ prefix: 'W_', ...whole }, whole] }),
    ...(container.user !== undefined && { runAsUser: container.user, workingDir: '/app' }),
    volumeMounts: container.mounts.flatMap((number) => {
      const volume = volumes[number]
      return volume === undefined
        ? []
        : [
            {
              name: volume,
              containerPath: `/mnt/${number}`,
              readOnly: container.isReadOnly,
              ...(number === 1 && { subPath: 'data' }),
            },
          ]
    }),
  }
}
