import type { KubeObject } from '../../../kube/kube-object.ts'
import { NAMESPACE } from '../../../kube/resource-types.ts'
import type { WorkspaceWorld } from '../world.ts'
import { idOf, idOfObject } from './component.ts'
import type { ComponentKind } from './component-kind.ts'
import { KINDS } from './kinds.ts'

/** Ours that no component asks for any more, and that nothing else needs; what was created last comes first. */
export function leavingIn(world: WorkspaceWorld): readonly KubeObject[] {
  const wanted = new Set(world.components.flatMap(({ objects }) => objects.map(idOfObject)))
  const isNeeded = (object: KubeObject) => KINDS.some((kind) => kind.isNeeded?.(world, object) === true)
  const leaving = [...world.children.values()].filter((one) => !(wanted.has(idOfObject(one)) || isNeeded(one)))
  return leaving.toReversed()
}

/** Of what leaves, all that nothing else that leaves may still use. */
export function unusedIn(leaving: readonly KubeObject[]): readonly KubeObject[] {
  const used = new Set(leaving.flatMap((one) => kindOf(one)?.uses ?? []))
  return leaving.filter((one) => !used.has(kindOf(one)?.kind ?? ''))
}

/** Of all that a workspace has, the objects of the last kind that has any. What is in a namespace that goes with them, or has gone, is left to that. */
export function lastIn(world: Pick<WorkspaceWorld, 'workspace' | 'children' | 'namesakes'>): readonly KubeObject[] {
  const home = idOf(NAMESPACE.kind, world.workspace.metadata.name)
  const isHomeless = !(world.children.has(home) || world.namesakes.has(home))
  // A namespace is gone after all that was in it, though caches may hear of that first.
  const left = [...world.children.values()].filter(({ metadata }) => !isHomeless || metadata.namespace === undefined)
  for (const kind of KINDS.toReversed()) {
    const those = left.filter((one) => kindOf(one) === kind)
    const namespace = those.find((one) => one.kind === NAMESPACE.kind)
    if (namespace !== undefined) return [namespace]
    if (those.length > 0) return those
  }
  return []
}

const KIND_OF: ReadonlyMap<string, ComponentKind> = new Map(
  KINDS.flatMap((kind) => kind.types.map(({ type }) => [type.kind, kind] as const)),
)

/** The kind of components that an object is a part of. */
function kindOf({ kind }: KubeObject): ComponentKind | undefined {
  return KIND_OF.get(kind)
}
