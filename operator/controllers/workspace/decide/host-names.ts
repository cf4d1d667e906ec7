import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { clusterHostsName, HOSTS_KEY } from '@open-terrain/constructs/operator'
import { CONFIG_MAP } from '../../../kube/resource-types.ts'
import type { ConfigMapView, ContainerPodView } from '../child-views.ts'
import type { WorkspaceWorld } from '../world.ts'
import { type Component, type ComponentRemark, idOf } from './component.ts'

/** Digits of the hash: whoever would look for two files with the same one writes both of them. */
const HASH_LENGTH = 16

/**
 * Returns what is noted on the pod of a cluster when it may start: which names its containers start with. The kubelet reads the file after that, so
 * they have these names or newer ones.
 */
export function startingHosts(
  { children }: Pick<WorkspaceWorld, 'children'>,
  cluster: string,
): Readonly<Record<string, string>> {
  const file = children.get(idOf(CONFIG_MAP.kind, clusterHostsName(cluster))) as ConfigMapView | undefined
  const hash = file?.data[HOSTS_KEY]?.slice(0, HASH_LENGTH)
  return hash === undefined ? {} : { [ANNOTATIONS.hosts]: hash }
}

function hasHosts({ name, objects }: Pick<Component, 'name' | 'objects'>): boolean {
  const file = clusterHostsName(name)
  return objects.some(({ kind, metadata }) => kind === CONFIG_MAP.kind && metadata.name === file)
}

/** Reports whether the file of a cluster is not seen yet: what its pod starts with could not be noted. */
export function isHostsAwaited(world: WorkspaceWorld, cluster: string): boolean {
  const component = world.components.find(({ kind, name }) => kind === 'ContainerCluster' && name === cluster)
  return (
    component !== undefined && hasHosts(component) && startingHosts(world, cluster)[ANNOTATIONS.hosts] === undefined
  )
}

/** Returns what to say of a pod that was started with other names than the next one would be. */
export function staleHosts(
  world: Pick<WorkspaceWorld, 'children'>,
  component: Pick<Component, 'name' | 'objects'>,
  pod: ContainerPodView,
): ComponentRemark | undefined {
  const { name } = component
  // Not what the spec says now: a cluster that cannot be changed keeps its file, and another pod would have the same.
  const next = startingHosts(world, name)[ANNOTATIONS.hosts]
  const isCurrent = next === undefined || pod.metadata.annotations?.[ANNOTATIONS.hosts] === next
  if (isCurrent || !hasHosts(component)) return undefined
  return {
    why: 'NamesNotCurrent',
    message: `the names of the members were changed after its pod was started: its containers have those of then, until they end and start again; to start them now: kubectl delete pod -n ${pod.metadata.namespace} -l ${LABELS.containerCluster}=${name}`,
  }
}

/** What to say of a cluster that was made without the names of the members: to mount them would replace its pod. */
export function unnamed(workspace: string, cluster: string): ComponentRemark {
  return {
    why: 'NamesNotCurrent',
    message: `it was made before names: hosts, so its containers do not have the names of the members; to have it made again: kubectl delete deployment -n ${workspace} ${cluster}`,
  }
}
