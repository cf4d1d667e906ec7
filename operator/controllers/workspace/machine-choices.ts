import { ANNOTATIONS } from '@open-terrain/constructs'
import { virtualMachine } from '@open-terrain/constructs/operator'
import { groupOf, type KubeObject } from '../../kube/kube-object.ts'

/** Fields of a machine on which people decide as long as its workspace does not: what they have set stays. */
const OF_PEOPLE = ['runStrategy'] as const

type WithSpec = KubeObject & { readonly spec?: Readonly<Record<string, unknown>> }

/**
 * Returns a machine as it is to be written, with what people have set of it and its workspace does not say. Other objects stay as they are. What the
 * workspace itself has given a machine before, as an annotation tells, is no choice of people: it goes.
 * @param existing the version that is written to; undefined if it is created
 */
export function withChoicesOfPeople(wanted: KubeObject, existing: KubeObject | undefined): KubeObject {
  const isMachine = wanted.kind === virtualMachine.kind && groupOf(wanted.apiVersion) === virtualMachine.group
  if (!isMachine || isGiven(wanted)) return wanted
  if (isGiven(existing)) {
    const annotations = { ...wanted.metadata.annotations, [ANNOTATIONS.runStrategy]: '' }
    return { ...wanted, metadata: { ...wanted.metadata, annotations } }
  }
  const { spec: has = {} } = (existing ?? {}) as WithSpec
  const kept = OF_PEOPLE.flatMap((field) => (has[field] === undefined ? [] : [[field, has[field]] as const]))
  if (kept.length === 0) return wanted
  return { ...wanted, spec: { ...Object.fromEntries(kept), ...(wanted as WithSpec).spec } } as WithSpec
}

function isGiven(machine: KubeObject | undefined): boolean {
  return Boolean(machine?.metadata.annotations?.[ANNOTATIONS.runStrategy])
}
