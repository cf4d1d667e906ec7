/** The same function, carried out once for each object that it is given: a cache hands out the same one until it changes. */
export function onceForEach<T>(work: (value: unknown) => T): (value: unknown) => T {
  const results = new WeakMap<object, { readonly result: T }>()
  return (value) => {
    if (typeof value !== 'object' || value === null) return work(value)
    const known = results.get(value) ?? { result: work(value) }
    results.set(value, known)
    return known.result
  }
}
