import {
  notAllowedOverride,
  type OverrideRoot,
  overridePath,
  type Policy,
  type RefusedOverride,
  readOverrides,
  whyNotAllowed,
} from '@open-terrain/constructs/operator'
import { type ComponentSummary, componentFailed } from './component.ts'

/**
 * Returns the summary of a member whose overrides are refused.
 * @param names paths of the items that the member has, where only these can be overridden. Default: whoever renders it knows them.
 */
export function refusedOverrides(
  root: OverrideRoot,
  overrides: Readonly<Record<string, unknown>> | undefined,
  { allowedOverrides }: Pick<Policy, 'allowedOverrides'>,
  names?: ReadonlySet<string>,
): ComponentSummary | undefined {
  const refused = overrides && refusedIn(root, overrides, allowedOverrides, names)
  return refused && componentFailed('OverrideNotAllowed', `overrides: ${refused.path} ${refused.why}`)
}

function refusedIn(
  root: OverrideRoot,
  overrides: Readonly<Record<string, unknown>>,
  allowed: readonly string[],
  names: ReadonlySet<string> | undefined,
): RefusedOverride | undefined {
  const read = readOverrides(root, overrides)
  if (!read.ok) return read.refused
  const refused = notAllowedOverride(root, read.values, allowed)
  if (refused !== undefined) return whyNotAllowed(root, refused)
  const items = read.values.flatMap(({ among }) => (among === undefined ? [] : [overridePath(among)]))
  const missing = names && items.find((item) => !names.has(item))
  return missing === undefined ? undefined : { path: missing, why: 'is not there: the member has no item of that name' }
}
