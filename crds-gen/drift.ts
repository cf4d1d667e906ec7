export interface Drift {
  /** Path of the file in the folder of generated files. */
  readonly path: string
  readonly problem: 'differs' | 'is missing' | 'is not generated any more'
}

/** Returns how the files on disk differ from what would be generated. Both: path -> content. */
export function findDrift(wanted: ReadonlyMap<string, string>, present: ReadonlyMap<string, string>): Drift[] {
  const drifted = [...wanted].flatMap(([path, content]): Drift[] => {
    const found = present.get(path)
    if (found === content) return []
    return [{ path, problem: found === undefined ? 'is missing' : 'differs' }]
  })
  const stale = [...present.keys()].filter((path) => !wanted.has(path))
  return [...drifted, ...stale.map((path): Drift => ({ path, problem: 'is not generated any more' }))]
}
