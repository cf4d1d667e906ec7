import type { Selection } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { EVENT, POD } from '../../operator/kube/resource-types.ts'
import { badRequest } from './errors.ts'

type Predicate = (object: KubeObject) => boolean

/** Reports whether a list or watch selects an object. */
export type Matcher = Predicate

/** Parses the selectors once, for use on many objects. */
export function matcherOf(type: ResourceType, { namespace, labelSelector, fieldSelector }: Selection): Matcher {
  const predicates: Predicate[] = []
  if (namespace !== undefined) predicates.push(({ metadata }) => metadata.namespace === namespace)
  for (const requirement of requirementsIn(labelSelector)) predicates.push(labelPredicate(requirement))
  for (const requirement of requirementsIn(fieldSelector)) predicates.push(fieldPredicate(type, requirement))
  const [only] = predicates
  if (only === undefined) return () => true
  if (predicates.length === 1) return only
  return (object) => predicates.every((holds) => holds(object))
}

/** Splits at commas, except between the values within parentheses. */
function requirementsIn(selector: string | undefined): string[] {
  return selector === undefined || selector === '' ? [] : selector.split(/,(?![^(]*\))/).map((part) => part.trim())
}

function labelPredicate(requirement: string): Predicate {
  const [, name = '', operator, list = ''] = /^([^\s=!]+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(requirement) ?? []
  if (operator !== undefined) {
    const values = new Set(list.split(',').map((value) => value.trim()))
    const isIn = (object: KubeObject) => values.has(object.metadata.labels?.[name] ?? '\0')
    return operator === 'in' ? isIn : (object) => !isIn(object)
  }
  const equality = /^([^=!]+?)\s*(==|=|!=)\s*(.*)$/.exec(requirement)
  if (equality !== null) {
    const [, key = '', sign, value] = equality
    if (sign === '!=') return ({ metadata }) => metadata.labels?.[key] !== value
    return ({ metadata }) => metadata.labels?.[key] === value
  }
  if (requirement.startsWith('!')) return ({ metadata }) => metadata.labels?.[requirement.slice(1)] === undefined
  return ({ metadata }) => metadata.labels?.[requirement] !== undefined
}

type Fields = Readonly<Record<string, (object: KubeObject) => string>>

/** Fields by which every kind can be selected. */
const FIELDS: Fields = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
}

interface Event extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly involvedObject?: { readonly kind?: string; readonly name?: string; readonly uid?: string }
}

/** Events can also be selected by type, reason and involved object. */
const EVENT_FIELDS: Fields = {
  ...FIELDS,
  type: ({ type }: Event) => type ?? '',
  reason: ({ reason }: Event) => reason ?? '',
  'involvedObject.kind': ({ involvedObject }: Event) => involvedObject?.kind ?? '',
  'involvedObject.name': ({ involvedObject }: Event) => involvedObject?.name ?? '',
  'involvedObject.uid': ({ involvedObject }: Event) => involvedObject?.uid ?? '',
}

/** Of the fields by which only Pods can be selected, the one that is used. */
const POD_FIELDS: Fields = {
  ...FIELDS,
  'status.phase': ({ status }: KubeObject & { readonly status?: { readonly phase?: string } }) => status?.phase ?? '',
}

function fieldsOf({ group, kind }: ResourceType): Fields {
  const is = (type: ResourceType) => type.group === group && type.kind === kind
  return is(EVENT) ? EVENT_FIELDS : is(POD) ? POD_FIELDS : FIELDS
}

function fieldPredicate(type: ResourceType, requirement: string): Predicate {
  const [, path = '', sign, value] = /^([^=!]+)(==|=|!=)(.*)$/.exec(requirement) ?? []
  const read = fieldsOf(type)[path]
  if (read === undefined) throw badRequest(`field label not supported: ${path === '' ? requirement : path}`)
  return (object) => (read(object) === value) === (sign !== '!=')
}
