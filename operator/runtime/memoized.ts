import { isSame } from './owned-fields.ts'

/** The same function, carried out once for each object that it is given: a cache hands out the same one until it changes. */
export function memoized<V, T>(work: (value: V) => T): (value: V) => T {
  const results = new WeakMap<object, { readonly result: T }>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return work(value)
    const known = results.get(value) ?? { result: work(value) }
    results.set(value, known)
    return known.result
  }
}

/** The object with the spec of its earlier version, where it says the same: what was made of that stays good while only the status moves. */
export function withKnownSpec<T extends { readonly spec: unknown }>(object: T, before: T | undefined): T {
  return before !== undefined && isSame(before.spec, object.spec) ? { ...object, spec: before.spec } : object
}
