import type { ObjectMeta } from '../kube/kube-object.ts'
import { isSame } from './owned-fields.ts'

/** Caches hold tens of thousands of objects that say the same words: what is said often is kept once. */

/** More than that are not remembered. */
const INTERNED_MAX = 10_000
const interned = new Map<string, string>()
/** A word, a sentence without a name in it, or the version of an API: `cdi.kubevirt.io/v1beta1`. Times and hashes are hardly ever shared. */
const WORD = /^[A-Za-z][A-Za-z., /-]{0,127}(\d+((alpha|beta)\d+)?)?$/

/** Whether a text is one that many objects may say. */
function isCommon(text: string): boolean {
  return WORD.test(text)
}

/** The one copy of a text that many objects say: reasons, phases, names of classes and namespaces. */
export function intern<T extends string | undefined>(text: T): T {
  if (text === undefined) return text
  const known = interned.get(text)
  if (known !== undefined) return known as T
  if (interned.size < INTERNED_MAX && isCommon(text)) interned.set(text, text)
  return text
}

const lists = new Map<string, readonly string[]>()

/** The one copy of a list of words, of which there are few: access modes. */
export function internList(words: readonly string[]): readonly string[] {
  const text = words.join()
  const known = lists.get(text)
  if (known !== undefined) return known
  const own = words.map(intern)
  if (lists.size < INTERNED_MAX) lists.set(text, own)
  return own
}

/**
 * A copy in which equal texts are one: a status says the same times and sentences in several places, and all statuses say the same words.
 * @param seen texts of other parts of the same object
 */
export function deduplicated<T>(value: T, seen: Map<string, string> = new Map()): T {
  if (typeof value === 'string') {
    const known = seen.get(value)
    if (known !== undefined) return known as T
    const same = intern(value)
    seen.set(value, same)
    return same
  }
  if (Array.isArray(value)) return value.map((item) => deduplicated(item, seen)) as T
  if (typeof value !== 'object' || value === null) return value
  // A spread, not an object made up member by member: V8 then lays it out as tightly as the parsed JSON.
  const copy = { ...value }
  // The lists that Object.entries makes would take twice as long as all else here, and a start does this for every object in the cluster.
  for (const key in copy) copy[key] = deduplicated(copy[key], seen)
  return copy
}

/** A condition of somebody else's object. */
export interface ConditionView {
  readonly status: string
  readonly reason: string
  readonly message: string
}

const conditions = new Map<string, ConditionView>()

/** The one copy of a condition, where many objects may have it: most finished downloads say the same. */
export function internCondition({ status, reason, message }: ConditionView): ConditionView {
  const isOften = message === '' || isCommon(message)
  const text = `${status} ${reason} ${message}`
  const known = isOften ? conditions.get(text) : undefined
  if (known !== undefined) return known
  const own = { status: intern(status), reason: intern(reason), message: intern(message) }
  if (isOften && conditions.size < INTERNED_MAX) conditions.set(text, own)
  return own
}

interface Family {
  labels: ObjectMeta['labels']
  ownerReferences: ObjectMeta['ownerReferences']
  /** Of the one that was looked at last. */
  name: string
  creationTimestamp: ObjectMeta['creationTimestamp']
}
/** By uid of the owner. More than anybody is expected to have; when it is full, it is emptied. */
const families = new Map<string, Family>()
const FAMILIES_MAX = 20_000

/**
 * The children of an object nearly all say the same about where they belong, and often have one name and one second: a fifth of what the caches weigh.
 * @param owner uid of the object that they are made for, directly or not
 */
export function sharedInFamily(metadata: ObjectMeta, owner: string | undefined): ObjectMeta {
  if (owner === undefined) return metadata
  const { name, creationTimestamp, labels, ownerReferences } = metadata
  const family = families.get(owner) ?? newFamily(owner)
  // An equal text does not take the place of the one that the sibling has.
  if (name !== family.name) family.name = name
  if (creationTimestamp !== family.creationTimestamp) family.creationTimestamp = creationTimestamp
  family.labels ??= labels
  // A claim belongs to its DataVolume.
  if (ownerReferences?.[0]?.uid === owner) family.ownerReferences ??= ownerReferences
  return {
    ...metadata,
    name: family.name,
    creationTimestamp: family.creationTimestamp,
    labels: isSame(labels, family.labels) ? family.labels : labels,
    ownerReferences: isSame(ownerReferences?.[0], family.ownerReferences?.[0])
      ? family.ownerReferences
      : ownerReferences,
  }
}

function newFamily(owner: string): Family {
  const family: Family = { labels: undefined, ownerReferences: undefined, name: '', creationTimestamp: undefined }
  if (families.size >= FAMILIES_MAX) families.clear()
  families.set(owner, family)
  return family
}
