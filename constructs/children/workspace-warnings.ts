import { IPV6_MTU, staticAddresses } from '../api/interface-words.ts'
import { isWindows } from '../api/machine-os.ts'
import {
  containersOf,
  type WorkspaceContainerCluster,
  type WorkspaceNetwork,
  type WorkspaceService,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '../api/workspace.ts'
import { cidrsOf } from '../api/workspace-cidrs.ts'
import { usableRoutes } from './cloud-init-network-data.ts'
import { memberNamesIn } from './member-names.ts'
import { podOverrides } from './pod-overrides.ts'
import { messagesOf, remarks, type SpecRemark } from './spec-remark.ts'
import { replacedBy } from './with-overrides.ts'
import { type ContainerClusterProps, deploymentWithout } from './workspace-containers.ts'
import { isFolder } from './workspace-files.ts'
import {
  HOSTS_PATH,
  hasOwnHosts,
  hostAliasesOf,
  hostAliasWarnings,
  hostNameOf,
  hostsVolume,
} from './workspace-hosts.ts'
import { deadAddressRemarks, nodeSelectorWarnings, overlapWarnings, podNameWarnings } from './workspace-lab-warnings.ts'
import { isDefaultRoute, type NetworkDefinitionsProps, routesOf } from './workspace-network.ts'
import { mountedVolumes } from './workspace-node-group.ts'
import {
  allNameservers,
  attachmentsOf,
  hasGateway,
  hasHostPort,
  isDefaultRouteLeftOut,
  NAMESERVERS_MAX,
  type PodNetworkProps,
} from './workspace-pod-network.ts'
import type { VolumeStorageProps } from './workspace-volume.ts'

/** What is said where the networks of a pod have a default route, and a port of its node leads to it. */
export const DEFAULT_ROUTE_LEFT_OUT =
  'because of its hostPort its networks give it routes to each other, but no default route'

/** Returns what an author should know about a volume. Each text is a sentence without its end. */
export function volumeWarnings({
  volume: { localPath },
  localVolumeRoot,
}: Pick<VolumeStorageProps, 'volume' | 'localVolumeRoot'>): string[] {
  if (localPath === undefined || localVolumeRoot !== undefined) return []
  return [
    `localPath ${localPath} has no effect, since the policy key localVolumeRoot is not set: the volume comes from the default StorageClass`,
  ]
}

/** Returns what an author should know about a network that has members. */
export function networkWarnings(props: Pick<NetworkDefinitionsProps, 'spec' | 'network'>): string[] {
  return messagesOf(networkRemarks(props))
}

export function networkRemarks(props: Pick<NetworkDefinitionsProps, 'spec' | 'network'>): SpecRemark[] {
  const { spec, network } = props
  return [
    ...remarks('PodNetworkName', podNameWarnings(network)),
    ...(network.attach === undefined
      ? [...deadAddressRemarks(spec, network), ...remarks('TooSmallForIpv6', tooSmallForIpv6(props))]
      : remarks('NetworkAttached', settingsOfOthers(spec, network, network.attach))),
  ]
}

/** A pod has what the definition says; a guest has what its cloud-init data say. */
function settingsOfOthers(
  { containerClusters = [] }: WorkspaceSpec,
  network: WorkspaceNetwork,
  attach: string,
): string[] {
  const packets =
    network.mtu === undefined
      ? []
      : [`mtu has no effect, since NetworkAttachmentDefinition ${attach} says how large its packets are`]
  const pods = containerClusters.filter(({ interfaces = [] }) => interfaces.some((one) => one.network === network.name))
  if (pods.length === 0 || routesOf(network).length === 0) return packets
  const names = pods.map(({ name }) => name).join(', ')
  return [
    ...packets,
    `${names} gets no routes of it, since NetworkAttachmentDefinition ${attach} says which routes its pods get`,
  ]
}

/** The kernel takes IPv6 off such an interface. */
function tooSmallForIpv6({ spec, network }: Pick<NetworkDefinitionsProps, 'spec' | 'network'>): string[] {
  const { name, mtu } = network
  if (mtu === undefined || mtu >= IPV6_MTU) return []
  const own = [...(spec.vms ?? []), ...(spec.containerClusters ?? [])].flatMap(({ interfaces = [] }) =>
    interfaces.filter((nic) => nic.network === name).flatMap(staticAddresses),
  )
  if (![...cidrsOf(network), ...own].some((address) => address.includes(':'))) return []
  return [`with mtu ${mtu} there is no IPv6 on it: take at least ${IPV6_MTU}, or addresses of IPv4 alone`]
}

/** Returns what an author should know about a container cluster. */
export function clusterWarnings(props: PodNetworkProps): string[] {
  return messagesOf(clusterRemarks(props))
}

export function clusterRemarks(props: PodNetworkProps): SpecRemark[] {
  const { spec, cluster } = props
  const attached = attachmentsOf(props)
  const servers = allNameservers(spec, cluster)
  const used = servers.slice(0, NAMESERVERS_MAX)
  const leftOut =
    used.length < servers.length
      ? [`of its ${servers.length} name servers the first ${NAMESERVERS_MAX} are used: ${used.join(', ')}`]
      : []
  return [
    ...remarks('DefaultRouteLeftOut', isDefaultRouteLeftOut(props) ? [DEFAULT_ROUTE_LEFT_OUT] : []),
    ...remarks('NodeSelectorsDiffer', nodeSelectorWarnings(spec, cluster, props.driver)),
    ...remarks('NetworksOverlap', overlapWarnings(spec, cluster)),
    ...remarks('RouteUnused', unusedRoutes(spec, cluster)),
    ...remarks('NameserversLeftOut', leftOut),
    ...remarks('RouteUnused', routesOfOverlays(props)),
    ...remarks('RepliesLost', lostReplies(cluster, attached.find(hasGateway)?.network)),
    ...remarks('NamesUnused', [...withoutNames(spec, cluster), ...hostAliasWarnings(spec, cluster)]),
    ...remarks('AliasUnused', aliasWarnings(spec, cluster)),
    ...remarks('HostnameTaken', hostNameOfOthers(spec, cluster)),
    ...remarks('TunnelUnusable', uselessTunnels(cluster)),
    ...remarks('FileUnreadable', unreadableFiles(cluster)),
    ...remarks('PathInFolder', pathsInFolders(cluster)),
  ]
}

/** Returns what an author should know about the overrides of a container cluster. */
export function podOverrideWarnings(props: ContainerClusterProps): string[] {
  const { spec, cluster } = props
  const values = podOverrides(cluster)
  if (values.length === 0) return []
  const paths = replacedBy(deploymentWithout(props).spec.template, values)
  const hasAliases = values.some(({ steps }) => steps[1] === 'hostAliases')
  return [
    ...(paths.length === 0
      ? []
      : [`overrides replaces what the rest of the container cluster says: ${paths.join(', ')}`]),
    ...(hasAliases && hostsVolume(spec, cluster) !== undefined
      ? [
          'hostAliases in overrides has no effect with names: hosts, which gives the containers a file /etc/hosts of its own',
        ]
      : []),
  ]
}

/** Returns what an author should know about the networks of a machine. */
export function machineNetworkWarnings(spec: WorkspaceSpec, vm: WorkspaceVm): string[] {
  return messagesOf(machineNetworkRemarks(spec, vm))
}

export function machineNetworkRemarks(spec: WorkspaceSpec, vm: WorkspaceVm): SpecRemark[] {
  return [
    ...remarks('NetworksOverlap', overlapWarnings(spec, vm)),
    ...remarks('RouteUnused', unusedRoutes(spec, vm)),
    ...remarks('NamesUnused', unnamedGuest(spec, vm)),
    ...remarks('AliasUnused', aliasWarnings(spec, vm)),
  ]
}

function unnamedGuest(spec: WorkspaceSpec, vm: WorkspaceVm): string[] {
  if (!isWindows(vm)) return hostAliasWarnings(spec, vm)
  return spec.names === 'hosts' && hostAliasesOf(spec, vm).length > 0
    ? [
        'names: hosts does not reach Windows, so its guest does not get the names of the members: write them by userData',
      ]
    : []
}

/** Returns what an author should know about the disks of a machine that are volumes. Who is not deployed uses none. */
export function machineDiskWarnings({ vms = [], containerClusters = [] }: WorkspaceSpec, vm: WorkspaceVm): string[] {
  const machines = vms.filter(({ name, ignoreOnDeploy }) => name !== vm.name && ignoreOnDeploy !== true)
  const clusters = containerClusters.filter(({ ignoreOnDeploy }) => ignoreOnDeploy !== true)
  return (vm.disks ?? []).flatMap(({ name: disk, volume }) => {
    if (volume === undefined) return []
    const others = [
      ...machines
        .filter(({ disks = [] }) => disks.some((one) => one.volume === volume))
        .map(({ name }) => `machine ${name}`),
      ...clusters
        .filter((cluster) => mountedVolumes(cluster).has(volume))
        .map(({ name }) => `container cluster ${name}`),
    ]
    if (others.length === 0) return []
    return [
      `disk ${disk} is volume ${volume}, which ${others.join(', ')} uses too: what one writes can destroy what another has there, so let only one of them run at a time, or give each a volume`,
    ]
  })
}

/** Returns what an author should know about a service. */
export function serviceWarnings(
  { vms = [], containerClusters = [] }: WorkspaceSpec,
  { member }: WorkspaceService,
): string[] {
  const found = [...vms, ...containerClusters].find(({ name }) => name === member)
  return found?.ignoreOnDeploy === true
    ? [`nobody answers: ${member} is not deployed, because of its ignoreOnDeploy`]
    : []
}

/** Of several routes to the same destination the first one wins: in a pod, and by its metric in a guest. */
function unusedRoutes(
  { networks = [] }: WorkspaceSpec,
  { interfaces = [] }: Pick<WorkspaceVm | WorkspaceContainerCluster, 'interfaces'>,
): string[] {
  const first = new Map<string, string>()
  return interfaces.flatMap((nic) => {
    const { network } = nic
    const settings = networks.find(({ name }) => name === network)
    const routes = settings === undefined ? [] : routesOf(settings)
    return usableRoutes({ ipAddresses: staticAddresses(nic), routes }).flatMap(({ to, via }) => {
      const winner = first.get(to)
      if (winner === undefined) first.set(to, network)
      const title = isDefaultRoute({ to, via }) ? 'default route' : `route to ${to}`
      return winner === undefined
        ? []
        : [`the ${title} of network ${network} (${via}) is not used, since that of network ${winner} comes first`]
    })
  })
}

/** What a container has at a path of its own stays there. */
function withoutNames({ names }: WorkspaceSpec, cluster: WorkspaceContainerCluster): string[] {
  if (names !== 'hosts' || (cluster.interfaces ?? []).length === 0) return []
  return containersOf(cluster)
    .filter(hasOwnHosts)
    .map(({ name }) => `container ${name} has a ${HOSTS_PATH} of its own, so it does not get the names of the members`)
}

/** Returns what an author should know about the aliases of a member. */
function aliasWarnings(spec: WorkspaceSpec, member: WorkspaceVm | WorkspaceContainerCluster): string[] {
  const { aliases = [], interfaces = [] } = member
  if (aliases.length === 0) return []
  const wrong = memberNamesIn(spec).wrongIn(member)
  if (wrong !== undefined) return [wrong]
  if (spec.names !== 'hosts') return ['aliases has no effect without names: hosts of the workspace']
  return interfaces.some((nic) => staticAddresses(nic).length > 0)
    ? []
    : ['aliases has no effect, since it has no ipAddress on a network of the workspace']
}

/** In Docker, a host name is known to its own container alone, too. */
function hostNameOfOthers(spec: WorkspaceSpec, cluster: WorkspaceContainerCluster): string[] {
  const host = hostNameOf(cluster)
  const other = memberNamesIn(spec).otherThan(cluster.name, host)
  return spec.names === 'hosts' && other !== undefined
    ? [`its hostname ${host} is a name of ${other}, too, so in its containers it may lead there: take another one`]
    : []
}

/** The kernel makes no interface for a program without that capability. */
function uselessTunnels({ containers }: WorkspaceContainerCluster): string[] {
  return containers
    .filter(({ devices = [], privileged, capabilities }) => {
      const added = capabilities?.add ?? []
      return devices.includes('tun') && !privileged && !added.includes('NET_ADMIN') && !added.includes('ALL')
    })
    .map(({ name }) => `container ${name} can make no interface by its device tun without the capability NET_ADMIN`)
}

/** They belong to root, and with `fsGroup` to that group too, which may read them whatever their mode says. */
function unreadableFiles(cluster: WorkspaceContainerCluster): string[] {
  if (cluster.fsGroup !== undefined) return []
  return containersOf(cluster).flatMap(({ name, runAsUser = 0, runAsGroup = 0, files = [] }) => {
    const closed = files.filter(({ mode }) => mode !== undefined && !isReadable(Number.parseInt(mode, 8), runAsGroup))
    if (runAsUser === 0 || closed.length === 0) return []
    const told = closed.map(({ path, mode }) => `${path} (mode ${mode})`).join(', ')
    return [
      `container ${name} runs as user ${runAsUser} and cannot read ${told}, which root owns: set fsGroup, or another mode`,
    ]
  })
}

/** A folder with all keys of an object is read-only, so nothing can be mounted into it, and the container does not start. */
function pathsInFolders(cluster: WorkspaceContainerCluster): string[] {
  return containersOf(cluster).flatMap(({ name, files = [], volumeMounts = [] }) => {
    const folders = files.filter(isFolder).map(({ path }) => folderPath(path))
    const paths = [...files.map(({ path }) => path), ...volumeMounts.map(({ containerPath }) => containerPath)]
    return folders.flatMap((folder) =>
      paths
        .filter((path) => folderPath(path).startsWith(`${folder}/`))
        .map(
          (path) =>
            `container ${name} cannot start, since ${path} is in the read-only folder ${folder} of files: take another path`,
        ),
    )
  })
}

function folderPath(path: string): string {
  return path.replace(/\/$/, '')
}

/** For somebody who is not root. Who has no group of their own is in that of root. */
function isReadable(mode: number, group: number): boolean {
  return (mode & 0o004) !== 0 || (group === 0 && (mode & 0o040) !== 0)
}

/** The plug-in has no place for them. */
function routesOfOverlays({ spec: { networks = [] }, cluster, driver }: PodNetworkProps): string[] {
  if (driver !== 'ovn-layer2') return []
  return (cluster.interfaces ?? []).flatMap((nic) => {
    const { network } = nic
    const settings = networks.find(({ name }) => name === network)
    const isOurs = settings !== undefined && settings.attach === undefined
    const routes = isOurs ? routesOf(settings).filter((route) => !isDefaultRoute(route)) : []
    const lost = usableRoutes({ ipAddresses: staticAddresses(nic), routes }).map(({ to }) => to)
    if (lost.length === 0) return []
    return [
      `it does not get the route to ${lost.join(', ')} of network ${network}, since pods on networks of ovn-layer2 get only a default route`,
    ]
  })
}

/** @param network that the pod has its default route of */
function lostReplies(cluster: WorkspaceContainerCluster, network: string | undefined): string[] {
  if (network === undefined || hasHostPort(cluster)) return []
  const { containers } = cluster
  const probes = containers.flatMap((one) => [one.startupProbe, one.readinessProbe, one.livenessProbe])
  const asked = [
    ...(containers.some(({ portMappings = [] }) => portMappings.length > 0) ? ['clients of its portMappings'] : []),
    ...(probes.some((probe) => probe?.httpGet !== undefined || probe?.tcpSocket !== undefined)
      ? ['its probes with httpGet or tcpSocket']
      : []),
  ]
  if (asked.length === 0) return []
  return [
    `${asked.join(' and ')} may get no reply, since it leaves by the default route of network ${network}: reach it over its networks, or take the default route from that network`,
  ]
}
