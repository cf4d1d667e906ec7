/** Reports whether both are equal as JSON, regardless of the order of their members. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => isSame(item, b[at]))
  if (!isRecord(a) || !isRecord(b)) return false
  for (const key in a) if (!isSame(a[key], b[key])) return false
  for (const key in b) if (b[key] !== undefined && a[key] === undefined) return false
  return true
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Removes undefined members, which would make two equal statuses look different. */
export function withoutUndefined<T extends object>(value: T): T {
  const defined: Partial<T> = {}
  for (const key in value) if (value[key] !== undefined) defined[key] = value[key]
  return defined as T
}
