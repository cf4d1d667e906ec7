import type { WorkspaceSecret, WorkspaceStatus } from '@open-terrain/constructs'
import type { WorkspaceWorld } from '../world.ts'

type GeneratedKeys = NonNullable<WorkspaceStatus['generatedKeys']>[number]

/** Returns the keys that a Secret has had, as the status remembers them: its own annotation goes back with it when an earlier version is put back. */
export function keysKnownOf({ generatedKeys = [] }: WorkspaceStatus, secret: string): readonly string[] {
  return generatedKeys.find(({ name }) => name === secret)?.keys ?? []
}

/** Returns the keys of a Secret that the spec asks for, that it has had, and that it does not have any more. */
export function keysLostOf({ workspace, secretKeys }: WorkspaceWorld, { name, generate }: WorkspaceSecret): string[] {
  const { lacks = [], marked = [] } = secretKeys.get(name) ?? {}
  const had = new Set([...marked, ...keysKnownOf(workspace.status, name)])
  return generate.flatMap(({ key }) => (lacks.includes(key) && had.has(key) ? [key] : []))
}

/** Returns what the status is to remember, also while the spec cannot be read. A key that is not asked for any more is nobody's loss. */
export function generatedKeysIn(world: WorkspaceWorld): readonly GeneratedKeys[] {
  const { workspace, spec, secretKeys } = world
  if (!spec.ok) return workspace.status.generatedKeys ?? []
  return (spec.spec.secrets ?? []).flatMap((secret): GeneratedKeys[] => {
    const { name, generate } = secret
    const had = new Set([
      ...(secretKeys.get(name)?.has ?? []),
      ...keysKnownOf(workspace.status, name),
      ...keysLostOf(world, secret),
    ])
    const keys = generate.flatMap(({ key }) => (had.has(key) ? [key] : []))
    return keys.length === 0 ? [] : [{ name, keys }]
  })
}
