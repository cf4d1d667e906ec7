import fc from 'fast-check'
import { at, type Change, changedSpecs, type Path } from './changes.ts'
import {
  addressing,
  cardWords,
  cpu,
  label,
  labelValue,
  memory,
  nearInterface,
  oddAddress,
  oddCpu,
  oddLabelValue,
  oddMemory,
  oddSize,
  oddUserData,
  oddWindowsWords,
  overrides,
  ownUserData,
  user,
} from './machine-manifests.ts'
import {
  anyJson,
  anyObject,
  diskSize,
  noObject,
  objectName,
  oddName,
  oddQuantity,
  oddText,
  slipOf,
  textAround,
} from './odd-values.ts'
import { oddNodeSelector, oddReadiness, oddTolerations, placement, readiness } from './placement-manifests.ts'
import { manifestsOf, nearValidImageSpec, rawNumber, validImageSpec } from './spec-manifests.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
/** Few names, so that they collide. */
const NAMES = ['a', 'b', 'control-net', 'x'.repeat(63)] as const
const names = fc.shuffledSubarray([...NAMES], { minLength: 2, maxLength: 3 })

/** Networks with a function for the addresses of hosts, and their prefix length. */
const NETS = [
  { cidr: '10.10.0.0/24', address: (host: number) => `10.10.0.${host}`, length: 24 },
  { cidr: '4.29.163.0/28', address: (host: number) => `4.29.163.${host}`, length: 28 },
  { cidr: '128.0.0.0/8', address: (host: number) => `128.0.1.${host}`, length: 8 },
  { cidr: 'fd00:10::/64', address: (host: number) => `fd00:10::${host.toString(16)}`, length: 64 },
] as const
const GATEWAY = 14

const path = fc.constantFrom('/config', '/a/.ssh', '/var/lib/app_1', '/a/')
const role = fc.record({
  role: fc.constantFrom('specialize', 'lab.net.router', 'a-b_c'),
  variables: maybe(anyObject),
})
const roles = fc.array(role, { maxLength: 2 })
const capability = fc.constantFrom('ALL', 'NET_ADMIN', 'NET_BIND_SERVICE')
const port = fc.record({
  containerPort: fc.integer({ min: 1, max: 65_535 }),
  protocol: maybe(fc.constantFrom('tcp', 'udp', 'sctp')),
  hostPort: maybe(fc.integer({ min: 1, max: 65_535 })),
})
const words = fc.array(fc.string({ maxLength: 9 }), { maxLength: 3 })
const source = fc.oneof(
  fc.record({ secretKeyRef: fc.record({ name: objectName, key: fc.constantFrom('k', 'a.b_1') }) }),
  fc.record({ configMapKeyRef: fc.record({ name: objectName, key: fc.constantFrom('k', 'a.b_1') }) }),
  fc.record({ fieldRef: fc.record({ fieldPath: fc.constantFrom('metadata.name', 'status.podIP') }) }),
)
const whole = fc.oneof(
  fc.record({ secretRef: fc.record({ name: fc.constantFrom('a', 'web.env', 'x'.repeat(63)) }) }),
  fc.record({ configMapRef: fc.record({ name: fc.constantFrom('a-1', 'kube-root-ca.crt') }) }),
)
const content = fc.oneof(
  fc.record({ content: fc.string({ maxLength: 9 }) }),
  fc.record({ secretKeyRef: fc.record({ name: label, key: fc.constantFrom('k', 'a.b_1') }) }),
  whole,
)
const envSource = fc
  .tuple(maybe(fc.constantFrom('DB_', 'a.b-', 'x'.repeat(63))), whole)
  .map(([prefix, of]) => ({ prefix, ...of }))
const file = fc
  .tuple(path, maybe(fc.constantFrom('0644', '755')), content)
  .map(([one, mode, from]) => ({ path: one, mode, ...from }))
const probe = fc
  .tuple(
    fc.oneof(
      fc.record({
        exec: fc.record({ command: fc.array(fc.string({ maxLength: 9 }), { minLength: 1, maxLength: 3 }) }),
      }),
      fc.record({
        httpGet: fc.record({ port: fc.integer({ min: 1, max: 65_535 }), path: maybe(fc.constantFrom('/', '/a')) }),
      }),
      fc.record({ tcpSocket: fc.record({ port: fc.integer({ min: 1, max: 65_535 }) }) }),
    ),
    fc.record({
      periodSeconds: maybe(fc.integer({ min: 1, max: 86_400 })),
      initialDelaySeconds: maybe(fc.nat(86_400)),
    }),
  )
  .map(([how, when]) => ({ ...how, ...when }))
const valueFrom = source.map((from) => ({ valueFrom: from }))
const container = fc.record({
  name: label,
  image: fc.constantFrom('a', 'ghcr.io/demo/app:1.0.2'),
  resources: maybe(
    fc.oneof(
      fc.record({ cpu: maybe(cpu), memory: maybe(memory) }),
      fc.record({ limits: fc.record({ cpu: maybe(cpu), memory: maybe(memory) }) }),
    ),
  ),
  capabilities: maybe(
    fc.record({
      add: maybe(fc.array(capability, { maxLength: 2 })),
      drop: maybe(fc.array(capability, { maxLength: 2 })),
    }),
  ),
  env: maybe(
    fc.uniqueArray(
      fc
        .tuple(
          fc.constantFrom('A', 'b.c', '_1'),
          fc.oneof(fc.record({ value: maybe(fc.string({ maxLength: 9 })) }), valueFrom),
        )
        .map(([name, rest]) => ({ name, ...rest })),
      { maxLength: 2, selector: ({ name }) => name },
    ),
  ),
  envFrom: maybe(fc.array(envSource, { maxLength: 2 })),
  command: maybe(words),
  args: maybe(words),
  workingDir: maybe(fc.constantFrom('/', '/app')),
  runAsUser: maybe(fc.nat(2 ** 31 - 1)),
  runAsGroup: maybe(fc.nat(2 ** 31 - 1)),
  readinessProbe: maybe(probe),
  files: maybe(fc.uniqueArray(file, { maxLength: 2, selector: ({ path: one }) => one })),
  privileged: maybe(fc.boolean()),
  stdin: maybe(fc.boolean()),
  tty: maybe(fc.boolean()),
  devices: maybe(fc.subarray(['kvm', 'tun', 'vhost-net'])),
  portMappings: maybe(
    fc.uniqueArray(port, { maxLength: 2, selector: ({ hostPort = 0, protocol = 'tcp' }) => `${hostPort}/${protocol}` }),
  ),
})
const initContainer = container.map(
  ({ devices: _devices, readinessProbe: _probe, stdin: _stdin, tty: _tty, portMappings: _, ...one }) => one,
)
/** Whether they exist, and wait for each other, is no matter of the schema. */
const dependsOn = maybe(fc.array(fc.constantFrom('vm-0', 'cluster', '', 'x'.repeat(63)), { maxLength: 8 }))
/** The operator says which it takes. */
const aliases = maybe(fc.array(fc.constantFrom('www.lab', 'cluster', 'a_b', '', 'x'.repeat(253)), { maxLength: 3 }))
const vm = fc.record({
  backingVMDiskImage: objectName,
  aliases,
  baseVm: maybe(labelValue),
  version: maybe(labelValue),
  ignoreOnDeploy: maybe(fc.boolean()),
  runStrategy: maybe(fc.constantFrom('Always', 'Halted', 'Manual')),
  dependsOn,
  vmDiskImageTemplate: maybe(validImageSpec),
  resources: fc.record({ cpu, memory }),
  diskSize: maybe(diskSize),
  ...placement,
  readiness,
  overrides: maybe(overrides),
  users: maybe(
    fc.uniqueArray(
      user.map(({ ssh_authorized_keys: _keys, ...one }) => one),
      { maxLength: 2, selector: ({ name }) => name },
    ),
  ),
  ansible: maybe(fc.record({ roles: maybe(fc.record({ build: maybe(roles), deploy: maybe(roles) })) })),
})

const player = fc.record({
  image: maybe(fc.constantFrom('ansible', 'registry.example.com/ansible:2.19')),
  pullSecrets: maybe(fc.subarray(['a', 'login.lab'])),
  sshKeySecretRef: maybe(
    fc.record({ name: fc.constantFrom('a', 'range-key'), key: fc.constantFrom('id', 'ssh-privatekey') }),
  ),
  timeout: maybe(fc.constantFrom('30m', '1h30m', '0s')),
})

const vmWithUserData = fc.tuple(vm, ownUserData).map(([one, own]) => ({ ...one, ...own }))

const servicePort = fc.record({
  name: maybe(fc.constantFrom('dns', 'http', 'a-1')),
  port: fc.integer({ min: 1, max: 65_535 }),
  targetPort: maybe(fc.integer({ min: 1, max: 65_535 })),
  protocol: maybe(fc.constantFrom('TCP', 'UDP')),
})
const services = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'web-1', 'x'.repeat(63)),
    member: fc.constant('cluster'),
    type: maybe(fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer')),
    ports: fc
      .uniqueArray(servicePort, { minLength: 1, maxLength: 2, selector: ({ name = '' }) => name })
      .filter((ports) => new Set(ports.map((one) => one.port)).size === ports.length),
  }),
  { maxLength: 2, selector: ({ name }) => name },
)

const generated = fc.record({
  key: fc.constantFrom('password', 'a.b_1', '-'),
  length: maybe(fc.integer({ min: 8, max: 128 })),
})
const shared = fc.record({
  namespace: fc.constantFrom('logins', 'n'.repeat(63)),
  name: fc.constantFrom('registry', 'a.b', 'x'.repeat(253)),
})
const origin = fc.oneof(
  fc.record({ generate: fc.uniqueArray(generated, { minLength: 1, maxLength: 2, selector: ({ key }) => key }) }),
  fc.record({ from: shared }),
)
const secrets = fc.uniqueArray(
  fc
    .record({ name: fc.constantFrom('a', 'web-1', 'a.b', 'x'.repeat(253)), origin })
    .map(({ name, origin: one }) => ({ name, ...one })),
  { maxLength: 2, selector: ({ name }) => name },
)

const validSpec = fc
  .record({
    nets: names,
    starts: fc.nat(3),
    vms: fc.array(vmWithUserData, { minLength: 1, maxLength: 2 }),
    place: fc.record({ ...placement, dependsOn, aliases, hostname: maybe(label), overrides: maybe(overrides) }),
    container,
    first: maybe(initContainer),
    volumes: names,
    path,
    hasGateway: fc.boolean(),
    hop: fc.integer({ min: 1, max: 13 }),
    size: diskSize,
    services: maybe(services),
    secrets: maybe(secrets),
    lookup: maybe(fc.constant('hosts')),
    power: maybe(fc.constantFrom('Running', 'Halted')),
    internet: maybe(fc.constantFrom('Enabled', 'Disabled')),
    end: fc.record({
      lifetime: maybe(fc.constantFrom('72h', '1h30m')),
      expiresAt: maybe(fc.constantFrom('2026-01-31T18:00:00Z', '2026-01-31T18:00:00.25+01:00')),
      onExpiry: maybe(fc.constantFrom('Halt', 'Delete')),
    }),
    plays: maybe(player),
    words: fc.record({
      isLayer2: fc.boolean(),
      isDual: fc.boolean(),
      isOnPods: fc.boolean(),
      card: cardWords,
      asks: maybe(addressing),
    }),
  })
  .map(
    ({
      words,
      nets,
      starts,
      vms,
      place,
      container: one,
      first,
      volumes,
      path: containerPath,
      hasGateway,
      hop,
      size,
      services: served,
      secrets: kept,
      lookup,
      power,
      internet,
      end,
      plays,
    }) => {
      const kindOf = (at: number) => NETS[(starts + at) % NETS.length] as (typeof NETS)[number]
      const nicsOf = (host: number) =>
        nets.map((network, at) => ({ network, ipAddress: `${kindOf(at).address(host)}/${kindOf(at).length}` }))
      const everywhere = (at: number) => (kindOf(at).cidr.includes(':') ? '::/0' : '0.0.0.0/0')
      return {
        vms: vms.map((each, at) => ({
          ...each,
          name: `vm-${at}`,
          interfaces: [
            ...nicsOf(at + 1).map(({ network, ipAddress }) => ({
              network,
              ...(words.asks === undefined ? { ipAddress } : { addressing: words.asks }),
              ...words.card,
            })),
            ...(words.isOnPods && !nets.includes('pod') ? [{ network: 'pod' }] : []),
          ],
          disks: [
            ...volumes.map((volume, disk) => ({
              name: `d${disk}`,
              ...(disk % 2 === at % 2 ? { volume } : { size }),
            })),
            { name: 'i', backingVMDiskImage: 'tools', ...(at % 2 === 0 ? { readOnly: true } : { size }) },
          ],
        })),
        containerClusters: [
          {
            name: 'cluster',
            ...place,
            interfaces: nicsOf(9),
            ...(first !== undefined && {
              initContainers: [
                { ...first, name: one.name === 'i' ? 'j' : 'i', volumeMounts: [{ name: volumes[0], containerPath }] },
              ],
            }),
            containers: [
              {
                ...one,
                volumeMounts: [
                  { name: volumes[0], containerPath, readOnly: true, subPath: 'db/data' },
                  { name: 'ansible', containerPath: '/plays' },
                ],
              },
            ],
          },
        ],
        services: served,
        secrets: kept,
        names: lookup,
        powerState: power,
        internetAccess: internet,
        ...end,
        ansible: plays,
        volumes: volumes.map((name) => ({ name, size, localPath: '/data' })),
        networks: nets.map((name, at) => ({
          name,
          ...(!words.isLayer2 && (words.isDual ? { cidrs: bothKinds(kindOf(at).cidr) } : { cidr: kindOf(at).cidr })),
          ...(hasGateway && { rangeGateway: kindOf(at).address(GATEWAY) }),
          routes: [{ destinationNetworkCidr: everywhere(at), nextHopIpAddress: kindOf(at).address(hop) }],
          mtu: 1400,
          nameservers: { addresses: ['8.8.8.8'] },
        })),
      }
    },
  )

function bothKinds(one: string): string[] {
  return one.includes(':') ? ['10.99.0.0/16', one] : [one, 'fd00:99::/64']
}

const VM = ['vms', 0] as const
const CLUSTER = ['containerClusters', 0] as const
const CONTAINER = [...CLUSTER, 'containers', 0] as const
const NET = ['networks', 0] as const

const oddPath = fc.oneof(
  slipOf(path),
  textAround(256, ['a', '/a', '/ä']),
  fc.constantFrom('/', '//', '/a/../b', '/..', '/a/.', '/a:b', 'a'),
)
const address = fc.oneof(
  fc
    .tuple(fc.constantFrom(...NETS), fc.nat(255), fc.constantFrom(8, 24, 28, 31, 32, 64, 127))
    .map(([net, host, length]) => `${net.address(host)}/${length}`),
  fc.tuple(fc.constantFrom(...NETS), fc.nat(255)).map(([net, host]) => `${net.address(host)}/${net.length}`),
)
const cidr = fc.oneof(
  fc.constantFrom(...NETS.map((net) => net.cidr), '10.10.0.0/16', '10.0.0.0/8', '0.0.0.0/0', '10.10.0.0/31', '::/0'),
  address,
)
const bare = fc.oneof(
  fc
    .tuple(fc.constantFrom(...NETS), fc.constantFrom(0, 1, 9, GATEWAY, 15, 255))
    .map(([net, host]) => net.address(host)),
  fc.constantFrom('FD00:10::1', 'fd00:10:0::1', '::', '::ffff:1.2.3.4', '010.0.0.1', '10.10.0.1/24', '10.10.0', ''),
  oddText,
)
/** None such as 1.0, which the rules of the API server on lists of ports do not take for a whole number. */
const oddPort = fc.oneof(fc.integer({ min: -1, max: 65_537 }), fc.constantFrom<unknown>('53', null, 1.5))
const many = (count: number, make: (at: number) => object) =>
  fc.constant(Array.from({ length: count }, (_, index) => make(index)))

const MACHINE = { backingVMDiskImage: 'a', resources: { cpu: 1, memory: '1Gi' } }
const machineAt = (name: string, ...addresses: readonly string[]) => ({
  ...MACHINE,
  name,
  interfaces: addresses.map((ipAddress) => ({ network: 'a', ipAddress })),
})
const LAB = { name: 'a', cidr: '10.10.0.0/24', rangeGateway: '10.10.0.14' }

const containerWith = (more: object) => ({
  containerClusters: [{ name: 'c', containers: [{ name: 'd', image: 'e', ...more }] }],
})
const initialWith = (more: object, volumes: object[] = []) => ({
  volumes,
  containerClusters: [
    { name: 'c', initContainers: [{ name: 'i', image: 'e', ...more }], containers: [{ name: 'd', image: 'e' }] },
  ],
})
const KEY = { name: 's', key: 'k' }

/** One entry, so that the others below are drawn as often as without it. */
const oddPlace = fc.oneof(
  ...[
    oddNodeSelector.map((nodeSelector) => ({ nodeSelector })),
    oddTolerations.map((tolerations) => ({ tolerations })),
  ].flatMap((place) => [
    place.map((odd): object => ({ vms: [{ ...MACHINE, name: 'b', ...odd }] })),
    place.map((odd): object => ({
      containerClusters: [{ name: 'c', ...odd, containers: [{ name: 'd', image: 'e' }] }],
    })),
  ]),
  oddReadiness.map((readinessOf): object => ({ vms: [{ ...MACHINE, name: 'b', readiness: readinessOf }] })),
  oddWindowsWords.map((words): object => ({ vms: [{ ...MACHINE, name: 'b', ...words }] })),
  oddSize.map((words): object => ({ vms: [{ ...MACHINE, name: 'b', ...words }] })),
  oddWindowsWords.map((words): object => ({ vms: [{ ...MACHINE, name: 'b', ...words, os: 'windows' }] })),
  oddReadiness.map((readinessOf): object => ({
    networks: [LAB],
    vms: [{ ...machineAt('b', '10.10.0.1/24'), readiness: readinessOf }],
  })),
)

const ofName = (name: string) => [{ secretRef: { name } }, { configMapRef: { name } }]
const OBJECTS = [
  {},
  { secretRef: { name: 's' }, configMapRef: { name: 'c' } },
  ...['s', 'A', 'a..b', '-a', 'a.', 'x'.repeat(64)].flatMap(ofName),
]

/** One entry, for the same reason. */
const oddWhole: fc.Arbitrary<object> = fc
  .tuple(
    fc.oneof(
      fc.constantFrom<object>(...OBJECTS).map((one) => ({ envFrom: [one] })),
      fc.constantFrom('1A', 'A b', 'A=').map((prefix) => ({ envFrom: [{ prefix, secretRef: { name: 's' } }] })),
      fc
        .tuple(fc.constantFrom<object>(...OBJECTS), fc.constantFrom({}, {}, { content: '' }, { secretKeyRef: KEY }))
        .map(([one, other]) => ({ files: [{ path: '/a', ...one, ...other }] })),
    ),
    fc.boolean(),
  )
  .map(([words, isFirst]) => (isFirst ? initialWith(words) : containerWith(words)))

const SERVED = { networks: [{ name: 'a' }], vms: [{ ...MACHINE, name: 'b' }] }
const SERVICE = { name: 's', member: 'b', ports: [{ port: 80 }] }
const withService = (more: object, interfaces: readonly object[] = []) => ({
  ...SERVED,
  vms: [{ ...MACHINE, name: 'b', interfaces }],
  services: [{ ...SERVICE, ...more }],
})
const withPorts = (...ports: object[]) => withService({ ports })

/** One entry, for the same reason. */
const oddService: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom('b', 'c', 'B', 'a'.repeat(64)).map((member) => withService({ member })),
  fc.constantFrom('s', '1s', 'S', 's.t', 's'.repeat(64)).map((name) => withService({ name })),
  fc.constantFrom('NodePort', 'ExternalName').map((type) => withService({ type })),
  fc.constantFrom([], [{ network: 'a' }], [{ network: 'pod' }]).map((interfaces) => withService({}, interfaces)),
  fc.constantFrom('tcp-80', 'udp-1', 'tcp-a', 'Http').map((name) => withPorts({ port: 80, name })),
  fc.constantFrom('TCP', 'UDP', undefined).map((protocol) => withPorts({ port: 80 }, { port: 80, protocol })),
  fc.constantFrom('a', 'b', undefined).map((name) => withPorts({ port: 80, name: 'a' }, { port: 81, name })),
  oddPort.map((one) => withPorts({ port: one })),
  oddPort.map((one) => withPorts({ port: 80, targetPort: one })),
  fc.constantFrom(0, 16, 17).chain((count) => many(count, (at) => ({ port: at + 1 })).map((all) => withPorts(...all))),
  fc
    .constantFrom(2, 16, 17)
    .chain((count) =>
      many(count, (at) => ({ ...SERVICE, name: `s${at}` })).map((all) => ({ ...SERVED, services: all })),
    ),
)

const withSecret = (more: object) => ({ secrets: [{ name: 's', generate: [{ key: 'k' }], ...more }] })
const withKeys = (...generate: object[]) => withSecret({ generate })
const withSource = (more: object) =>
  withSecret({ generate: undefined, from: { namespace: 'logins', name: 'registry', ...more } })

const oddPlayer: fc.Arbitrary<object> = fc
  .oneof(
    fc.constantFrom('', 'an image', 'ansible', 'a'.repeat(513)).map((image) => ({ image })),
    fc.constantFrom('', 'A', 'a', 'a.b').map((name) => ({ pullSecrets: [name] })),
    fc.constantFrom(4, 5).map((count) => ({ pullSecrets: Array.from({ length: count }, (_, at) => `s${at}`) })),
    fc.constantFrom('', 'a', 'a.b', 'a'.repeat(64)).map((name) => ({ sshKeySecretRef: { name, key: 'id' } })),
    fc.constantFrom('', 'a', 'a b', 'a'.repeat(64)).map((key) => ({ sshKeySecretRef: { name: 'a', key } })),
    fc.constantFrom('', '30', '30m', 'soon', '1h'.repeat(24)).map((timeout) => ({ timeout })),
  )
  .map((ansible) => ({ ansible }))

/** One entry, for the same reason. */
const oddSecret: fc.Arbitrary<object> = fc.oneof(
  fc.constantFrom('s', 'S', 'a-cloudinit', 'a_b', 's'.repeat(254)).map((name) => withSecret({ name })),
  fc.constantFrom('k', '.', '..', '.k', 'a b', 'k'.repeat(254)).map((key) => withKeys({ key })),
  fc.constantFrom('k', 'l').map((key) => withKeys({ key: 'k' }, { key })),
  fc.constantFrom(7, 8, 128, 129, '24').map((length) => withKeys({ key: 'k', length })),
  fc.constantFrom('n'.repeat(63), 'n'.repeat(64), undefined, 7).map((namespace) => withSource({ namespace })),
  fc.constantFrom('n'.repeat(253), 'n'.repeat(254), undefined, '').map((name) => withSource({ name })),
  fc
    .constantFrom({}, { generate: [{ key: 'k' }] })
    .map((more) => ({ secrets: [{ ...withSource({}).secrets[0], ...more }] })),
  fc.constant(withSecret({ generate: undefined })),
  fc.constantFrom(0, 16, 17).chain((count) => many(count, (at) => ({ key: `k${at}` })).map((all) => withKeys(...all))),
  fc
    .constantFrom(16, 17)
    .chain((count) =>
      many(count, (at) => ({ name: `s${at}`, generate: [{ key: 'k' }] })).map((all) => ({ secrets: all })),
    ),
)

/** Small specs in which nothing else can be wrong: in a large spec, other rules often refuse the same thing. */
const smallSpec = fc.oneof(
  fc
    .oneof(
      cidr,
      oddAddress,
      fc.constantFrom('127.0.0.0/8', '224.0.0.0/8', 'fe80::/64', '10.10.0.7/24', 'fd00:10::1/64'),
    )
    .map((one) => ({ networks: [{ name: 'a', cidr: one }] })),
  fc
    .constantFrom('10.10.0.0', '10.10.0.0/33', '10.10.0.7/24', 'fd00:10::1/64', '127.0.0.0/8', 'fe80::/64')
    .map((one) => ({ networks: [{ name: 'a', cidr: one }] })),
  fc
    .constantFrom(
      { cidrs: [] },
      { cidrs: ['10.10.0.0/24', '10.20.0.0/24'] },
      { cidrs: ['10.10.0.0/24', 'fd00:10::/64', 'fd00:20::/64'] },
      { cidrs: ['fd00:10::/64', '10.10.0.7/24'] },
      { cidrs: ['127.0.0.0/8'] },
      { cidrs: ['10.10.0.0'] },
      { cidr: '10.10.0.0/24', cidrs: ['10.10.0.0/24'] },
    )
    .map((one) => ({ networks: [{ name: 'a', ...one }] })),
  fc.constantFrom('10.10.0.0', '10.10.0.255', '10.10.1.1').map((nextHopIpAddress) => ({
    networks: [
      { name: 'a', cidr: '10.10.0.0/24', routes: [{ destinationNetworkCidr: '0.0.0.0/0', nextHopIpAddress }] },
    ],
  })),
  fc
    .constantFrom({ size: '1' }, { size: '2Pi' }, { name: 'ansible' })
    .map((one) => ({ volumes: [{ name: 'v', size: '1Gi', ...one }] })),
  fc.constantFrom<unknown>('Halted', 'Off', 'halted', '', true).map((powerState) => ({ powerState })),
  fc.constantFrom<unknown>('Enabled', 'enabled', '', true).map((internetAccess) => ({ internetAccess })),
  fc
    .constantFrom<unknown>('Recreate', { type: 'Recreate' }, { type: 'OnRequest' }, { type: 'Rolling' }, {}, [])
    .map((updateStrategy) => ({ updateStrategy })),
  fc
    .constantFrom<unknown>(1, 100, 0, 101, 1.5, '1')
    .map((maxUnavailable) => ({ updateStrategy: { type: 'Recreate', maxUnavailable } })),
  fc.constantFrom<unknown>('72h', '3d', '-1h', '', '1h2h3h4h5h', 72).map((lifetime) => ({ lifetime })),
  fc
    .constantFrom<unknown>('2026-01-31T18:00:00Z', '2026-01-31', '2026-02-32T00:00:00Z', '2026-01-31T18:00:60Z', '', 7)
    .map((expiresAt) => ({ expiresAt })),
  fc.constantFrom<unknown>('Delete', 'Remove', 'halt', '', true).map((onExpiry) => ({ onExpiry })),
  fc
    .constantFrom<unknown>('Manual', 'Once', 'RerunOnFailure', '', true)
    .map((runStrategy) => ({ vms: [{ ...MACHINE, name: 'b', runStrategy }] })),
  fc.constantFrom('1A', 'A b').map((name) => containerWith({ env: [{ name, value: '' }] })),
  fc.constantFrom(80, 81).map((hostPort) => ({
    containerClusters: [
      {
        name: 'c',
        containers: [80, hostPort].map((port, at) => ({
          name: `d${at}`,
          image: 'e',
          portMappings: [{ containerPort: 1, hostPort: port }],
        })),
      },
    ],
  })),
  fc
    .constantFrom('', 'a'.repeat(318))
    .map((key) => ({ vms: [{ ...MACHINE, name: 'b', nodeSelector: { [key]: '' } }] })),
  fc
    .constantFrom('a b', '-a')
    .map((key) => ({ vms: [{ ...MACHINE, name: 'b', tolerations: [{ key, operator: 'Exists' }] }] })),
  fc.constantFrom('10.10.0.1/24', 'a').map((one) => ({ networks: [{ ...LAB, nameservers: { addresses: [one] } }] })),
  fc.constantFrom(63, 64).map((length) => ({ vms: [{ ...MACHINE, name: 'b', version: 'a'.repeat(length) }] })),
  fc
    .constantFrom('10.10.0.0/24', '10.10.0.255/24', '10.10.0.14/24', '10.10.0.7/24', '10.10.1.1/24')
    .map((one) => ({ networks: [LAB], vms: [machineAt('b', one)] })),
  fc
    .constantFrom('fd00:10:0::1', 'FD00:10::1', 'fd00:10::1')
    .map((rangeGateway) => ({ networks: [{ name: 'a', cidr: 'fd00:10::/64', rangeGateway }] })),
  fc.constantFrom('fd00:10:0::1', 'FD00:10::1', 'fd00:10::1').map((nextHopIpAddress) => ({
    networks: [{ name: 'a', cidr: 'fd00:10::/64', routes: [{ destinationNetworkCidr: '::/0', nextHopIpAddress }] }],
  })),
  fc
    .constantFrom('FD00:10::1/64', 'fd00:10:0::1/64', 'fd00:10::/64', 'fd00:10::ffff:ffff:ffff:ffff/64')
    .map((one) => ({ networks: [{ name: 'a', cidr: 'fd00:10::/64' }], vms: [machineAt('b', one)] })),
  fc.constant({ networks: [LAB], vms: [machineAt('b', '10.10.0.1/24'), machineAt('c', '10.10.0.1/24')] }),
  fc.constant({ networks: [LAB], vms: [machineAt('b', '10.10.0.1/24', '10.10.0.2/24')] }),
  fc
    .constantFrom({}, { secretKeyRef: KEY, configMapKeyRef: KEY }, { secretKeyRef: KEY })
    .map((from) => containerWith({ env: [{ name: 'A', valueFrom: from }] })),
  fc
    .constantFrom({ value: '' }, { value: '', valueFrom: { secretKeyRef: KEY } })
    .map((from) => containerWith({ env: [{ name: 'A', ...from }] })),
  fc
    .constantFrom({}, { content: '', secretKeyRef: KEY }, { content: '' })
    .map((from) => containerWith({ files: [{ path: '/a', ...from }] })),
  { arbitrary: oddWhole, weight: 5 },
  nearInterface.map((one) => ({ networks: [LAB], vms: [{ ...MACHINE, name: 'b', interfaces: [one] }] })),
  nearInterface.map(({ model: _model, addressing: _addressing, ...one }) => ({
    networks: [LAB],
    containerClusters: [{ name: 'c', interfaces: [one], containers: [{ name: 'd', image: 'e' }] }],
  })),
  fc.constantFrom('52:54:00:12:34:56', '52:54:00:12:34:58').map((macAddress) => ({
    networks: [{ name: 'a' }],
    vms: [{ ...MACHINE, name: 'b', interfaces: [{ network: 'a', macAddress: '52:54:00:12:34:56' }] }],
    containerClusters: [
      { name: 'c', interfaces: [{ network: 'a', macAddress }], containers: [{ name: 'd', image: 'e' }] },
    ],
  })),
  fc.constantFrom('b', 'c').map((name) => ({
    vms: [{ ...MACHINE, name: 'b' }],
    containerClusters: [{ name, containers: [{ name: 'd', image: 'e' }] }],
  })),
  fc
    .constantFrom(512, 513)
    .map((length) => ({ vms: [{ ...MACHINE, name: 'b', users: [{ name: 'u', sudo: 'a'.repeat(length) }] }] })),
  fc
    .constantFrom('a b', 'a/b')
    .map((key) => containerWith({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key } } }] })),
  fc
    .constantFrom('b c', '-a', 'a'.repeat(64))
    .map((value) => ({ vms: [{ ...MACHINE, name: 'b', nodeSelector: { a: value } }] })),
  fc
    .constantFrom('a'.repeat(21), 'A')
    .map((name) => ({ vms: [{ ...MACHINE, name: 'b', disks: [{ name, size: '1Gi' }] }] })),
  fc
    .constantFrom<object>(
      {},
      { volume: 'a', backingVMDiskImage: 'i' },
      { backingVMDiskImage: 'i', size: '1Gi' },
      { size: '1Gi', readOnly: true },
      { backingVMDiskImage: 'i', readOnly: true, bus: 'virtio' },
      { backingVMDiskImage: 'i', readOnly: true },
    )
    .map((more) => ({
      volumes: [{ name: 'a', size: '1Gi' }],
      vms: [{ ...MACHINE, name: 'b', disks: [{ name: 'd', ...more }] }],
    })),
  fc.constantFrom('a', 'c').map((volume) => ({
    volumes: ['a', 'c'].map((name) => ({ name, size: '1Gi' })),
    vms: [
      {
        ...MACHINE,
        name: 'b',
        disks: [
          { name: 'd', volume: 'a' },
          { name: 'e', volume },
        ],
      },
    ],
  })),
  fc
    .constantFrom({}, { exec: { command: ['true'] }, tcpSocket: { port: 80 } })
    .map((readinessProbe) => containerWith({ readinessProbe })),
  fc.constant({ vms: [machineAt('b', '10.10.0.1/24')] }),
  fc.constantFrom('pod', 'pods').map((name) => ({ networks: [{ name }] })),
  fc.constantFrom('vlans/v-100', 'v-100', 'a/b/c').map((attach) => ({ networks: [{ name: 'a', attach }] })),
  fc.constantFrom('52:54:00:AB:CD:EF', '53:54:00:12:34:56').map((macAddress) => ({
    networks: [{ name: 'a' }],
    vms: [{ ...MACHINE, name: 'b', interfaces: [{ network: 'a', macAddress }] }],
  })),
  fc
    .constantFrom(64, 65)
    .map((length) => ({ vms: [{ ...MACHINE, name: 'b', users: [{ name: 'a'.repeat(length) }] }] })),
  oddPath.map((one) => containerWith({ files: [{ path: one, content: '' }] })),
  fc.constantFrom('#!', 'packages: []', ' #!', '#!'.padEnd(65_537, 'a')).map((userData) => ({
    vms: [{ ...MACHINE, name: 'b', userData }],
  })),
  fc.constantFrom({}, { userData: '#!' }).map((own) => ({
    vms: [{ ...MACHINE, name: 'b', userDataSecretRef: KEY, ...own }],
  })),
  fc.constantFrom(4, 5).map((count) => ({
    vms: Array.from({ length: count }, (_, index) => ({
      ...MACHINE,
      name: `vm-${index}`,
      userData: '#!'.padEnd(65_536, 'a'),
    })),
  })),
  fc.constantFrom('4755', '0888', '0644').map((mode) => containerWith({ files: [{ path: '/a', content: '', mode }] })),
  fc
    .constantFrom('10.10.0.0', '10.10.0.255', '10.10.0.1')
    .map((rangeGateway) => ({ networks: [{ ...LAB, rangeGateway }] })),
  fc
    .constantFrom('a b', '../a', 'lab.net.router')
    .map((name) => ({ vms: [{ ...MACHINE, name: 'b', ansible: { roles: { build: [{ role: name }] } } }] })),
  fc.constantFrom('all', 'ungrouped', 'alle').map((name) => ({ vms: [{ ...MACHINE, name }] })),
  fc.constantFrom(256, 257).map((length) => ({
    vms: [{ ...MACHINE, name: 'b', users: [{ name: 'u', plain_text_passwd: 'x'.repeat(length) }] }],
  })),
  fc.constantFrom('d', 'i').map((name) => initialWith({ name })),
  fc.record({ cpu, limits: fc.record({ cpu }) }).map((resources) => containerWith({ resources })),
  fc
    .record({ memory, limits: fc.record({ memory: fc.oneof(memory, oddQuantity) }) })
    .map((resources) => containerWith({ resources })),
  fc
    .constantFrom('v', 'w', 'ansible')
    .map((name) => initialWith({ volumeMounts: [{ name, containerPath: '/a' }] }, [{ name: 'v', size: '1Gi' }])),
  fc
    .constantFrom({}, { secretKeyRef: KEY, configMapKeyRef: KEY }, { secretKeyRef: KEY })
    .map((from) => initialWith({ env: [{ name: 'A', valueFrom: from }] })),
  fc
    .constantFrom<object>({ portMappings: [{ containerPort: 1 }] }, { image: 'a b' }, { runAsUser: -1 })
    .map((more) => initialWith(more)),
  fc.constantFrom('644', '0888', '4755').map((mode) => containerWith({ files: [{ path: '/a', content: '', mode }] })),
  fc.constantFrom('10.10.0.0', '10.10.0.255').map((rangeGateway) => ({ networks: [{ ...LAB, rangeGateway }] })),
  fc
    .constantFrom('FD00::53', 'fd00:0::53')
    .map((one) => ({ networks: [{ ...LAB, nameservers: { addresses: [one] } }] })),
  { arbitrary: oddPlace, weight: 4 },
  { arbitrary: oddService, weight: 8 },
  { arbitrary: oddSecret, weight: 4 },
  { arbitrary: oddPlayer, weight: 3 },
  fc.constantFrom('alice', 'system:masters', 'my-system:a').map((name) => ({ owners: [{ kind: 'Group', name }] })),
  fc.constantFrom('ansible', 'ansible-2').map((name) => ({ volumes: [{ name, size: '1Gi' }] })),
  fc.constantFrom('v', 'w').map((volume) => ({
    volumes: [{ name: 'v', size: '1Gi' }],
    vms: [{ ...MACHINE, name: 'a', disks: [{ name: 'data', volume }] }],
  })),
  fc.constantFrom('10.10.0.1/24', '10.10.0.2/24', '10.10.0.14/24').map((ipAddress) => ({
    networks: [LAB],
    vms: [machineAt('b', '10.10.0.1/24')],
    containerClusters: [
      { name: 'c', interfaces: [{ network: 'a', ipAddress }], containers: [{ name: 'd', image: 'e' }] },
    ],
  })),
)

/** One odd value, at its place. */
const oddField: fc.Arbitrary<Change> = fc.oneof(
  { arbitrary: at([...VM, 'interfaces', 0, 'ipAddress'], fc.oneof(address, oddAddress)), weight: 6 },
  { arbitrary: at([...CLUSTER, 'interfaces', 0, 'ipAddress'], fc.oneof(address, oddAddress)), weight: 4 },
  ...[VM, CLUSTER].flatMap((owner) => [
    at([...owner, 'interfaces', 0, 'network'], fc.oneof(fc.constantFrom(...NAMES, 'nowhere'), oddName)),
    at([...owner, 'name'], fc.oneof(fc.constantFrom('vm-0', 'vm-1', 'cluster', 'all'), oddName, slipOf(label))),
    at(
      [...owner, 'dependsOn'],
      fc.oneof(
        textAround(63).map((name) => [name]),
        many(9, (index) => `m${index}` as never),
      ),
    ),
    at(
      [...owner, 'aliases'],
      fc.oneof(
        textAround(253).map((name) => [name]),
        many(4, (index) => `m${index}` as never),
      ),
    ),
    at(
      [...owner, 'interfaces'],
      many(9, (index) => ({ network: `n${index}`, ipAddress: '10.0.0.1/24' })),
    ),
  ]),
  { arbitrary: at([...NET, 'cidr'], fc.oneof(cidr, oddAddress)), weight: 4 },
  at([...NET, 'cidrs'], fc.array(fc.oneof(cidr, oddAddress), { maxLength: 3 })),
  { arbitrary: at([...NET, 'rangeGateway'], bare), weight: 4 },
  { arbitrary: at([...NET, 'routes', 0, 'nextHopIpAddress'], bare), weight: 4 },
  { arbitrary: at([...NET, 'routes', 0, 'destinationNetworkCidr'], fc.oneof(cidr, oddAddress)), weight: 4 },
  at([...NET, 'nameservers', 'addresses', 0], bare),
  at([...NET, 'mtu'], fc.constantFrom(575, 576, 9216, 9217, -1, '1400', 1400.5, null)),
  at([...NET, 'name'], fc.oneof(fc.constantFrom(...NAMES), oddName)),
  at(
    ['networks'],
    many(65, (index) => ({ name: `n${index}`, cidr: `10.${index}.0.0/16` })),
  ),
  at([...VM, 'userData'], oddUserData),
  at([...VM, 'userDataSecretRef'], fc.record({ name: oddName, key: fc.oneof(oddName, oddText) })),
  at([...VM, 'backingVMDiskImage'], oddName),
  at([...VM, 'version'], oddLabelValue),
  at([...VM, 'resources', 'cpu'], oddCpu),
  at([...VM, 'resources', 'memory'], oddMemory),
  at([...VM, 'diskSize'], fc.oneof(oddQuantity, rawNumber)),
  at([...VM, 'overrides'], noObject),
  at([...CLUSTER, 'overrides'], noObject),
  at([...VM, 'vmDiskImageTemplate'], nearValidImageSpec),
  at(
    [...VM, 'users'],
    fc.oneof(
      many(5, (index) => ({ name: `u${index}` })),
      user.map((one) => [one, one]),
      user.map((one) => [one]),
    ),
  ),
  at(
    [...VM, 'ansible', 'roles'],
    fc.oneof(oddName, oddText, textAround(64, ['a', 'ä'])).map((name) => ({ build: [{ role: name }] })),
  ),
  at(
    [...VM, 'ansible', 'roles'],
    anyJson.map((variables) => ({ deploy: [{ role: 'a', variables }] })),
  ),
  at([...CONTAINER, 'image'], fc.oneof(oddText, textAround(512, ['a', 'ä']))),
  at([...CONTAINER, 'name'], oddName),
  at(
    [...CONTAINER, 'resources'],
    fc.oneof(oddQuantity, rawNumber).map((one) => ({ memory: one })),
  ),
  at(
    [...CONTAINER, 'capabilities'],
    fc
      .oneof(fc.constantFrom('CAP_CHOWN', 'net_admin', 'NET ADMIN', '', 'A'.repeat(33)), oddText)
      .map((one) => ({ add: [one] })),
  ),
  at(
    [...CONTAINER, 'env'],
    fc
      .tuple(fc.oneof(oddText, fc.constantFrom('1A', 'A=B', 'A')), fc.oneof(oddText, textAround(4096)))
      .map(([name, value]) => [{ name, value }]),
  ),
  at(
    [...CONTAINER, 'env'],
    fc
      .tuple(
        fc.oneof(source, fc.constantFrom({}, { fieldRef: { fieldPath: 'a' } })),
        source,
        fc.constantFrom({}, { value: '' }),
      )
      .map(([one, other, value]) => [{ name: 'A', valueFrom: { ...one, ...other }, ...value }]),
  ),
  at(
    [...CONTAINER, 'env'],
    fc
      .oneof(oddText, fc.constantFrom('a b', ''))
      .map((key) => [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key } } }]),
  ),
  at(
    [...CONTAINER, 'env'],
    fc.oneof(oddName, oddText).map((name) => [{ name: 'A', valueFrom: { configMapKeyRef: { name, key: 'k' } } }]),
  ),
  at(
    [...CONTAINER, 'env'],
    fc
      .oneof(oddText, fc.constantFrom('a b', ''))
      .map((key) => [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key } } }]),
  ),
  at(
    [...CONTAINER, 'envFrom'],
    fc
      .tuple(
        fc.oneof(oddText, fc.constantFrom('1A', 'A=', 'A')),
        fc.oneof(
          whole,
          fc.oneof(oddName, oddText).map((name) => ({ secretRef: { name } })),
          fc.constant({}),
        ),
        fc.oneof(whole, fc.constant({})),
      )
      .map(([prefix, one, other]) => [{ prefix, ...one, ...other }]),
  ),
  at(
    [...CONTAINER, 'envFrom'],
    many(9, () => ({ secretRef: { name: 's' } })),
  ),
  at(
    [...CONTAINER, 'readinessProbe'],
    fc.tuple(fc.oneof(probe, fc.constant({})), probe).map(([one, other]) => ({ ...one, ...other })),
  ),
  at(
    [...CONTAINER, 'livenessProbe'],
    fc.oneof(oddPort, rawNumber).map((one) => ({ tcpSocket: { port: one }, periodSeconds: one })),
  ),
  at(
    [...CONTAINER, 'files'],
    fc
      .tuple(
        oddPath,
        fc.oneof(oddText, fc.constantFrom('4755', '0888', '0644')),
        fc.oneof(content, fc.constant({})),
        content,
      )
      .map(([one, mode, from, other]) => [{ path: one, mode, ...from, ...other }]),
  ),
  at(
    [...CONTAINER, 'files'],
    fc.oneof(
      many(9, (index) => ({ path: `/${index}`, content: '' })),
      textAround(32_768).map((text) => [{ path: '/a', content: text }]),
    ),
  ),
  at(
    [...CONTAINER, 'command'],
    fc.oneof(oddText, textAround(32_768)).map((word) => [word]),
  ),
  at(
    [...CONTAINER, 'args'],
    many(65, () => 'a' as never),
  ),
  at([...CONTAINER, 'workingDir'], fc.oneof(oddText, textAround(256, ['a', '/a', '/ä']))),
  at([...CONTAINER, 'runAsUser'], fc.oneof(rawNumber, fc.constantFrom<unknown>(-1, 2 ** 31, '0'))),
  at(
    [...CLUSTER, 'pullSecrets'],
    fc.oneof(
      oddName.map((name) => [name]),
      many(5, (index) => `s${index}` as never),
    ),
  ),
  at([...CONTAINER, 'volumeMounts', 0, 'name'], fc.oneof(fc.constantFrom(...NAMES, 'ansible', 'nowhere'), oddName)),
  { arbitrary: at([...CONTAINER, 'volumeMounts', 0, 'containerPath'], oddPath), weight: 2 },
  at(
    [...CONTAINER, 'volumeMounts', 0, 'subPath'],
    fc.oneof(
      oddPath,
      oddPath.map((path) => path.replace(/^\//, '')),
    ),
  ),
  at([...CLUSTER, 'hostname'], oddName),
  at([...CONTAINER, 'devices'], fc.constantFrom('tun', ['tun', 'fuse'], ['tun', 'tun', 'kvm', 'kvm'], [''])),
  at(['containerClusters', 0, 'fsGroup'], fc.constantFrom(-1, 0, 1000, 2 ** 31, '0', 1.5)),
  at(
    [...CONTAINER, 'portMappings'],
    oddPort.map((hostPort) => [{ containerPort: 1, hostPort }]),
  ),
  at(
    [...CONTAINER, 'portMappings'],
    port.map((one) => [one, { ...one, containerPort: 1 }]),
  ),
  at(
    [...CLUSTER, 'initContainers'],
    many(3, (index) => ({ name: `i${index}`, image: 'b' })),
  ),
  at(
    ['containerClusters'],
    fc.integer({ min: 15, max: 18 }).chain((count) =>
      many(count, (index) => ({
        name: `c${index}`,
        containers: [
          {
            name: 'a',
            image: 'b',
            portMappings: Array.from({ length: 16 }, (_, at) => ({
              containerPort: 1,
              hostPort: 1 + 16 * index + at,
            })),
          },
        ],
      })),
    ),
  ),
  at(['volumes', 0, 'name'], fc.oneof(fc.constantFrom(...NAMES, 'ansible'), oddName)),
  at(['volumes', 0, 'size'], fc.oneof(oddQuantity, rawNumber)),
  { arbitrary: at(['volumes', 0, 'localPath'], oddPath), weight: 2 },
)

const PLACES: readonly Path[] = [
  [],
  ['vms'],
  VM,
  [...VM, 'resources'],
  [...VM, 'interfaces', 0],
  [...VM, 'disks', 0],
  ['containerClusters'],
  CLUSTER,
  CONTAINER,
  ['volumes', 0],
  ['networks'],
  NET,
  [...NET, 'routes', 0],
]

const { nearValid, noise } = changedSpecs({ right: validSpec, odd: oddField, fields: PLACES.slice(1), places: PLACES })

/** Each of them often enough that each rule refuses one alone. */
export const smallWorkspaceManifest = manifestsOf('Workspace', {
  valid: smallSpec,
  nearValid: smallSpec,
  noise: smallSpec,
})

export const workspaceManifest = manifestsOf('Workspace', {
  valid: validSpec,
  nearValid: fc.oneof({ arbitrary: nearValid, weight: 5 }, { arbitrary: smallSpec, weight: 2 }),
  noise,
})
