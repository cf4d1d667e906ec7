import { intern } from './interned.ts'

// Limits what caches keep of objects that anybody may write: the API server limits an object to 1.5 MB, but hardly any text in it.

/** Maximum number of characters of a cached object: several times what well-meaning users and controllers write. */
export const KEPT_MAX = 8_000
/** Maximum length of a name, and of a value that the operator writes into a label or an annotation. */
export const VALUE_MAX = 253
/** A list of this length may have been truncated. Its replacement must be based on the stored list. */
export const FINALIZERS_MAX = 32
/** Levels of fields and lists that are kept of an object. */
export const DEPTH_MAX = 32
/**
 * Maximum number of texts, numbers, lists and maps in an object of ours, at all levels together: more than in a spec with as much of everything as its
 * schema allows. A megabyte can have hundreds of thousands of empty texts, and the work on each is many times that on a character.
 */
export const VALUES_MAX = 100_000

/** Returns `view` with at most `max` characters: texts are cut, lists and maps lose entries. Members of view, metadata and conditions all stay. */
export function bounded<T extends object>(view: T, max: number): T {
  return fits(view, max) ? view : (cut(view, { left: max }, 0) as T)
}

/** Reports whether a value has at most `max` characters and `values` members at all levels together, and is not nested too deeply. */
export function fits(value: unknown, max: number, values = Number.POSITIVE_INFINITY): boolean {
  return take({ characters: max, values }, value, 0)
}

/** Bytes that the heap needs for a value besides its characters, roughly. */
const BYTES_PER_VALUE = 32

/** Returns about how many bytes of the heap a value takes. */
export function bytesOf(value: unknown): number {
  const room = { characters: Number.MAX_SAFE_INTEGER, values: Number.MAX_SAFE_INTEGER }
  take(room, value, 0)
  return Number.MAX_SAFE_INTEGER - room.characters + BYTES_PER_VALUE * (Number.MAX_SAFE_INTEGER - room.values)
}

/** What a value may still have. */
interface Room {
  characters: number
  values: number
}

/** Takes the room that a value needs. Returns false, and counts no further, as soon as there is none left. */
function take(room: Room, value: unknown, depth: number): boolean {
  room.values -= 1
  if (typeof value !== 'object' || value === null) {
    room.characters -= typeof value === 'string' ? value.length : 1
    return hasMore(room)
  }
  if (depth > DEPTH_MAX) return false
  if (Array.isArray(value)) {
    room.characters -= value.length
    for (let at = 0; at < value.length; at += 1) if (!hasMore(room) || !take(room, value[at], depth + 1)) return false
    return hasMore(room)
  }
  for (const key in value) {
    room.characters -= key.length
    if (!take(room, (value as Record<string, unknown>)[key], depth + 1)) return false
  }
  return hasMore(room)
}

function hasMore({ characters, values }: Room): boolean {
  return characters >= 0 && values >= 0
}

/** A record this close to the root with at most this many members is part of the view's structure, not a map with user content. */
const SHAPE = { depth: 1, members: 32 }

function cut(value: unknown, room: { left: number }, depth: number): unknown {
  if (typeof value === 'string') {
    const text = upTo(room.left, value)
    room.left -= text.length
    return text
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const isShape = !Array.isArray(value) && depth <= SHAPE.depth && entries.length <= SHAPE.members
  const kept: [string, unknown][] = []
  for (const [key, member] of entries) {
    room.left = Math.max(0, room.left - key.length - 1)
    if (!isShape && (room.left === 0 || depth > DEPTH_MAX)) break
    kept.push([key, cut(member, room, depth + 1)])
  }
  return Array.isArray(value) ? kept.map(([, member]) => member) : Object.fromEntries(kept)
}

/** Returns the labels or annotations that the operator uses, each cut to the maximum length of our own; undefined if there are none. */
export function picked(
  from: Readonly<Record<string, string>> | undefined,
  wanted: readonly string[] = [],
): Readonly<Record<string, string>> | undefined {
  let found: Record<string, string> | undefined
  for (const key of wanted) {
    const value = from?.[key]
    if (value === undefined) continue
    found ??= {}
    found[key] = intern(upTo(VALUE_MAX, value))
  }
  return found
}

/** Longer lists of finalizers have those first that are not to be cut. */
const FINALIZERS_LENGTH_MAX = 2_000

/** Limits the number of finalizers, which is unbounded. Those that matter to the operator are always kept. */
export function keptFinalizers(
  finalizers: readonly string[] | undefined,
  matters: ReadonlySet<string>,
): readonly string[] | undefined {
  if (finalizers === undefined || (finalizers.length < FINALIZERS_MAX && fits(finalizers, FINALIZERS_LENGTH_MAX)))
    return finalizers
  const others = finalizers.filter((one) => !matters.has(one))
  return [...finalizers.filter((one) => matters.has(one)), ...others].slice(0, FINALIZERS_MAX)
}

/** Cuts a text of an object that anybody may write to the length of its target field. Returns an empty string if there is none. */
export function upTo(length: number, text: unknown): string {
  const value = String(text ?? '')
  // A copy: a substring would keep the whole string in memory.
  return value.length <= length ? value : Buffer.from(value.slice(0, length)).toString()
}
