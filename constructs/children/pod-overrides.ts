import { type OverriddenValue, readOverrides } from '../api/overrides.ts'
import type { WorkspaceContainerCluster } from '../api/workspace.ts'
import { mountedVolumes } from './workspace-node-group.ts'

/** Returns the paths of the containers of a cluster, as `overridePath` writes them. */
export function podNames({ containers, initContainers = [] }: WorkspaceContainerCluster): ReadonlySet<string> {
  return new Set([
    ...containers.map(({ name }) => `spec.containers[${name}]`),
    ...initContainers.map(({ name }) => `spec.initContainers[${name}]`),
  ])
}

/** Returns what a container cluster overrides, as far as it can be overridden at all. */
export function podOverrides({ overrides = {} }: WorkspaceContainerCluster): readonly OverriddenValue[] {
  const read = readOverrides('pod', overrides)
  return read.ok ? read.values : []
}

/** Returns a name for a volume of the operator: not that of a volume of the spec, nor of one that its overrides add. */
export function freeVolumeName(cluster: WorkspaceContainerCluster, name: string): string {
  const added = podOverrides(cluster).flatMap(({ steps: [, list, item] }) =>
    list === 'volumes' && typeof item === 'object' ? [item.item] : [],
  )
  const taken = new Set([...mountedVolumes(cluster), ...added])
  let free = name
  while (taken.has(free)) free = `${free}-of-ot`
  return free
}
