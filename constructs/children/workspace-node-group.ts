import { isOnPodNetwork } from '../api/interface-words.ts'
import { shortHash } from '../api/names.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { containersOf, type WorkspaceContainerCluster, type WorkspaceSpec, type WorkspaceVm } from '../api/workspace.ts'
import type { WorkspaceRef } from './workspace-child.ts'

/** Returns the group of a machine, or undefined if any node will do. A Linux bridge ends at its node, so everything on it must be there. */
export function machineNodeGroup(
  workspace: WorkspaceRef,
  { networks = [] }: WorkspaceSpec,
  vm: WorkspaceVm,
  driver: NetworkDriver,
): string | undefined {
  // Where a network that exists already is, the scheduler does not know either.
  const attached = new Set(networks.flatMap(({ name, attach }) => (attach === undefined ? [] : name)))
  const onBridge = (vm.interfaces ?? []).filter((nic) => !isOnPodNetwork(nic) && !attached.has(nic.network))
  return driver === 'bridge' && onBridge.length > 0 ? workspace.name : undefined
}

/**
 * Returns the group of a container cluster, or undefined if any node will do. Apart from what is on a Linux bridge, clusters that share a volume,
 * directly or through others, must be on one node, because a volume is mounted on one node at a time.
 */
export function clusterNodeGroup(
  workspace: WorkspaceRef,
  { containerClusters = [] }: WorkspaceSpec,
  cluster: WorkspaceContainerCluster,
  driver: NetworkDriver,
): string | undefined {
  if (driver === 'bridge') return workspace.name
  const names = sharingVolumesWith(cluster, containerClusters)
  return names.length > 1 ? `volumes-${shortHash(names.toSorted())}` : undefined
}

/** Returns the names of the volumes that containers of a cluster mount. */
export function mountedVolumes(cluster: WorkspaceContainerCluster): Set<string> {
  return new Set(containersOf(cluster).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)))
}

/** Name of the volume with the inventory and the plays, which is available on every node. */
export const ANSIBLE_VOLUME = 'ansible'

function sharingVolumesWith(cluster: WorkspaceContainerCluster, all: readonly WorkspaceContainerCluster[]): string[] {
  const names = new Set([cluster.name])
  const volumes = mountedVolumes(cluster)
  volumes.delete(ANSIBLE_VOLUME)
  for (let before = 0; before !== names.size; ) {
    before = names.size
    for (const other of all) {
      const mounted = mountedVolumes(other)
      mounted.delete(ANSIBLE_VOLUME)
      if (names.has(other.name) || ![...mounted].some((volume) => volumes.has(volume))) continue
      names.add(other.name)
      for (const volume of mounted) volumes.add(volume)
    }
  }
  return [...names]
}
