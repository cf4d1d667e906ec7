import type { Construct } from 'constructs'
import { HOST_ALIASES_MAX, type HostAlias } from '../api/host-aliases.ts'
import { staticAddresses } from '../api/interface-words.ts'
import { LABELS } from '../api/labels.ts'
import { childName } from '../api/names.ts'
import {
  containersOf,
  type WorkspaceContainer,
  type WorkspaceContainerCluster,
  type WorkspaceSpec,
} from '../api/workspace.ts'
import { LOCAL_NAMES, type Members, memberNamesIn, membersOf, type WorkspaceMember } from './member-names.ts'
import { freeVolumeName } from './pod-overrides.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceChildMetadata, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import type { FileMount, FilesVolume } from './workspace-files.ts'

export interface ClusterHostsProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly cluster: WorkspaceContainerCluster
}

export interface ClusterHostsObject {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: WorkspaceChildMetadata
  readonly data: { readonly [HOSTS_KEY]: string }
}

/** Key of the file in its ConfigMap, and its path in the volume. */
export const HOSTS_KEY = 'hosts'
export const HOSTS_PATH = '/etc/hosts'

const LOCAL_LINES = [
  '127.0.0.1 localhost',
  '::1 localhost ip6-localhost ip6-loopback',
  'ff02::1 ip6-allnodes',
  'ff02::2 ip6-allrouters',
]

/**
 * Returns the static addresses of all members, its own included, on the networks that a member is on, by their names and aliases: the first {@link HOST_ALIASES_MAX}. Members whose
 * addresses only a DHCP server or the guest knows are not among them. The order depends on names alone, and for the addresses of one member on the order
 * of the interfaces: a spec that is sorted in another way has the same result.
 */
export function hostAliasesOf(spec: Members, viewer: Pick<WorkspaceMember, 'interfaces'>): HostAlias[] {
  const found: HostAlias[] = []
  const names = memberNamesIn(spec)
  for (const member of membersOf(spec).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (found.length >= HOST_ALIASES_MAX) break
    const hostnames = names.of(member)
    if (hostnames.length === 0) continue
    const addresses = addressesSeen(viewer, member)
    found.push(...addresses.map((address) => ({ ip: address.replace(/\/.*/, ''), hostnames })))
  }
  return found.slice(0, HOST_ALIASES_MAX)
}

/** Returns what an author should know about the names that a member gets. */
export function hostAliasWarnings(spec: WorkspaceSpec, viewer: Pick<WorkspaceMember, 'interfaces'>): string[] {
  if (spec.names !== 'hosts') return []
  const names = memberNamesIn(spec)
  const named = membersOf(spec).filter((member) => names.of(member).length > 0)
  const count = named.reduce((sum, member) => sum + addressesSeen(viewer, member).length, 0)
  return count > HOST_ALIASES_MAX
    ? [`it gets the first ${HOST_ALIASES_MAX} of ${count} addresses of members by name, in the order of the names`]
    : []
}

function addressesSeen(
  { interfaces: own = [] }: Pick<WorkspaceMember, 'interfaces'>,
  { interfaces = [] }: WorkspaceMember,
): string[] {
  return own.flatMap(({ network }) => interfaces.filter((nic) => nic.network === network)).flatMap(staticAddresses)
}

/**
 * The file /etc/hosts of a container cluster. Its name does not depend on its content: other names do not replace the pod, which reads them at its next
 * start.
 */
export class ContainerClusterHosts extends RenderedObject<ClusterHostsObject> {
  constructor(scope: Construct, id: string, { workspace, spec, cluster }: ClusterHostsProps) {
    super(scope, id, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: workspaceChildMetadata({
        workspace,
        name: clusterHostsName(cluster.name),
        labels: { [LABELS.containerCluster]: cluster.name },
      }),
      data: { [HOSTS_KEY]: hostsFile(cluster, hostAliasesOf(spec, cluster)) },
    })
  }
}

/** Returns no object for a cluster whose containers do not mount it. */
export function renderClusterHosts(props: ClusterHostsProps): ClusterHostsObject[] {
  if (hostsVolume(props.spec, props.cluster) === undefined) return []
  return [renderOne((chart) => new ContainerClusterHosts(chart, 'Hosts', props))]
}

/** Returns the name of the ConfigMap, which no ConfigMap with files of a cluster has. */
export function clusterHostsName(cluster: string): string {
  return childName(cluster, 'hosts')
}

/** Returns the host name of the pod of a container cluster. */
export function hostNameOf({ name, hostname = name }: Pick<WorkspaceContainerCluster, 'name' | 'hostname'>): string {
  return hostname
}

/** The host name is one more name of its own addresses. Without such, the names of the pod lead to the host itself, as in Debian. */
function hostsFile(cluster: WorkspaceContainerCluster, aliases: readonly HostAlias[]): string {
  const { name } = cluster
  const host = hostNameOf(cluster)
  const isTaken = (one: string) => LOCAL_NAMES.has(one) || aliases.some(({ hostnames }) => hostnames.includes(one))
  const isOwn = ({ hostnames }: HostAlias) => hostnames.includes(name)
  const unknown = [...new Set([host, name])].filter((one) => !isTaken(one))
  const lines = aliases.map((one) => [one.ip, ...one.hostnames, ...(isOwn(one) ? unknown : [])].join(' '))
  const local = unknown.length > 0 && !aliases.some(isOwn) ? [`127.0.1.1 ${unknown.join(' ')}`] : []
  return `${['# Members of the workspace, because of its names: hosts.', ...LOCAL_LINES, ...local, ...lines].join('\n')}\n`
}

/** Returns the volume of the file. A cluster that is on no network of the workspace has none. */
export function hostsVolume(
  { names }: Pick<WorkspaceSpec, 'names'>,
  cluster: WorkspaceContainerCluster,
): FilesVolume | undefined {
  const { interfaces = [] } = cluster
  const isSomewhere = containersOf(cluster).some((one) => !hasOwnHosts(one))
  if (names !== 'hosts' || interfaces.length === 0 || !isSomewhere) return undefined
  const items = [{ key: HOSTS_KEY, path: HOSTS_KEY, mode: 0o644 }]
  return {
    name: freeVolumeName(cluster, HOSTS_KEY),
    projected: { sources: [{ configMap: { name: clusterHostsName(cluster.name), items } }] },
  }
}

/** The kubelet writes no /etc/hosts into a container that has a mount at that path. */
export function hostsMounts(
  spec: Pick<WorkspaceSpec, 'names'>,
  cluster: WorkspaceContainerCluster,
  container: WorkspaceContainer,
): FileMount[] {
  const volume = hostsVolume(spec, cluster)
  if (volume === undefined || hasOwnHosts(container)) return []
  return [{ name: volume.name, mountPath: HOSTS_PATH, subPath: HOSTS_KEY, readOnly: true }]
}

/** Reports whether a container has something else at the path. */
export function hasOwnHosts({ files = [], volumeMounts = [] }: WorkspaceContainer): boolean {
  const paths = [...files.map(({ path }) => path), ...volumeMounts.map(({ containerPath }) => containerPath)]
  return paths.some((path) => path.replace(/\/+/g, '/').replace(/\/$/, '') === HOSTS_PATH)
}
