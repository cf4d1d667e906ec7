/** Returns the name that somebody may have meant; undefined if none is near. */
export function nearestTo(written: string, names: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(written.length / 3))
  const near = names
    .map((name) => ({ name, changes: changesBetween(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ changes }) => changes <= most)
  return near.toSorted((one, other) => one.changes - other.changes)[0]?.name
}

/** Letters that are added, left out or replaced (Levenshtein). */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (const [to, wanted] of [...other].entries()) {
      const replaced = (row[to] ?? 0) + (letter === wanted ? 0 : 1)
      next.push(Math.min(replaced, (row[to + 1] ?? 0) + 1, (next[to] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}
