import { isSame } from './equality.ts'

/** Returns `work` with its result memoized per object: a cache returns the same object until it changes. */
export function memoized<V, T>(work: (value: V) => T): (value: V) => T {
  const results = new WeakMap<object, { readonly result: T }>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return work(value)
    const known = results.get(value) ?? { result: work(value) }
    results.set(value, known)
    return known.result
  }
}

/** Returns the object with its earlier spec if both are equal, so that memoized results of the spec stay valid while only the status changes. */
export function withKnownSpec<T extends { readonly spec: unknown }>(object: T, before: T | undefined): T {
  return before !== undefined && isSame(before.spec, object.spec) ? { ...object, spec: before.spec } : object
}
