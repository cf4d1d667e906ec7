import type { KubeObject } from '../../../kube/kube-object.ts'
import { marked, markOf } from './as-wanted.ts'
import { type Blueprint, type Component, idOfObject } from './component.ts'
import { namespaceIdOf } from './components/namespace.ts'
import { KINDS } from './kinds.ts'

/** Renders all components of a workspace, kind by kind. Marks on the objects distinguish them from earlier renderings. */
export function renderComponents(blueprint: Blueprint): Component[] {
  const namespace = namespaceIdOf(blueprint)
  return KINDS.flatMap(({ isGround, children }) =>
    children(blueprint).map((component) => ({
      ...component,
      objects: component.objects.map(marked),
      ...(component.earlier !== undefined && {
        earlier: component.earlier.map((one) => ({ ...one, objects: one.objects.map(marked) })),
      }),
      needs: isGround === true ? component.needs : [namespace, ...component.needs],
    })),
  )
}

/**
 * Returns the component as it is to be kept. What an earlier version of the operator made of the same spec and policy stays as it is, because a
 * change would replace what runs. The marks show who made it, also after somebody has edited it. When the spec, the policy or a person has it made
 * again, that is done in the current way.
 */
export function asItStands(component: Component, children: ReadonlyMap<string, KubeObject>): Component {
  const { earlier = [] } = component
  const now = new Set(component.objects.map(markOf))
  const summary = earlier.find(({ objects }) => {
    const own = objects.filter((one) => !now.has(markOf(one)))
    return own.length > 0 && own.every((one) => markOf(children.get(idOfObject(one))) === markOf(one))
  })
  if (summary === undefined) return component
  const { objects, remarks, lacksOneThing } = summary
  return { ...component, objects, remarks: [...remarks, ...((lacksOneThing && component.remarks) || [])] }
}
