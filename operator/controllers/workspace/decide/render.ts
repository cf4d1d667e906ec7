import { marked } from './as-wanted.ts'
import type { Blueprint, Component } from './component.ts'
import { namespaceIdOf } from './components/namespace.ts'
import { KINDS } from './kinds.ts'

/** All that a workspace consists of, kind by kind, with objects that can be told from what they were rendered as before. */
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
