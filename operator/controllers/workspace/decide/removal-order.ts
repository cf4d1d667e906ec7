import { copiedUidOf } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { NAMESPACE, SECRET } from '../../../kube/resource-types.ts'
import type { WorkspaceWorld } from '../world.ts'
import { idOf, idOfObject } from './component.ts'
import type { ComponentKind } from './component-kind.ts'
import { KINDS } from './kinds.ts'
import { isWithdrawn } from './secret-sources.ts'

/** Returns children that no component asks for any more and that nothing else needs. The kind that is created last comes first. */
export function leavingIn(world: WorkspaceWorld): readonly KubeObject[] {
  const wanted = new Set(world.components.flatMap(({ objects }) => objects.map(idOfObject)))
  const isNeeded = (object: KubeObject) => KINDS.some((kind) => kind.isNeeded?.(world, object) === true)
  const leaving = [...world.children.values()].filter((one) => !(wanted.has(idOfObject(one)) || isNeeded(one)))
  return leaving.toReversed()
}

/**
 * Returns those of the leaving objects that no other leaving object may still use. A Secret that the spec still asks for does not wait for members that leave:
 * it goes because it may not be copied any more, or to be made of something else.
 */
export function unusedIn(
  { spec }: Pick<WorkspaceWorld, 'spec'>,
  leaving: readonly KubeObject[],
): readonly KubeObject[] {
  const used = new Set(leaving.flatMap((one) => kindOf(one)?.uses ?? []))
  const { secrets = [] } = spec.ok ? spec.spec : {}
  const asked = new Set(secrets.map(({ name }) => idOf(SECRET.kind, name)))
  return leaving.filter((one) => asked.has(idOfObject(one)) || !used.has(kindOf(one)?.kind ?? ''))
}

/** Returns the copies of Secrets that may not be copied any more. For a spec that cannot be read: otherwise no component asks for them. */
export function withdrawnIn({ children, secretSources }: WorkspaceWorld): readonly KubeObject[] {
  return [...children.values()].filter(
    ({ kind, metadata: { name, annotations } }) =>
      kind === SECRET.kind && copiedUidOf(annotations) !== undefined && isWithdrawn(secretSources.get(name)),
  )
}

/** Returns the objects of the last kind that has any. Omits what is deleted with a namespace among them, or with one that is gone. */
export function lastIn(world: Pick<WorkspaceWorld, 'workspace' | 'children' | 'namesakes'>): readonly KubeObject[] {
  const home = idOf(NAMESPACE.kind, world.workspace.metadata.name)
  const isHomeless = !(world.children.has(home) || world.namesakes.has(home))
  // A namespace is gone only after everything in it, but caches may observe its deletion first.
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

/** Returns the kind of component that an object is part of. */
function kindOf({ kind }: KubeObject): ComponentKind | undefined {
  return KIND_OF.get(kind)
}
