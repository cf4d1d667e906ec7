import { marked } from './as-wanted.ts'
import type { Blueprint, Component } from './component.ts'
import { namespaceIdOf } from './components/namespace.ts'
import { KINDS } from './kinds.ts'

/** Renders all components of a workspace, kind by kind. Marks on the objects distinguish them from earlier renderings. */
export function renderComponents(blueprint: Blueprint): Component[] {
  const namespace = namespaceIdOf(blueprint)
  return KINDS.flatMap(({ isGround, children }) =>
    children(blueprint).map((component) => ({
      ...component,
      objects: component.objects.map(marked),
      needs: isGround === true ? component.needs : [namespace, ...component.needs],
    })),
  )
}
