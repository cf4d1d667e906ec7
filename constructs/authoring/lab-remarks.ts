import { isOverlapping } from '../api/ip-address.ts'
import { POLICY_DEFAULTS } from '../api/policy.ts'
import { compareQuantities } from '../api/quantity.ts'
import type { SpecWarning } from '../api/spec-warning.ts'
import type { VirtualMachineSpec } from '../api/virtual-machine.ts'
import { warningsOf } from '../api/virtual-machine-warnings.ts'
import {
  containersOf,
  type WorkspaceContainerCluster,
  type WorkspaceNetwork,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '../api/workspace.ts'
import { cidrsOf } from '../api/workspace-cidrs.ts'
import { isGeneratedSecret } from '../api/workspace-secrets.ts'
import { generatedSecretRemarks } from '../children/generated-secret-remarks.ts'
import { membersOf, type WorkspaceMember } from '../children/member-names.ts'
import type { SpecRemarkId } from '../children/spec-remark.ts'
import { userDataWarnings } from '../children/user-data-warnings.ts'
import { unusedVolumeWarnings, wholeLabRemarks } from '../children/workspace-lab-warnings.ts'
import { renderWorkspaceMachine } from '../children/workspace-machine.ts'
import { unplayedWarnings } from '../children/workspace-plays.ts'
import {
  clusterRemarks,
  machineDiskWarnings,
  machineNetworkRemarks,
  networkRemarks,
  podOverrideWarnings,
  serviceWarnings,
} from '../children/workspace-warnings.ts'
import { unservedNetworks, unusedNetwork } from './network-use.ts'

/** What only authors are warned of: the operator does not judge who can read a password, or what a tag is worth. */
export const AUTHOR_WARNING_IDS = [
  'EndIsOver',
  'ImageElsewhere',
  'NetworkUnused',
  'NoDhcpServer',
  'NoNetwork',
  'PasswordInEnvironment',
  'PasswordInVariables',
  'PlainTextPassword',
  'SecretKeyNotMade',
  'UnknownImage',
  'UntaggedImage',
] as const
type AuthorWarningId = (typeof AUTHOR_WARNING_IDS)[number]

/** What may not work in a lab. */
export interface LabRemark {
  readonly id: SpecRemarkId | AuthorWarningId | SpecWarning['reason']
  /** Item of a list, such as spec.vms[0], or spec. */
  readonly path: string
  /** Name of the item; undefined for the whole lab. */
  readonly name?: string
  readonly message: string
}

/** What the author of a lab said beside its spec. */
export interface AuthorsWords {
  /** Whether an address that a network names is meant to be outside of the lab. @param network index of the network */
  readonly isOutside: (network: number, address: string) => boolean
  /** Whether the passwords of a machine are meant to be readable. @param vm index of the machine */
  readonly isPlainTextMeant: (vm: number) => boolean
  /** Size of an image that the same app makes, as a quantity; undefined if nobody says it. */
  readonly imageSize: (image: string) => string | undefined
}

type Told = Pick<LabRemark, 'id' | 'message'>

/** Returns what may not work in a lab, whatever the policy of its cluster says. */
export function labRemarks(spec: WorkspaceSpec, words: AuthorsWords): LabRemark[] {
  const { networks = [], vms = [], containerClusters = [], volumes = [], services = [], secrets = [] } = spec
  const located = <Item extends { readonly name: string }>(
    list: string,
    items: readonly Item[],
    told: (item: Item, at: number) => readonly Told[],
  ): LabRemark[] =>
    items.flatMap((item, at) =>
      told(item, at).map(({ id, message }) => ({ id, message, path: `spec.${list}[${at}]`, name: item.name })),
    )
  return [
    ...wholeLabRemarks(spec).map(({ id, message }) => ({ id, message, path: 'spec' })),
    ...located('vms', vms, (vm, at) =>
      machineRemarks(spec, vm, { ...words, isPlainTextMeant: words.isPlainTextMeant(at) }),
    ),
    ...located('containerClusters', containerClusters, (cluster) => podRemarks(spec, cluster)),
    ...located('volumes', volumes, (volume) => tell('VolumeUnused', unusedVolumeWarnings(spec, volume))),
    ...located('networks', networks, (network, at) => [
      ...networkRemarks({ spec, network }).filter(
        ({ address }) => address === undefined || !words.isOutside(at, address),
      ),
      ...tell('NetworkUnused', unusedNetwork(spec, network)),
      ...tell('NetworksOverlap', overlapsBefore(spec, network, networks.slice(0, at))),
    ]),
    ...located('secrets', secrets, (secret) =>
      isGeneratedSecret(secret) ? generatedSecretRemarks(spec, secret, titleOf) : [],
    ),
    ...located('services', services, (service) => tell('ServiceUnanswered', serviceWarnings(spec, service))),
  ]
}

/** A member that says nothing of interfaces is on the pod network, outside of the lab. */
function onNoNetwork({ networks = [] }: WorkspaceSpec, { interfaces = [] }: WorkspaceMember): string[] {
  if (networks.length === 0 || interfaces.length > 0) return []
  return [
    'it is on no network of the lab, and on the network of all pods: connect it, or acknowledge this if that is meant',
  ]
}

/** The clock of who renders is not that of the cluster, so it warns alone. */
export function endRemarks({ expiresAt, onExpiry }: WorkspaceSpec, now: Date): LabRemark[] {
  if (expiresAt === undefined || Date.parse(expiresAt) > now.getTime()) return []
  const loss = onExpiry === 'Delete' ? 'deleted with its disks and volumes' : 'switched off'
  const message = `expiresAt ${expiresAt} is over, so the lab is ${loss} as soon as it is applied: set a later time, or remove it`
  return [{ id: 'EndIsOver', path: 'spec', message }]
}

function tell(id: Told['id'], messages: readonly string[]): Told[] {
  return messages.map((message) => ({ id, message }))
}

function titleOf(member: WorkspaceMember | 'player'): string {
  return member === 'player' ? 'spec.ansible' : member.name
}

interface MachineWords extends Pick<AuthorsWords, 'imageSize'> {
  readonly isPlainTextMeant: boolean
}

function machineRemarks(spec: WorkspaceSpec, vm: WorkspaceVm, { isPlainTextMeant, imageSize }: MachineWords): Told[] {
  const { networkDriver: driver, imageNamespace } = POLICY_DEFAULTS
  const workspace = { name: 'lab', uid: '' }
  const machine = renderWorkspaceMachine({ workspace, spec, vm, imageNamespace, driver })
  return [
    ...guestRemarks(machine.spec, imageSize(vm.backingVMDiskImage) ?? vm.vmDiskImageTemplate?.diskSize),
    ...tell('DiskSmallerThanImage', smallDisks(vm, imageSize)),
    // Without an image, the policy says whether anything plays them.
    ...tell('RolesNotPlayed', spec.ansible?.image === undefined ? [] : unplayedWarnings(spec, vm)),
    ...machineNetworkRemarks(spec, vm),
    ...tell('NoDhcpServer', unservedNetworks(spec, vm)),
    ...tell('VolumeShared', machineDiskWarnings(spec, vm)),
    ...commonRemarks(spec, vm),
    ...(isPlainTextMeant ? [] : plainPasswords(vm)),
    ...tell('PasswordInVariables', passwordVariables(vm)),
  ]
}

/** The same of the disks beside the root disk as of the root disk itself. */
export function smallDisks(
  { disks = [] }: Pick<WorkspaceVm, 'disks'>,
  imageSize: (image: string) => string | undefined,
): string[] {
  return disks.flatMap(({ name, size, backingVMDiskImage: image }) => {
    const least = image === undefined ? undefined : imageSize(image)
    if (size === undefined || least === undefined || (compareQuantities(size, least) ?? 0) >= 0) return []
    return [`disk ${name} gets ${least}, the size of its image: its size asks for less (${size})`]
  })
}

/** Returns what may not work in the guest of a machine. */
export function guestRemarks(spec: VirtualMachineSpec, imageSize = spec.vmDiskImageTemplate?.diskSize): Told[] {
  const { os, users = [], userData } = spec
  const told = [
    ...warningsOf(spec, imageSize),
    ...userDataWarnings({ os, hostname: spec.name ?? 'guest', users, userData }),
  ]
  return told.map(({ reason: id, message }) => ({ id, message }))
}

/** Returns the users whose passwords can be read by everybody who can read the object. */
export function plainPasswords({ users = [] }: Pick<WorkspaceVm, 'users'>): Told[] {
  const names = users.flatMap(({ name, plain_text_passwd: text }) => (text === undefined ? [] : [JSON.stringify(name)]))
  if (names.length === 0) return []
  const message = `everybody who may read the object can read the password of ${names.join(', ')}: take it from a Secret with passwordSecretRef`
  return [{ id: 'PlainTextPassword', message }]
}

function podRemarks(spec: WorkspaceSpec, cluster: WorkspaceContainerCluster): Told[] {
  const { networkDriver: driver } = POLICY_DEFAULTS
  const props = { workspace: { name: 'lab', uid: '' }, spec, cluster, driver }
  const remarks = clusterRemarks(props)
  return [
    ...remarks.filter(({ id }) => id !== 'NodeSelectorsDiffer'),
    ...tell('OverridesReplace', podOverrideWarnings(props)),
    ...commonRemarks(spec, cluster),
    ...tell('UntaggedImage', untaggedImages(cluster)),
    ...tell('PasswordInEnvironment', passwordsInEnvironment(cluster)),
  ]
}

function commonRemarks(spec: WorkspaceSpec, member: WorkspaceMember): Told[] {
  const ignored = membersOf(spec).filter(({ ignoreOnDeploy }) => ignoreOnDeploy === true)
  const unawaited = (member.dependsOn ?? []).filter((one) => ignored.some(({ name }) => name === one))
  return [
    ...tell(
      'NotWaitedFor',
      unawaited.map((one) => `it does not wait for ${one}, which is not deployed because of its ignoreOnDeploy`),
    ),
    ...tell('NoNetwork', onNoNetwork(spec, member)),
    ...tell('SecretKeyNotMade', keysNotMade(spec, member)),
  ]
}

/** A member that is on both is warned of them itself. Others may be two sites of a lab. */
function overlapsBefore(spec: WorkspaceSpec, network: WorkspaceNetwork, before: readonly WorkspaceNetwork[]): string[] {
  const isOn = ({ interfaces = [] }: WorkspaceMember, { name }: WorkspaceNetwork) =>
    interfaces.some((nic) => nic.network === name)
  return before.flatMap((other) => {
    const isShared = membersOf(spec).some((member) => isOn(member, network) && isOn(member, other))
    const common = cidrsOf(network).filter((one) => cidrsOf(other).some((cidr) => isOverlapping(one, cidr)))
    if (isShared || common.length === 0) return []
    return [
      `its addresses ${common.join(', ')} are also in network ${other.name} (${cidrsOf(other).join(', ')}): give one of them another cidr, unless they are sites that do not know each other`,
    ]
  })
}

/** A tag may be moved, but says what was meant. What runs without one changes with each pull. */
function untaggedImages(cluster: WorkspaceContainerCluster): string[] {
  return containersOf(cluster).flatMap(({ name, image }) => {
    const last = image.split('/').at(-1) ?? ''
    if (last.includes('@') || (last.includes(':') && !last.endsWith(':latest'))) return []
    return [
      `container ${name} runs whatever ${image} is that day: add a tag, such as ${image.replace(/:latest$/, '')}:1.0`,
    ]
  })
}

/** Words that a name of a password has, whichever way it is written. */
const PASSWORD_WORDS = /(^|[^a-z])(pass|passwd|password|passphrase|secret|token|api_?key|private_?key)($|[^a-z])/

function isPasswordName(name: string): boolean {
  return PASSWORD_WORDS.test(name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase())
}

/** What begins so is looked up by Ansible when the role is played. */
function isLiteral(value: unknown): boolean {
  return (typeof value === 'string' && value !== '' && !value.includes('{{')) || typeof value === 'number'
}

function passwordVariables({ ansible }: WorkspaceVm): string[] {
  const { build = [], deploy = [] } = ansible?.roles ?? {}
  return [...build, ...deploy].flatMap(({ role, variables = {} }) =>
    passwordFields(variables, '').map(
      (field) =>
        `everybody who may read the lab can read the variable ${field} of role ${role}: let the role read it from a Secret that is mounted where it is played`,
    ),
  )
}

function passwordFields(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const field = path === '' ? name : `${path}.${name}`
    return isPasswordName(name) && isLiteral(child) ? [field] : passwordFields(child, field)
  })
}

function passwordsInEnvironment(cluster: WorkspaceContainerCluster): string[] {
  return containersOf(cluster).flatMap(({ name: container, env = [] }) =>
    env
      .filter(({ name, value }) => isPasswordName(name) && isLiteral(value))
      .map(
        ({ name }) =>
          `everybody who may read the lab can read the variable ${name} of container ${container}: take it from a key of a Secret`,
      ),
  )
}

interface KeyRef {
  readonly name: string
  readonly key: string
}

/** People may put further keys into a Secret whose other keys the operator makes. */
function keysNotMade({ secrets = [] }: WorkspaceSpec, member: WorkspaceMember): string[] {
  const made = new Map(
    secrets.filter(isGeneratedSecret).map(({ name, generate }) => [name, generate.map(({ key }) => key)]),
  )
  return keysOf(member).flatMap(({ name, key }) => {
    const keys = made.get(name)
    if (keys === undefined || keys.includes(key)) return []
    return [`it needs key ${key} of Secret ${name}, which is not made: add it to generate, beside ${keys.join(', ')}`]
  })
}

function keysOf(member: WorkspaceMember): KeyRef[] {
  const refs =
    'containers' in member
      ? containersOf(member).flatMap(({ env = [], files = [] }) => [
          ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef),
          ...files.map(({ secretKeyRef }) => secretKeyRef),
        ])
      : [...(member.users ?? []).map(({ passwordSecretRef }) => passwordSecretRef), member.userDataSecretRef]
  return refs.filter((ref): ref is KeyRef => ref !== undefined)
}
