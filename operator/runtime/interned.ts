import { isSame } from '../base/equality.ts'
import type { ObjectMeta } from '../kube/kube-object.ts'

// Caches hold tens of thousands of objects with the same texts. A frequent text is stored once.

/** Further entries are not stored. */
const INTERNED_MAX = 10_000
const interned = new Map<string, string>()
/** A word, a sentence without a name in it, or an apiVersion: what many objects may contain. Times, hashes and numbered names are rarely shared. */
const COMMON = /^([A-Za-z][A-Za-z., /-]{0,127}|([a-z0-9.]{1,63}\/)?v\d{1,3}((alpha|beta)\d{1,3})?)$/

/** Returns the shared copy of a text that many objects contain: reasons, phases, names of classes and namespaces. */
export function intern<T extends string | undefined>(text: T): T {
  if (text === undefined) return text
  const known = interned.get(text)
  if (known !== undefined) return known as T
  if (interned.size < INTERNED_MAX && COMMON.test(text)) interned.set(text, text)
  return text
}

const lists = new Map<string, readonly string[]>()

/** Returns the shared copy of a list of words, such as access modes. There are few different lists. */
export function internList(words: readonly string[]): readonly string[] {
  const text = words.join()
  const known = lists.get(text)
  if (known !== undefined) return known
  const own = words.map(intern)
  if (lists.size < INTERNED_MAX) lists.set(text, own)
  return own
}

/** Returns a copy that shares equal texts, which a status repeats, also with other statuses. `seen`: texts of other parts of the same object. */
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
  // A spread, not an object built member by member: V8 then stores it as compactly as the parsed JSON.
  const copy = { ...value }
  // Object.entries would build lists that take twice as long as all else here, and a start does this for every object in the cluster.
  for (const key in copy) copy[key] = deduplicated(copy[key], seen)
  return copy
}

/** A condition of an object that is not ours. */
export interface ConditionView {
  readonly status: string
  readonly reason: string
  readonly message: string
}

const conditions = new Map<string, ConditionView>()

/** Returns the shared copy of a condition that many objects may have: most finished downloads have the same one. */
export function internCondition({ status, reason, message }: ConditionView): ConditionView {
  const isOften = message === '' || COMMON.test(message)
  const text = `${status} ${reason} ${message}`
  const known = isOften ? conditions.get(text) : undefined
  if (known !== undefined) return known
  const own = { status: intern(status), reason: intern(reason), message: intern(message) }
  if (isOften && conditions.size < INTERNED_MAX) conditions.set(text, own)
  return own
}

/** By uid of the owner: parts of its children's metadata. Emptied from time to time ({@link forgetFamilies}), and at a size that nobody is expected to reach. */
const families = new Map<string, unknown[]>()
const FAMILIES_MAX = 20_000
/** Two names, two sets of labels (managed-by names CDI on a claim, and the operator on others), two owners and a few times are usual. */
const PARTS_MAX = 16

/** Called from time to time: owners that are gone would stay. Objects that share texts already are not affected. */
export function forgetFamilies(): void {
  families.clear()
}

/**
 * Children of one object mostly have equal labels and owner references, and often equal names and creation times: a fifth of the caches' size.
 * @param owner uid of the object that they are made for, directly or not
 */
export function sharedInFamily(metadata: ObjectMeta, owner: string | undefined): ObjectMeta {
  if (owner === undefined) return metadata
  const { name, creationTimestamp, labels, ownerReferences } = metadata
  const family = families.get(owner) ?? newFamily(owner)
  return {
    ...metadata,
    name: sharedPart(family, name),
    creationTimestamp: sharedPart(family, creationTimestamp),
    labels: sharedPart(family, labels),
    ownerReferences: sharedPart(family, ownerReferences),
  }
}

function newFamily(owner: string): unknown[] {
  const family: unknown[] = []
  if (families.size >= FAMILIES_MAX) families.clear()
  families.set(owner, family)
  return family
}

function sharedPart<T>(family: unknown[], part: T): T {
  if (part === undefined) return part
  const known = family.find((one) => isSame(one, part))
  if (known !== undefined) return known as T
  if (family.length >= PARTS_MAX) family.length = 0
  family.push(part)
  return part
}
