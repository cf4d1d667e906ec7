import type { KubeObject } from '../../../kube/kube-object.ts'
import { marked, markOf } from './as-wanted.ts'
import { type Blueprint, type Component, type EarlierRendering, idOfObject } from './component.ts'
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

/** Renders a component in the earlier ways of its kind, the newest first. */
export function renderEarlier(blueprint: Blueprint, component: Component): EarlierRendering[] {
  const earlier = EARLIER.get(component.kind)?.(blueprint, component) ?? []
  return earlier.map((one) => ({ ...one, objects: one.objects.map(marked) }))
}

const EARLIER = new Map(KINDS.flatMap(({ kind, earlier }) => (earlier === undefined ? [] : [[kind, earlier] as const])))

/**
 * Returns the component as it is to be kept. What an earlier version of the operator made of the same spec and policy stays as it is, because a
 * change would replace what runs. The marks show who made it, also after somebody has edited it. When the spec, the policy or a person has it made
 * again, that is done in the current way.
 * @param earlierOf as `renderEarlier` of the same workspace. Called only if an object is there that has another mark
 */
export function asItStands(
  component: Component,
  children: ReadonlyMap<string, KubeObject>,
  earlierOf: (component: Component) => readonly EarlierRendering[],
): Component {
  const isOtherThere = (wanted: KubeObject) => {
    const actual = children.get(idOfObject(wanted))
    return actual !== undefined && markOf(actual) !== markOf(wanted)
  }
  if (!(EARLIER.has(component.kind) && component.objects.some(isOtherThere))) return component
  const now = new Set(component.objects.map(markOf))
  const standing = earlierOf(component).find(({ objects }) => {
    const own = objects.filter((one) => !now.has(markOf(one)))
    return own.length > 0 && own.every((one) => markOf(children.get(idOfObject(one))) === markOf(one))
  })
  if (standing === undefined) return component
  const { objects, remarks, lacksOneThing } = standing
  return { ...component, objects, remarks: [...remarks, ...((lacksOneThing && component.remarks) || [])] }
}
