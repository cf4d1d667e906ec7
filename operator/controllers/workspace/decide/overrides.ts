import {
  notAllowedOverride,
  type OverrideRoot,
  type Policy,
  readOverrides,
  whyNotAllowed,
} from '@open-terrain/constructs'
import { type ComponentStanding, componentFailed } from './component.ts'

/** Returns the standing of a member whose overrides are refused. */
export function refusedOverrides(
  root: OverrideRoot,
  overrides: Readonly<Record<string, unknown>> | undefined,
  { allowedOverrides }: Pick<Policy, 'allowedOverrides'>,
): ComponentStanding | undefined {
  if (overrides === undefined) return undefined
  const read = readOverrides(root, overrides)
  const value = read.ok ? notAllowedOverride(root, read.values, allowedOverrides) : undefined
  const refused = read.ok ? value && whyNotAllowed(root, value) : read.refused
  return refused && componentFailed('OverrideNotAllowed', `overrides: ${refused.path} ${refused.why}`)
}
