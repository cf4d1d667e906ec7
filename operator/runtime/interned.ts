/** Caches hold tens of thousands of objects that say the same words: what is said often is kept once. */

/** More than that are not remembered. */
export const INTERNED_MAX = 10_000
const interned = new Map<string, string>()
/** A word, a sentence without a name in it, or the version of an API: `cdi.kubevirt.io/v1beta1`. Times and hashes are hardly ever shared. */
const WORD = /^[A-Za-z][A-Za-z., /-]{0,127}(\d+((alpha|beta)\d+)?)?$/

/** Whether a text is one that many objects may say. */
export function isCommon(text: string): boolean {
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
    const same = seen.get(value) ?? intern(value)
    seen.set(value, same)
    return same as T
  }
  if (Array.isArray(value)) return value.map((item) => deduplicated(item, seen)) as T
  if (typeof value !== 'object' || value === null) return value
  // A spread, not an object made up member by member: V8 then lays it out as tightly as the parsed JSON.
  const copy = { ...value } as Record<string, unknown>
  for (const [key, member] of Object.entries(copy)) copy[key] = deduplicated(member, seen)
  return copy as T
}
