import {
  type GeneratedWorkspaceSecret,
  isGeneratedSecret,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { isTerminating } from '../../../kube/kube-object.ts'
import { SECRET } from '../../../kube/resource-types.ts'
import type { WorkspaceWorld } from '../world.ts'
import { idOf } from './component.ts'

type GeneratedKeys = NonNullable<WorkspaceStatus['generatedKeys']>[number]

/** Returns the keys that a Secret has had, as the status remembers them: its own annotation goes back with it when an earlier version is put back. */
export function keysKnownOf({ generatedKeys = [] }: WorkspaceStatus, secret: string): readonly string[] {
  return generatedKeys.find(({ name }) => name === secret)?.keys ?? []
}

/** Returns the keys of a Secret that the spec asks for, that it has had, and that it does not have any more. */
export function keysLostOf(
  { workspace, secretKeys }: WorkspaceWorld,
  { name, generate }: GeneratedWorkspaceSecret,
): string[] {
  const { lacks = [], marked = [] } = secretKeys.get(name) ?? {}
  const had = new Set([...marked, ...keysKnownOf(workspace.status, name)])
  return generate.flatMap(({ key }) => (lacks.includes(key) && had.has(key) ? [key] : []))
}

/** Returns the keys that are told as lost. What is not known stays told. */
function keysToldIn(
  world: WorkspaceWorld,
  secret: GeneratedWorkspaceSecret,
  keys: readonly string[],
): readonly string[] {
  const child = world.children.get(idOf(SECRET.kind, secret.name))
  if (child === undefined || isTerminating(child)) return keys
  if (world.secretKeys.get(secret.name) !== undefined) return keysLostOf(world, secret)
  const told = keysToldOf(world.workspace.status).get(secret.name) ?? []
  return keys.filter((key) => told.includes(key))
}

/** By name of a Secret. One that the status before knew nothing of has none. */
function keysToldOf({ generatedKeys = [] }: WorkspaceStatus): ReadonlyMap<string, readonly string[]> {
  return new Map(generatedKeys.map(({ name, lost = [] }) => [name, lost]))
}

/** Returns the names of the Secrets of which another key is lost than the status before tells. Its message tells more than that, and changes without a loss. */
export function secretsLosingMore(before: WorkspaceStatus, after: WorkspaceStatus): ReadonlySet<string> {
  const told = keysToldOf(before)
  const more = (after.generatedKeys ?? []).filter(({ name, lost = [] }) => {
    const known = told.get(name)
    return known !== undefined && lost.some((key) => !known.includes(key))
  })
  return new Set(more.map(({ name }) => name))
}

/** Returns what the status is to remember, also while the spec cannot be read. A key that is not asked for any more is nobody's loss. */
export function generatedKeysIn(world: WorkspaceWorld): readonly GeneratedKeys[] {
  const { workspace, spec, secretKeys } = world
  if (!spec.ok) return workspace.status.generatedKeys ?? []
  return (spec.spec.secrets ?? []).filter(isGeneratedSecret).flatMap((secret): GeneratedKeys[] => {
    const { name, generate } = secret
    const had = new Set([
      ...(secretKeys.get(name)?.has ?? []),
      ...keysKnownOf(workspace.status, name),
      ...keysLostOf(world, secret),
    ])
    const keys = generate.flatMap(({ key }) => (had.has(key) ? [key] : []))
    const lost = keysToldIn(world, secret, keys)
    return keys.length === 0 ? [] : [{ name, keys, ...(lost.length > 0 && { lost: [...lost] }) }]
  })
}
