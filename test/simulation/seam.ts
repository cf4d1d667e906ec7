/** An export of a product module, and what a mutant replaces it with. */
export interface Seam {
  readonly load: () => Promise<object>
  readonly exported: string
  /** @param module all exports of the module, for what else a mutant needs: its file imports only types from the product */
  readonly replace: (original: unknown, module: object) => unknown
}

/**
 * A seam by name, which the compiler checks like any import: if it is moved or renamed, its mutants follow. Only what other modules
 * import is replaced; calls within the module use the original.
 */
export function seam<M extends object, N extends keyof M & string>(
  load: () => Promise<M>,
  exported: N,
  replace: (original: M[N], module: M) => M[N],
): Seam {
  return { load, exported, replace: replace as Seam['replace'] }
}

/** Returns the object with some of its members replaced. */
export function altered<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(name in members ? members : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
