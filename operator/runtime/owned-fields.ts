/**
 * Whether every field that we want is in the object as it is. Fields of others (defaults of the server, annotations of
 * controllers, the status) do not count; lists are compared whole.
 */
export function ownsEqual(wanted: unknown, actual: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) &&
      wanted.length === actual.length &&
      wanted.every((item, at) => ownsEqual(item, actual[at]))
    )
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === actual
  if (typeof actual !== 'object' || actual === null) return false
  return Object.entries(wanted).every(
    ([key, value]) => value === undefined || ownsEqual(value, (actual as Record<string, unknown>)[key]),
  )
}
