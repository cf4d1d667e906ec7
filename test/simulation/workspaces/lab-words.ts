import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { PASSWORD } from '../oracle/secrets.ts'

// Words of members and networks that nothing in a schedule refers to, each with what it adds to a spec.

type Spec = Required<WorkspaceSpecInput>
type Vm = Spec['vms'][number]
type Cluster = Spec['containerClusters'][number]
type Container = Cluster['containers'][number]
type InitContainer = NonNullable<Cluster['initContainers']>[number]
type Interface = NonNullable<Vm['interfaces']>[number]

export const VM_WORDS = [
  'agent',
  'agentSoon',
  'tcp',
  'cloudInit',
  'onPods',
  'dhcp',
  'noAddress',
  'several',
  'card',
  'selector',
  'type',
  'hardware',
  'windows',
  'override',
  'overrideNever',
  'userDataSecret',
  'disk',
  'imageDisk',
  'cdrom',
  'users',
  'labels',
  'variables',
  'names',
  'after',
  'diskSize',
] as const
export type VmWord = (typeof VM_WORDS)[number]

export const CLUSTER_WORDS = [
  'probes',
  'ports',
  'files',
  'init',
  'program',
  'env',
  'limits',
  'selector',
  'group',
  'pullSecrets',
  'device',
  'privileged',
  'capabilities',
  'override',
  'overrideNever',
  'several',
  'card',
  'subPath',
] as const
export type ClusterWord = (typeof CLUSTER_WORDS)[number]

export const NETWORK_WORDS = ['layer2', 'dual', 'mtu', 'gateway', 'nameservers'] as const
export type NetworkWord = (typeof NETWORK_WORDS)[number]

export const LAB_WORDS = ['owners', 'nodePort', 'login', 'internet'] as const
export type LabWord = (typeof LAB_WORDS)[number]

/** The words of a lab. Members and networks have those of their number, also when they come later. */
export interface Words {
  readonly vms: readonly (readonly VmWord[])[]
  readonly clusters: readonly (readonly ClusterWord[])[]
  readonly networks: readonly (readonly NetworkWord[])[]
  readonly lab: readonly LabWord[]
}

export const NO_WORDS: Words = { vms: [], clusters: [], networks: [], lab: [] }

/** What people create in the namespace of a lab with words: a Secret, and a ConfigMap of the same name. */
export const INIT = { name: 'init', key: 'user-data', answers: 'Autounattend.xml' } as const
export const INIT_DATA = { [INIT.key]: `#cloud-config\nruncmd: [login ${PASSWORD}]\n`, [INIT.answers]: '<unattend/>' }

/** Values of the keys of the policy that allow or refuse words. */
export const WORD_KEYS: Readonly<Record<string, readonly string[]>> = {
  allowedOverrides: [
    'vm:template.spec.domain.cpu,pod:spec.hostAliases',
    'vm:template.spec.domain.cpu.model',
    'pod:spec',
    '',
  ],
  allowedDevices: ['tun,kvm', 'kvm', ''],
  allowPrivileged: ['true', 'false'],
  allowInternetAccess: ['true', 'false'],
  allowedServiceTypes: ['ClusterIP,NodePort', 'ClusterIP'],
}

const PLACED = {
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [
    { key: 'lab', operator: 'Equal' as const, value: 'yes', effect: 'NoExecute' as const, tolerationSeconds: 60 },
  ],
}

const EXTRA_USERS: NonNullable<Vm['users']> = [
  { name: 'teacher', groups: 'adm', ssh_authorized_keys: [`ssh-ed25519 ${'A'.repeat(68)} teacher`] },
  { name: 'guest', lock_passwd: false, plain_text_passwd: PASSWORD },
]

/** Further users of a machine. Windows knows no sudo. */
function usersOf(isWindows: boolean): NonNullable<Vm['users']> {
  return isWindows ? EXTRA_USERS : EXTRA_USERS.map((one) => ({ ...one, sudo: 'ALL=(ALL) NOPASSWD:ALL' }))
}

/** What a machine is said to be besides. @param ownImage the image of its root disk */
export function vmOfWords(
  vm: Vm,
  words: readonly VmWord[],
  images: { readonly own: string; readonly other: string },
): Vm {
  const has = (word: VmWord) => words.includes(word)
  const isWindows = has('windows')
  const { resources, userData, users = [], ...rest } = vm
  // What is made for it may be longer than passwords of Windows.
  const own = users.filter(({ passwordSecretRef }) => !isWindows || passwordSecretRef === undefined)
  return {
    ...rest,
    ...(has('type')
      ? {
          instancetype: { name: 'u1.small', kind: 'VirtualMachineClusterInstancetype' as const },
          preference: { name: 'any', kind: PREFERENCE },
        }
      : { resources }),
    ...(has('userDataSecret')
      ? { userDataSecretRef: { name: INIT.name, key: INIT.key } }
      : !isWindows && userData !== undefined && { userData }),
    ...(isWindows && { os: 'windows' as const, sysprepSecretRef: { name: INIT.name } }),
    ...readinessOf(words),
    ...(has('selector') && PLACED),
    ...(has('hardware') && { firmware: 'uefi-secure' as const, tpm: true, runStrategy: 'Always' as const }),
    ...(has('override') && { overrides: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } }),
    ...(has('overrideNever') && { overrides: { template: { spec: { domain: { devices: { gpus: [] } } } } } }),
    ...disksOf(words, images),
    ...((has('users') || own.length > 0) && { users: [...own, ...(has('users') ? usersOf(isWindows) : [])] }),
    ...(has('labels') && { version: '2.10', baseVm: 'debian', baseVmVersion: '12' }),
    ...(has('names') && { aliases: [`${vm.name}.lab`] }),
    ...(has('diskSize') && { diskSize: '2Gi' }),
  }
}

const PREFERENCE = 'VirtualMachineClusterPreference' as const

/** One at most. A guest on networks is reached on the pod network only. */
function readinessOf(words: readonly VmWord[]): Pick<Vm, 'readiness'> {
  const has = (word: VmWord) => words.includes(word)
  if (has('agent')) return { readiness: { guestAgent: true } }
  if (has('agentSoon')) return { readiness: { guestAgent: true, timeoutSeconds: 60 } }
  if (has('tcp')) return { readiness: { tcpPort: 22 } }
  return has('cloudInit') && !has('windows') ? { readiness: { cloudInit: true } } : {}
}

/** Reports whether a machine with these words is on the pod network besides. */
export function isOnPods(words: readonly VmWord[]): boolean {
  return words.includes('onPods') || readinessOf(words).readiness?.tcpPort !== undefined
}

function disksOf(
  words: readonly VmWord[],
  { own, other }: { readonly own: string; readonly other: string },
): Pick<Vm, 'disks'> {
  const disks = [
    ...(words.includes('disk') ? [{ name: 'extra', size: '1Gi', bus: 'scsi' as const }] : []),
    ...(words.includes('imageDisk') ? [{ name: 'evidence', backingVMDiskImage: other }] : []),
    ...(words.includes('cdrom') ? [{ name: 'cdrom', backingVMDiskImage: own, readOnly: true }] : []),
  ]
  return disks.length === 0 ? {} : { disks }
}

/** How a member is on a network. @param host the last part of its addresses */
export function interfaceOfWords(
  network: { readonly name: string; readonly number: number; readonly words: readonly NetworkWord[] },
  host: number,
  words: readonly (VmWord | ClusterWord)[],
): Interface {
  const has = (word: VmWord | ClusterWord) => words.includes(word)
  const card = has('card') && { macAddress: `52:54:00:00:0${network.number}:${host}` }
  const { name } = network
  if (has('dhcp')) return { network: name, ...card, addressing: 'dhcp' }
  if (has('noAddress')) return { network: name, ...card, addressing: 'none' }
  if (network.words.includes('layer2')) return { network: name, ...card }
  const addresses = [
    `${addressOf(network.number, host)}/24`,
    ...(has('several') ? [`${addressOf(network.number, host + 100)}/24`] : []),
    ...(network.words.includes('dual') ? [`fd00:${network.number + 1}::${host}/64`] : []),
  ]
  const [first] = addresses
  return {
    network: name,
    ...card,
    ...(addresses.length === 1 && first !== undefined ? { ipAddress: first } : { ipAddresses: addresses }),
  }
}

export function addressOf(network: number, host: number): string {
  return `10.${network}.0.${host}`
}

/** @param routes for a network with addresses */
export function networkOfWords(
  number: number,
  words: readonly NetworkWord[],
  routes: NonNullable<Spec['networks'][number]['routes']>,
): Omit<Spec['networks'][number], 'name'> {
  const has = (word: NetworkWord) => words.includes(word)
  const cidr = `10.${number}.0.0/24`
  return {
    ...(!has('layer2') && { ...(has('dual') ? { cidrs: [cidr, `fd00:${number + 1}::/64`] } : { cidr }), routes }),
    ...(!has('layer2') && has('gateway') && { rangeGateway: addressOf(number, 1) }),
    ...(has('mtu') && { mtu: 1400 }),
    ...(has('nameservers') && { nameservers: { addresses: [addressOf(number, 53)] } }),
  }
}

const HOW_TO_PROBE = [
  { exec: { command: ['true'] } },
  { httpGet: { port: 80, path: '/ready', scheme: 'HTTP' as const } },
  { tcpSocket: { port: 80 } },
]

/** Each probe in another way. */
function probesOf(number: number): Pick<Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'> {
  const times = { initialDelaySeconds: 1, periodSeconds: 20, timeoutSeconds: 2, failureThreshold: 30 }
  const probe = (shift: number) => ({ ...HOW_TO_PROBE[(number + shift) % HOW_TO_PROBE.length], ...times })
  return { startupProbe: probe(0), readinessProbe: probe(1), livenessProbe: probe(2) }
}

const FILES: NonNullable<Container['files']> = [
  { path: '/etc/lab/motd', content: 'Welcome to the lab.\n', mode: '0644' },
  { path: '/etc/lab/login', secretKeyRef: { name: INIT.name, key: INIT.key } },
  { path: '/etc/lab/keys', secretRef: { name: INIT.name }, mode: '0440' },
  { path: '/etc/lab/answers', configMapRef: { name: INIT.name } },
]

const ENV: NonNullable<Container['env']> = [
  { name: 'LAB', value: 'yes' },
  { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  { name: 'ANSWERS', valueFrom: { configMapKeyRef: { name: INIT.name, key: INIT.answers } } },
  { name: 'DATA', valueFrom: { secretKeyRef: { name: INIT.name, key: INIT.key } } },
]

const ENV_FROM: NonNullable<Container['envFrom']> = [
  { secretRef: { name: INIT.name }, prefix: 'LAB_' },
  { configMapRef: { name: INIT.name } },
]

const PROGRAM = {
  command: ['sh', '-c'],
  args: ['exec "$0"', 'sleep'],
  workingDir: '/srv',
  runAsUser: 1000,
  runAsGroup: 1000,
}
const PORT = { containerPort: 8081, protocol: 'udp' as const }
const LIMITS = { resources: { cpu: '100m', memory: '64Mi', limits: { cpu: '1', memory: '128Mi' } } }

/** What both kinds of containers have. */
function commonOf(words: readonly ClusterWord[]) {
  const has = (word: ClusterWord) => words.includes(word)
  return {
    ...(has('files') && { files: FILES }),
    ...(has('program') && PROGRAM),
    ...(has('limits') && LIMITS),
    ...(has('privileged') && { privileged: true }),
    ...(has('capabilities') && { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
  }
}

function initOf(words: readonly ClusterWord[], mounts: Container['volumeMounts']): InitContainer {
  return {
    name: 'first',
    image: 'registry.example.com/first:1',
    ...commonOf([...words, 'files', 'program', 'limits', 'capabilities']),
    env: ENV,
    envFrom: ENV_FROM,
    volumeMounts: withSubPath(mounts),
  }
}

/** What a container cluster is said to be besides. @param number that of its name */
export function clusterOfWords(cluster: Cluster, number: number, words: readonly ClusterWord[]): Cluster {
  const has = (word: ClusterWord) => words.includes(word)
  return {
    ...cluster,
    ...(has('selector') && PLACED),
    ...(has('group') && { fsGroup: 2000 }),
    ...(has('pullSecrets') && { pullSecrets: [INIT.name] }),
    ...(has('override') && { overrides: { spec: { hostAliases: [{ ip: '192.0.2.9', hostnames: ['mirror'] }] } } }),
    ...(has('overrideNever') && { overrides: { spec: { hostNetwork: true } } }),
    ...(has('init') && { initContainers: [initOf(words, cluster.containers[0]?.volumeMounts)] }),
    containers: cluster.containers.map((one) => ({
      ...one,
      ...commonOf(words),
      // What it asks for already is what some policies refuse.
      ...(one.capabilities !== undefined && { capabilities: one.capabilities }),
      ...(has('env') && { env: [...(one.env ?? []), ...ENV], envFrom: ENV_FROM }),
      ...(has('probes') && probesOf(number)),
      ...(has('ports') && { portMappings: [...(one.portMappings ?? []), PORT] }),
      ...(has('program') && { stdin: true, tty: true }),
      ...(has('device') && { devices: ['tun' as const] }),
      ...(has('subPath') && { volumeMounts: withSubPath(one.volumeMounts) }),
    })),
  }
}

function withSubPath(mounts: Container['volumeMounts']): Container['volumeMounts'] {
  return mounts?.map((one) => ({ ...one, readOnly: true, ...(one.name !== 'ansible' && { subPath: 'lab' }) }))
}
