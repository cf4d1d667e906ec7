import { ANNOTATIONS, shortHash, workspace as WORKSPACE } from '@open-terrain/constructs'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { WorkspaceWorld } from '../world.ts'
import { type Component, type ComponentStanding, componentFailed, idOf } from './component.ts'

/** Reasons of components whose data is gone, and that are not made again before somebody asks for it. */
const ASKS: ReadonlySet<string> = new Set(['VolumeLost', 'DiskLost'])

/** Fingerprint of the present request to make again what is lost; undefined if there is none. */
export function rebuildRequestOf({ metadata }: Pick<KubeObject, 'metadata'>): string | undefined {
  const value = metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]
  return value === undefined ? undefined : shortHash([value])
}

/**
 * Reports whether somebody asks for a component to be made again although its data is gone. Each value counts once, and only for what the status has told
 * before: nobody can mean a loss that they have not been told of.
 * @param isLost whether nothing of it can be saved any more by waiting
 */
export function isRemakeAsked({ workspace }: WorkspaceWorld, component: Component, isLost: boolean): boolean {
  const request = rebuildRequestOf(workspace)
  const isNew = request !== undefined && request !== workspace.status.rebuildRequest
  return isLost && isNew && ASKS.has(toldOf(workspace, component)?.reason ?? '')
}

/** Returns what the status says of a component. */
export function toldOf({ status }: Pick<WorkspaceWorld['workspace'], 'status'>, { kind, name }: Component) {
  return status.components?.find((one) => one.kind === kind && one.name === name)
}

/** Says that the data of a component is gone, and how to have the component made again without it. */
export function goneForGood(
  { workspace }: WorkspaceWorld,
  why: 'VolumeLost' | 'DiskLost',
  what: string,
): ComponentStanding {
  const command = `kubectl annotate ${WORKSPACE.crdName} ${workspace.metadata.name} --overwrite ${ANNOTATIONS.rebuildRequestedAt}="$(date)"`
  return componentFailed(
    why,
    `${what}: it is not made again by itself; if nothing of it can be saved, have it made again by: ${command}`,
  )
}

/** Returns the namespace of the workspace, as it is. */
export function namespaceIn({ children, workspace }: WorkspaceWorld): KubeObject | undefined {
  return children.get(idOf('Namespace', workspace.metadata.name))
}
