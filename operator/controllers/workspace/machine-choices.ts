import { virtualMachine } from '@open-terrain/constructs'
import { groupOf, type KubeObject } from '../../kube/kube-object.ts'

/** Fields of a machine that no Workspace has: people decide on them, and what they have set stays. */
const OF_PEOPLE = ['runStrategy'] as const

type WithSpec = KubeObject & { readonly spec?: Readonly<Record<string, unknown>> }

/**
 * Returns a machine as it is to be written, with what people have set of it and its workspace cannot say. Other objects stay as they are.
 * @param existing the version that is written to; undefined if it is created
 */
export function withChoicesOfPeople(wanted: KubeObject, existing: KubeObject | undefined): KubeObject {
  const isMachine = wanted.kind === virtualMachine.kind && groupOf(wanted.apiVersion) === virtualMachine.group
  const { spec: has = {} } = (existing ?? {}) as WithSpec
  const kept = OF_PEOPLE.flatMap((field) => (has[field] === undefined ? [] : [[field, has[field]] as const]))
  if (!isMachine || kept.length === 0) return wanted
  return { ...wanted, spec: { ...Object.fromEntries(kept), ...(wanted as WithSpec).spec } } as WithSpec
}
