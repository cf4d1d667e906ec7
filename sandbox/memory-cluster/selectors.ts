import type { Selection } from '../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { badRequest } from './errors.ts'

type Predicate = (object: KubeObject) => boolean

/** Says of an object whether a list or watch is about it. */
export type Matcher = Predicate

/** Parses once what is asked for many objects. */
export function matcherOf({ namespace, labelSelector, fieldSelector }: Selection): Matcher {
  const predicates: Predicate[] = []
  if (namespace !== undefined) predicates.push(({ metadata }) => metadata.namespace === namespace)
  for (const requirement of requirementsIn(labelSelector)) predicates.push(labelPredicate(requirement))
  for (const requirement of requirementsIn(fieldSelector)) predicates.push(fieldPredicate(requirement))
  const [only] = predicates
  if (only === undefined) return () => true
  if (predicates.length === 1) return only
  return (object) => predicates.every((holds) => holds(object))
}

/** Commas separate requirements, but not the values within parentheses. */
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

/** Fields that every kind can be selected by. */
const FIELDS: Readonly<Record<string, (object: KubeObject) => string>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
}

function fieldPredicate(requirement: string): Predicate {
  const [, path = '', sign, value] = /^([^=!]+)(==|=|!=)(.*)$/.exec(requirement) ?? []
  const read = FIELDS[path]
  if (read === undefined) throw badRequest(`field label not supported: ${path === '' ? requirement : path}`)
  return (object) => (read(object) === value) === (sign !== '!=')
}
