import { isOnPodNetwork, POD_NETWORK_NAME, staticAddresses } from '../api/interface-words.ts'
import { type IpAddress, isInNetwork, isOverlapping, parseCidr, parseIp, plainAddress } from '../api/ip-address.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { compareQuantities } from '../api/quantity.ts'
import type {
  WorkspaceContainerCluster,
  WorkspaceNetwork,
  WorkspaceSpec,
  WorkspaceVm,
  WorkspaceVolume,
} from '../api/workspace.ts'
import { cidrsOf } from '../api/workspace-cidrs.ts'
import { asksForInternet } from '../api/workspace-internet-access.ts'
import { memoized } from '../schema/memoized.ts'
import { membersOf, type WorkspaceMember } from './member-names.ts'
import { messagesOf, remarks, type SpecRemark } from './spec-remark.ts'
import { routesOf } from './workspace-network.ts'
import { ANSIBLE_VOLUME, mountedVolumes } from './workspace-node-group.ts'
import { hasPlays } from './workspace-plays.ts'

/** Returns what an author should know about the words that concern the whole workspace. Each text is a sentence without its end. */
export function wholeLabWarnings(spec: WorkspaceSpec): string[] {
  return messagesOf(wholeLabRemarks(spec))
}

export function wholeLabRemarks(spec: WorkspaceSpec): SpecRemark[] {
  return [
    ...remarks('NamesUnused', namesOfNobody(spec)),
    ...remarks('AnsibleUnused', ansibleOfNobody(spec)),
    ...remarks('InternetUnused', internetOfNobody(spec)),
  ]
}

function isDeployed({ ignoreOnDeploy }: WorkspaceMember): boolean {
  return ignoreOnDeploy !== true
}

/** Returns the interfaces of a member on a network. */
function interfacesOn(
  network: string,
  { interfaces = [] }: WorkspaceMember,
): NonNullable<WorkspaceMember['interfaces']> {
  return interfaces.filter((nic) => nic.network === network)
}

/** Without a network of its own, a member has no name that others could find. */
function namesOfNobody(spec: WorkspaceSpec): string[] {
  const isNamed = membersOf(spec).some(({ interfaces = [] }) =>
    interfaces.some((nic) => staticAddresses(nic).length > 0),
  )
  return spec.names === 'hosts' && !isNamed
    ? [
        'names: hosts has no effect, since no member has a static address on a network of the workspace: give members an ipAddress, or remove it',
      ]
    : []
}

function ansibleOfNobody({ ansible, vms = [] }: WorkspaceSpec): string[] {
  const fields = Object.entries(ansible ?? {}).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  if (fields.length === 0 || hasPlays({ vms })) return []
  return [
    `ansible (${fields.join(', ')}) has no effect, since no machine has roles: give one ansible.roles, or remove it`,
  ]
}

/** Pods of containers are always on the pod network, and machines unless all their interfaces are on other networks. */
function internetOfNobody(spec: WorkspaceSpec): string[] {
  const { vms = [], containerClusters = [] } = spec
  const isOnPods = vms.some(({ interfaces = [] }) => interfaces.length === 0 || interfaces.some(isOnPodNetwork))
  return !asksForInternet(spec) || isOnPods || containerClusters.length > 0
    ? []
    : [
        'internetAccess has no effect, since no member is on the pod network: give one an interface with network: pod, such as a router for the others, or remove it',
      ]
}

/** Returns what an author should know about an unusual name of a network. */
export function podNameWarnings({ name }: WorkspaceNetwork): string[] {
  return name === POD_NETWORK_NAME
    ? [
        `a machine's interface on ${POD_NETWORK_NAME} without an address is on the pod network of Kubernetes, not on this one: give the network another name`,
      ]
    : []
}

/** An address at which packets are wanted, and the words for what becomes of them. */
interface Asked {
  readonly address: string
  /** As in "so ... leads nowhere". */
  readonly so: string
}

/** Returns which next hops and name servers of a network nobody has. Nobody outside of a workspace is on its networks. */
export function deadAddressRemarks(spec: WorkspaceSpec, network: WorkspaceNetwork): SpecRemark[] {
  const isAsked = membersOf(spec).some((one) => isDeployed(one) && interfacesOn(network.name, one).length > 0)
  return isAsked ? [...deadHops(spec, network), ...deadNameservers(spec, network)] : []
}

function deadHops(spec: WorkspaceSpec, network: WorkspaceNetwork): SpecRemark[] {
  const routes = routesOf(network)
  return [...new Set(routes.map(({ via }) => via))].flatMap((address) => {
    const to = [...new Set(routes.filter(({ via }) => via === address).map((route) => route.to))].join(', ')
    return whyNobody(spec, network, { address, so: `the route to ${to} leads nowhere` }) ?? []
  })
}

/** Of an address outside of all networks of the workspace, nothing is known. */
function deadNameservers(spec: WorkspaceSpec, { nameservers }: WorkspaceNetwork): SpecRemark[] {
  return [...new Set(nameservers?.addresses ?? [])].flatMap((address) => {
    const place = (spec.networks ?? []).find((one) => one.attach === undefined && isIn(one, address))
    return (place && whyNobody(spec, place, { address, so: 'nobody answers as its name server' })) ?? []
  })
}

function isIn(network: WorkspaceNetwork, address: string): boolean {
  const ip = parseIp(address)
  return ip !== undefined && cidrsOf(network).some((text) => isInCidr(ip, text))
}

function isInCidr(ip: IpAddress, text: string): boolean {
  const cidr = parseCidr(text)
  return cidr !== undefined && isInNetwork(ip, cidr)
}

/** Returns why no member on a network answers at an address; undefined if one does or may. */
function whyNobody(spec: WorkspaceSpec, { name }: WorkspaceNetwork, { address, so }: Asked): SpecRemark | undefined {
  const { owners, isOpen } = onNetworks(spec).get(name) ?? NOBODY
  const own = owners.get(plainAddress(address)) ?? []
  if (isOpen || own.some(isDeployed)) return undefined
  const [owner] = own
  const message =
    owner === undefined
      ? `no member has the address ${address}, so ${so}: give it to a machine or a container cluster`
      : `${address} is an address of ${owner.name}, which is not deployed because of its ignoreOnDeploy, so ${so}: give it to a member that is deployed`
  return { id: 'DeadAddress', message, address }
}

/** Who is on a network. */
interface OnNetwork {
  /** By {@link plainAddress} of their addresses. */
  readonly owners: Map<string, WorkspaceMember[]>
  /** Whether the guest, or a DHCP server of the lab, may choose the address of a member that has none here. */
  isOpen: boolean
}

const NOBODY: OnNetwork = { owners: new Map(), isOpen: false }
/** Each network asks for it, for each address. */
const onNetworks = memoized((spec: WorkspaceSpec): ReadonlyMap<string, OnNetwork> => {
  const found = new Map<string, OnNetwork>()
  for (const member of membersOf(spec))
    for (const nic of member.interfaces ?? []) {
      const on = found.get(nic.network) ?? { owners: new Map<string, WorkspaceMember[]>(), isOpen: false }
      found.set(nic.network, on)
      const addresses = staticAddresses(nic)
      if (addresses.length === 0 && isDeployed(member)) on.isOpen = true
      for (const address of addresses) {
        const text = plainAddress(address)
        on.owners.set(text, [...(on.owners.get(text) ?? []), member])
      }
    }
  return found
})

/**
 * Returns which networks of a member have addresses in common. Networks that no member is on together may have them: a lab may have two sites with
 * the same range.
 */
export function overlapWarnings({ networks = [] }: WorkspaceSpec, { interfaces = [] }: WorkspaceMember): string[] {
  const own = interfaces.flatMap((nic) => {
    const network = networks.find(({ name }) => name === nic.network)
    return network === undefined || staticAddresses(nic).length === 0 ? [] : [network]
  })
  return own.flatMap((one, at) =>
    own.slice(at + 1).flatMap((other) => {
      const ranges = cidrsOf(one).flatMap((cidr) =>
        cidrsOf(other)
          .filter((each) => isOverlapping(cidr, each))
          .map((each) => `${cidr} and ${each}`),
      )
      return ranges.length === 0
        ? []
        : [
            `its networks ${one.name} and ${other.name} overlap (${ranges.join(', ')}), so what it sends to one may leave on the other: give one of them another cidr`,
          ]
    }),
  )
}

/** Returns whether the template of a machine is used. The first one for an image wins. */
export function templateWarnings({ vms = [] }: WorkspaceSpec, vm: WorkspaceVm): string[] {
  const { backingVMDiskImage: image, vmDiskImageTemplate: template } = vm
  const first = vms.find((one) => one.backingVMDiskImage === image && one.vmDiskImageTemplate !== undefined)
  if (template === undefined || first?.vmDiskImageTemplate === undefined || first.name === vm.name) return []
  const differing = differingSettings(first.vmDiskImageTemplate, template)
  return differing.length === 0
    ? []
    : [
        `its vmDiskImageTemplate is not used, since that of ${first.name} comes first for image ${image}, and differs in ${differing.join(', ')}: make them the same, or name another image`,
      ]
}

/** Returns the fields in which two specs of an image differ. */
export function differingSettings(one: object, other: object): string[] {
  const [used, own] = [one, other] as readonly Readonly<Record<string, unknown>>[]
  const fields = new Set([...Object.keys(one), ...Object.keys(other)])
  // The display name decides nothing.
  return [...fields].filter((field) => field !== 'name' && !isSameSetting(used?.[field], own?.[field]))
}

/** One size can be written in many ways. */
function isSameSetting(one: unknown, other: unknown): boolean {
  if (JSON.stringify(one) === JSON.stringify(other)) return true
  return typeof one === 'string' && typeof other === 'string' && compareQuantities(one, other) === 0
}

/** Returns whether anybody uses a volume. What overrides mount is looked for by its name alone. */
export function unusedVolumeWarnings(spec: WorkspaceSpec, { name }: Pick<WorkspaceVolume, 'name'>): string[] {
  const { vms = [], containerClusters = [] } = spec
  const isUsed =
    name === ANSIBLE_VOLUME ||
    vms.some(({ disks = [] }) => disks.some(({ volume }) => volume === name)) ||
    containerClusters.some((cluster) => mountedVolumes(cluster).has(name)) ||
    overridesText(spec).includes(name)
  return isUsed
    ? []
    : ['nobody uses it: mount it in a container (volumeMounts), make it a disk of a machine, or remove it']
}

/** Each volume that nobody mounts asks for it. */
const overridesText = memoized((spec: WorkspaceSpec) =>
  JSON.stringify(membersOf(spec).map(({ overrides }) => overrides)),
)

/**
 * Returns which other container cluster must be on the same node, and says another one. On Linux bridges of a node, all pods of a workspace are on one.
 */
export function nodeSelectorWarnings(
  { containerClusters = [] }: WorkspaceSpec,
  cluster: WorkspaceContainerCluster,
  driver: NetworkDriver,
): string[] {
  if (driver !== 'bridge' || !isDeployed(cluster)) return []
  const before = containerClusters.slice(
    0,
    containerClusters.findIndex(({ name }) => name === cluster.name),
  )
  for (const other of before.filter(isDeployed)) {
    const label = Object.entries(cluster.nodeSelector ?? {}).find(([key, value]) => {
      const wanted = other.nodeSelector?.[key]
      return wanted !== undefined && wanted !== value
    })
    if (label === undefined) continue
    const [key, value] = label
    return [
      `its nodeSelector wants ${key}: ${value}, and that of ${other.name} ${other.nodeSelector?.[key]}, but with the network driver bridge both run on one node, so one of them does not start: make them the same`,
    ]
  }
  return []
}
