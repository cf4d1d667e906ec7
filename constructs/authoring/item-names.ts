import type { SpecProblem } from '../api/spec-problem.ts'
import { hasFields } from './given-values.ts'

/** What an item of a list is called, and the fields of which one tells it from others. */
export const ITEMS: Readonly<Record<string, readonly [what: string, ...keys: readonly string[]]>> = {
  vms: ['machine', 'name'],
  containerClusters: ['member', 'name'],
  networks: ['network', 'name'],
  volumes: ['volume', 'name'],
  secrets: ['Secret', 'name'],
  services: ['Service', 'name'],
  owners: ['owner', 'name'],
  disks: ['disk', 'name'],
  users: ['user', 'name'],
  interfaces: ['interface on', 'network'],
  containers: ['container', 'name'],
  initContainers: ['container', 'name'],
  env: ['variable', 'name'],
  volumeMounts: ['mount at', 'containerPath'],
  files: ['file', 'path'],
  portMappings: ['port', 'containerPort'],
  ports: ['port', 'port'],
  routes: ['route to', 'destinationNetworkCidr', 'to'],
  generate: ['key', 'key'],
  build: ['role', 'role'],
  deploy: ['role', 'role'],
}
const STEP = /(\w+)(?:\[(\d+)\])?/g

/**
 * Returns the names of the items that a field is in, outermost first, such as ['machine kali', 'disk data']: an index says little to somebody who wrote no list.
 * @param spec as it was written
 * @param field its place, such as spec.vms[0].disks[1].size
 */
export function itemNames(spec: unknown, field: string): readonly string[] {
  return stepsTo(spec, field).flatMap(({ step, isItem, value }) => {
    const [what, ...keys] = ITEMS[step] ?? []
    const name = isItem ? keys.map((key) => fieldOf(value, key)).find(isName) : undefined
    return name === undefined ? [] : [`${what} ${name}`]
  })
}

/** Returns what is wrong with a text, for somebody who gave an object of a library for it. */
export function sentenceOfText(spec: unknown, { path, message }: SpecProblem): string {
  const value = stepsTo(spec, path).at(-1)?.value
  if (message !== 'must be a text' || !hasFields(value)) return message
  const { name } = (value.constructor ?? Object) as { readonly name?: unknown }
  return `${message}; it is an object (${String(name)}): of objects, only Size and Duration of cdk8s and Date are taken as texts`
}

interface Step {
  readonly step: string
  readonly isItem: boolean
  readonly value: unknown
}

function stepsTo(spec: unknown, field: string): readonly Step[] {
  let at = spec
  return [...field.replace(/^spec[.]?/, '').matchAll(STEP)].map(([, step = '', index]) => {
    const inside = fieldOf(at, step)
    const list: readonly unknown[] = Array.isArray(inside) ? inside : []
    at = index === undefined ? inside : list[Number(index)]
    return { step, isItem: index !== undefined, value: at }
  })
}

/** Returns the place of a field with the names of the items that it is in. */
export function placeOfItem(field: string, names: readonly string[]): string {
  return [...names, field].join(': ')
}

/** A text of any length and letters is no name. */
function isName(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && /^[\x20-\x7e]{1,63}$/.test(value))
}

function fieldOf(value: unknown, field: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[field] : undefined
}
