/** Something that a module of the product exports, and what a mutant puts in its place. */
export interface Seam {
  readonly load: () => Promise<object>
  readonly exported: string
  /** @param module all that the module exports, for what else it takes: the file of a mutant imports types alone from the product */
  readonly replace: (original: unknown, module: object) => unknown
}

/**
 * A seam by its name, which the compiler checks as it checks any import: what is moved or renamed takes its mutants along. Only what
 * other modules import is replaced; calls within the module reach the original.
 */
export function seam<M extends object, N extends keyof M & string>(
  load: () => Promise<M>,
  exported: N,
  replace: (original: M[N], module: M) => M[N],
): Seam {
  return { load, exported, replace: replace as Seam['replace'] }
}

/** The same object, but for some of its members. */
export function altered<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      const value: unknown = Reflect.get(name in members ? members : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
