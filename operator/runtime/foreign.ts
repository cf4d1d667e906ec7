import { intern } from './interned.ts'

// Limits what caches keep of objects that anybody may write: the API server limits an object to 1.5 MB, but hardly any text in it.

/** Maximum number of characters of a cached object: several times what well-meaning users and controllers write. */
export const KEPT_MAX = 8_000
const VALUE_MAX = 253
/** A list of this length may have been truncated. Its replacement must be based on the stored list. */
export const FINALIZERS_MAX = 32
/** Deeper than anything that is kept of an Open Terrain object. */
const DEPTH_MAX = 32

/** Returns `view` with at most `max` characters: texts are cut, lists and maps lose entries. Members of view, metadata and conditions all stay. */
export function bounded<T extends object>(view: T, max: number): T {
  return roomBehind(view, max, 0) >= 0 ? view : (cut(view, { left: max }, 0) as T)
}

/** Returns what is left of `room` after `value`. Negative as soon as the value does not fit. */
function roomBehind(value: unknown, room: number, depth: number): number {
  if (typeof value === 'string') return room - value.length
  if (typeof value !== 'object' || value === null) return room - 1
  if (depth > DEPTH_MAX) return -1
  let left = room
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && left >= 0; at += 1) left = roomBehind(value[at], left - 1, depth + 1)
    return left
  }
  for (const key in value) {
    left = roomBehind((value as Record<string, unknown>)[key], left - key.length, depth + 1)
    if (left < 0) break
  }
  return left
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

/** Limits the number of finalizers, which is unbounded. Those that matter to the operator are always kept. */
export function keptFinalizers(
  finalizers: readonly string[] | undefined,
  matters: ReadonlySet<string>,
): readonly string[] | undefined {
  if (finalizers === undefined || finalizers.length < FINALIZERS_MAX) return finalizers
  const others = finalizers.filter((one) => !matters.has(one))
  return [...finalizers.filter((one) => matters.has(one)), ...others].slice(0, FINALIZERS_MAX)
}

/** Cuts a text of an object that anybody may write to the length of its target field. Returns an empty string if there is none. */
export function upTo(length: number, text: unknown): string {
  const value = String(text ?? '')
  // A copy: a substring would keep the whole string in memory.
  return value.length <= length ? value : Buffer.from(value.slice(0, length)).toString()
}
