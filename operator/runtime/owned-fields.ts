import { isRecord, isSame } from '../base/equality.ts'
import { groupOf, type KubeObject } from '../kube/kube-object.ts'

/**
 * Reports whether a child is as wanted. Its spec is entirely ours: a leftover member that is not wanted counts as a difference. Of its metadata
 * only the wanted fields are ours, and labels under the API group of its owner. Labels of others do not count, nor does the status.
 */
export function ownsEqual(wanted: KubeObject, actual: KubeObject): boolean {
  const { metadata, ...content } = wanted
  return (
    contains(actual.metadata, metadata) &&
    leftLabels(wanted, actual).length === 0 &&
    Object.entries(content).every(([key, value]) => isSame(value, member(actual, key)))
  )
}

/**
 * Returns a JSON merge patch that changes the content of `actual`, except its metadata, to that of `wanted`. What a Secret has besides stays: nothing can
 * bring a value back.
 */
export function changeTo(wanted: KubeObject, actual: KubeObject): object {
  const { metadata: _wanted, ...content } = wanted
  if (BOUND_BY_CLUSTER.has(wanted.kind) || wanted.kind === 'Secret') return content
  const before = wanted.kind === 'Service' ? withoutAllocations(actual) : actual
  const changes = Object.entries(content).map(([key, value]) => [key, difference(value, member(before, key))])
  return Object.fromEntries(changes)
}

/** The part of the spec of a Service that people decide on. */
export const DECIDED_OF_SERVICE: readonly string[] = ['type', 'selector', 'ports', 'externalIPs']

/** Kubernetes completes a Service with addresses and what follows from them. Removing those would ask for others. */
function withoutAllocations(service: KubeObject): object {
  const spec = Object.entries((member(service, 'spec') ?? {}) as object)
  return { ...service, spec: Object.fromEntries(spec.filter(([key]) => DECIDED_OF_SERVICE.includes(key))) }
}

/** Kubernetes completes these when it binds them to each other. Removing what it has written, such as the uid in claimRef, costs a claim its data. */
const BOUND_BY_CLUSTER: ReadonlySet<string> = new Set(['PersistentVolume', 'PersistentVolumeClaim'])

/** Reports whether a JSON merge patch would change anything. */
export function isChange(patch: unknown, actual: unknown): boolean {
  if (!isRecord(patch) || !isRecord(actual)) return !isSame(patch ?? undefined, actual ?? undefined)
  return Object.entries(patch).some(([key, value]) => value !== undefined && isChange(value, actual[key]))
}

/** Returns the labels for a JSON merge patch: the wanted ones, and null for those of the operator that are no longer wanted. */
export function labelsTo(wanted: KubeObject, actual: KubeObject): Readonly<Record<string, string | null>> {
  return { ...wanted.metadata.labels, ...Object.fromEntries(leftLabels(wanted, actual).map((label) => [label, null])) }
}

/** Returns the labels that are no longer wanted. Only the owner of an object sets labels under the owner's API group. */
function leftLabels(wanted: KubeObject, actual: KubeObject): string[] {
  const { labels, ownerReferences = [] } = wanted.metadata
  const [owner] = ownerReferences
  if (owner === undefined) return []
  const prefix = `${groupOf(owner.apiVersion)}/`
  const isLeft = (label: string) => label.startsWith(prefix) && labels?.[label] === undefined
  return Object.keys(actual.metadata.labels ?? {}).filter(isLeft)
}

function difference(wanted: unknown, actual: unknown): unknown {
  if (!isRecord(wanted) || !isRecord(actual)) return wanted
  const gone = Object.keys(actual).filter((key) => wanted[key] === undefined)
  return {
    ...Object.fromEntries(Object.entries(wanted).map(([key, value]) => [key, difference(value, actual[key])])),
    ...Object.fromEntries(gone.map((key) => [key, null])),
  }
}

function contains(actual: unknown, wanted: unknown): boolean {
  if (!isRecord(wanted) || !isRecord(actual)) return isSame(wanted, actual)
  return Object.entries(wanted).every(([key, value]) => value === undefined || contains(actual[key], value))
}

function member(object: object, key: string): unknown {
  return (object as Record<string, unknown>)[key]
}

/** An item of a list whose items are known by name. */
interface Named {
  readonly name: string
}

/** A list of which only the items with the wanted names are ours. */
export interface SharedList {
  /** What to write: equal to the actual list if our part of it is as wanted. */
  readonly items: readonly unknown[]
  /** Names of the items that others added. They stay. */
  readonly others: readonly string[]
  /** Names of the items that are taken away: we rendered them before. */
  readonly gone: readonly string[]
}

/**
 * Returns a list with our items as wanted. The items of others stay as they are; they follow ours if ours change.
 * @param isFormer reports whether an item that is not wanted is one that we rendered before
 */
export function sharedList(
  wanted: readonly Named[],
  actual: unknown,
  isFormer: (name: string) => boolean = () => false,
): SharedList {
  const present: readonly unknown[] = Array.isArray(actual) ? actual : []
  const names = new Set(wanted.map(({ name }) => name))
  const mine = present.filter((item) => names.has(nameOf(item)))
  const strange = present.filter((item) => !names.has(nameOf(item)))
  const others = strange.filter((item) => !isFormer(nameOf(item)))
  const gone = strange.filter((item) => isFormer(nameOf(item))).map(nameOf)
  const isAsWanted = gone.length === 0 && isSame(wanted, mine)
  return { items: isAsWanted ? present : [...wanted, ...others], others: others.map(nameOf), gone }
}

function nameOf(item: unknown): string {
  return isRecord(item) ? String(item['name'] ?? '') : ''
}
