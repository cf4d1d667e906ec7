import { intern } from './interned.ts'

/**
 * What caches keep of objects that anybody may write. The API server bounds an object to 1.5 MB and hardly any text in it, so
 * without bounds of our own the caches would be as large as somebody likes.
 */

/** Characters that an object in a cache may have. Several times what those have that people and controllers write in good faith. */
export const KEPT_MAX = 8_000
const VALUE_MAX = 253
/** A list as long as that may have been cut: what is to replace it has to be made of the one that is stored. */
export const FINALIZERS_MAX = 32
/** Deeper than anything that is kept of an Open Terrain object. */
const DEPTH_MAX = 32

/**
 * `view` itself where it has no more than `max` characters; otherwise a copy that ends there: texts are cut, lists and maps have
 * fewer entries. The view's own members, and those of its metadata and conditions, are all there, whatever they hold.
 */
export function bounded<T extends object>(view: T, max: number): T {
  return roomBehind(view, max, 0) >= 0 ? view : (cut(view, { left: max }, 0) as T)
}

/** What `value` leaves of `room`; negative as soon as it does not fit. */
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

/** Of that many members at most, and that close to the top: what a view is made of, and no map of somebody's. */
const SHAPE = { depth: 1, members: 32 }

function cut(value: unknown, room: { left: number }, depth: number): unknown {
  if (typeof value === 'string') {
    const text = value.length <= room.left ? value : cutText(value, room.left)
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

/** Labels or annotations that matter to the operator, each no longer than its own get; undefined where there are none. */
export function picked(
  from: Readonly<Record<string, string>> | undefined,
  wanted: readonly string[] = [],
): Readonly<Record<string, string>> | undefined {
  let found: Record<string, string> | undefined
  for (const key of wanted) {
    const value = from?.[key]
    if (value === undefined) continue
    found ??= {}
    found[key] = intern(value.length <= VALUE_MAX ? value : cutText(value, VALUE_MAX))
  }
  return found
}

/** Finalizers, of which there may be any number; those that matter to us stay, whatever else there is. */
export function keptFinalizers(
  finalizers: readonly string[] | undefined,
  matters: ReadonlySet<string>,
): readonly string[] | undefined {
  if (finalizers === undefined || finalizers.length < FINALIZERS_MAX) return finalizers
  const others = finalizers.filter((one) => !matters.has(one))
  return [...finalizers.filter((one) => matters.has(one)), ...others].slice(0, FINALIZERS_MAX)
}

/** A text of an object that anybody may write, no longer than the field that it goes into. Empty where there is none. */
export function upTo(length: number, text: unknown): string {
  const value = String(text ?? '')
  return value.length <= length ? value : cutText(value, length)
}

/** On its own: a part of a string keeps all of it in memory. */
function cutText(text: string, length: number): string {
  return Buffer.from(text.slice(0, length)).toString()
}
