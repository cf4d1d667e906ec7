/** Objects as in JSON: no undefined members and no prototypes. Here they are also deep-frozen, so that they can be shared. */

/** Returns a deep-frozen copy of `value` as JSON. Parts that are already deep-frozen are shared, not copied. */
export function frozenCopy<T>(value: T): T {
  return freeze(value) as T
}

function freeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || isDeepFrozen(value)) return value
  if (Array.isArray(value)) return Object.freeze(value.map((item) => (item === undefined ? null : freeze(item))))
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue
    // A member of this name is data. Assigning it would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: freeze(member), enumerable: true })
    else copy[key] = freeze(member)
  }
  return Object.freeze(copy)
}

function isDeepFrozen(value: object): boolean {
  if (!Object.isFrozen(value)) return false
  const members: Record<string, unknown> = value as Record<string, unknown>
  for (const key in members) {
    const member = members[key]
    if (member === undefined) return false
    if (typeof member === 'object' && member !== null && !isDeepFrozen(member)) return false
  }
  return true
}

/** Reports whether both are the same JSON, regardless of the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  let members = 0
  for (const key in left) {
    if (left[key] === undefined) continue
    members += 1
    if (!isSameJson(left[key], right[key])) return false
  }
  for (const key in right) if (right[key] !== undefined) members -= 1
  return members === 0
}

/** Applies a JSON merge patch (RFC 7386). Shares the parts that the patch does not change. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const merged: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue
    if (value === null) delete merged[key]
    else merged[key] = mergePatched(merged[key], value)
  }
  return merged
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
