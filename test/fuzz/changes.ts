import type fc from 'fast-check'

export type Path = readonly (string | number)[]
/** Something odd, at its place in a spec. */
export type Change = readonly [path: Path, value: unknown]

export const at = <T>(path: Path, value: fc.Arbitrary<T>): fc.Arbitrary<Change> =>
  value.map((one) => [path, one] as const)

/** A copy with the value at its place, or without it where an earlier change has taken the place away. */
export function changed(whole: unknown, [path, value]: Change): unknown {
  const [field, ...rest] = path
  if (field === undefined) return value
  if (typeof whole !== 'object' || whole === null) return whole
  if (Array.isArray(whole)) return whole.map((item, index) => (index === field ? changed(item, [rest, value]) : item))
  const others = Object.entries(whole).filter(([name]) => name !== field)
  const old = Object.entries(whole).find(([name]) => name === field)?.[1]
  // As JSON.parse would: a field `__proto__` is a field like any other.
  return Object.fromEntries([...others, [field, changed(old, [rest, value])]])
}
