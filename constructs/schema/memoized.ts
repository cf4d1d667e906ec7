/** Returns `work` with its result memoized per object: a cache returns the same object until it changes. */
export function memoized<V, T>(work: (value: V) => T): (value: V) => T {
  const results = new WeakMap<object, { readonly result: T }>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return work(value)
    const known = results.get(value)
    if (known !== undefined) return known.result
    const result = work(value)
    results.set(value, { result })
    return result
  }
}

/**
 * Returns `work` with its last results, of at most `most` arguments. For results that would take too much memory if each object in a cache had one.
 * @param keyOf returns what tells arguments apart. Default: each object is another one
 */
export function memoizedLately<V, T>(
  most: number,
  work: (value: V) => T,
  keyOf: (value: V) => unknown = (value) => value,
): (value: V) => T {
  const results = new Map<unknown, { readonly result: T }>()
  return (value) => {
    const key = keyOf(value)
    const known = results.get(key)
    if (known !== undefined) return known.result
    const result = work(value)
    results.set(key, { result })
    // The first one is the eldest.
    if (results.size > most) results.delete(results.keys().next().value)
    return result
  }
}
