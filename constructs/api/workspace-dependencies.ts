type Dependents = ReadonlyMap<string, { readonly dependsOn: readonly string[] }>

/**
 * Returns why a member of a workspace can never be created, because of its `dependsOn`, as a sentence without its end; undefined if it can.
 * @param members all of them, by name
 */
export function wrongDependency(members: Dependents, name: string): string | undefined {
  return wrongDependencies(members, name)[0]
}

/** Returns all such reasons. */
export function wrongDependencies(members: Dependents, name: string): readonly string[] {
  const dependsOn = members.get(name)?.dependsOn ?? []
  const unknown = dependsOn
    .filter((one) => !members.has(one))
    .map(
      (one) =>
        `dependsOn names ${one}, which is no machine or container cluster of the workspace: correct it, or remove it there`,
    )
  if (dependsOn.includes(name)) return [`dependsOn names ${name} itself: remove it there`, ...unknown]
  const circle = circleFrom(members, name)
  if (circle === undefined) return unknown
  return [
    ...unknown,
    `dependsOn leads from ${name} back to it (${circle.join(', ')}), so none of them can be the first: remove one of these names there`,
  ]
}

/** Returns a shortest way from a member back to itself, if there is one. */
function circleFrom(members: Dependents, name: string): string[] | undefined {
  const ways = new Map<string, string[]>([[name, [name]]])
  for (const [at, way] of ways) {
    for (const next of members.get(at)?.dependsOn ?? []) {
      if (next === name) return [...way, next]
      if (!ways.has(next)) ways.set(next, [...way, next])
    }
  }
  return undefined
}
