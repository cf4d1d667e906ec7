import type { AccessRule } from '@open-terrain/constructs/platform'
import type { Use } from './uses.ts'

/** One verb on one kind of objects. */
interface Grant {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly resourceNames: readonly string[] | undefined
  readonly isOwn: boolean
}

export interface Rights {
  /** In every namespace. */
  readonly cluster: readonly AccessRule[]
  /** In the operator's own. */
  readonly own: readonly AccessRule[]
}

/** Permissions that no audit log shows, as `verb resource`, with who checks them. */
export type Unseen = Readonly<Record<string, string>>

/**
 * Describes permissions that are granted but never used, and those that are used but not granted. A permission in every namespace
 * counts as used only if it was used outside the operator's own namespace: otherwise it should be granted only there.
 */
export function differences({ cluster, own }: Rights, uses: readonly Use[], unseen: Unseen): readonly string[] {
  const grants = [...grantsOf(cluster, false), ...grantsOf(own, true)]
  const used = new Set(uses.filter((use) => use.isAllowed).map((use) => grantFor(use, grants)))
  const unused = grants.filter((grant) => !used.has(grant) && unseen[labelOf(grant)] === undefined)
  const lacking = uses.filter((use) => !grants.some((grant) => covers(grant, use)))
  const seen = grants.filter((grant) => used.has(grant) && unseen[labelOf(grant)] !== undefined)
  const idle = Object.keys(unseen).filter((label) => !grants.some((grant) => labelOf(grant) === label))
  return [
    ...unused.map((grant) => `${wordsOf(grant)} is granted and never used: take it out${hintOf(grant, uses)}`),
    ...new Set(lacking.map((use) => `${wordsOf(use)} is used and not granted`)),
    ...seen.map(
      (grant) => `${wordsOf(grant)} is in the list of what no audit log shows, but was seen: take it off the list`,
    ),
    ...idle.map(
      (label) => `${label} is in the list of what no audit log shows, but is not granted: take it off the list`,
    ),
  ]
}

function grantsOf(rules: readonly AccessRule[], isOwn: boolean): readonly Grant[] {
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource, resourceNames, isOwn }))),
    ),
  )
}

/** Its grant, with the same reach: a use in the own namespace is none of a grant in every namespace. */
function grantFor(use: Use, grants: readonly Grant[]): Grant | undefined {
  return grants.find((grant) => grant.isOwn === use.isOwn && covers(grant, use))
}

function covers(grant: Grant, use: Use): boolean {
  const { verb, group, resource, resourceNames, isOwn } = grant
  const isOfKind = verb === use.verb && group === use.group && resource === use.resource
  return isOfKind && (!isOwn || use.isOwn) && resourceNames?.includes(use.name ?? '') !== false
}

function hintOf(grant: Grant, uses: readonly Use[]): string {
  return !grant.isOwn && uses.some((use) => use.isOwn && use.isAllowed && covers(grant, use))
    ? ', or grant it in the own namespace alone'
    : ''
}

function labelOf({ verb, resource }: Grant): string {
  return `${verb} ${resource}`
}

function wordsOf({ verb, group, resource, isOwn }: Pick<Grant, 'verb' | 'group' | 'resource' | 'isOwn'>): string {
  const what = group === '' ? resource : `${resource} of ${group}`
  return `${verb} ${what} ${isOwn ? 'in the own namespace' : 'in every namespace'}`
}
