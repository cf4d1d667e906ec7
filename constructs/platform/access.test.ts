import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OWNER_ROLES } from '../children/workspace-owners.ts'
import { CLUSTER_ACCESS, CLUSTER_GRANTS, type Grant, NAMESPACE_ACCESS, NAMESPACE_GRANTS } from './access.ts'
import { CONFINED } from './operator-confinement.ts'

const DOCS = readFileSync(join(import.meta.dirname, '../../docs/access.md'), 'utf8')

/** Returns each verb on each kind, with the names that it is limited to. */
function verbsOf(grants: readonly Grant[]): string[] {
  return grants.flatMap(({ rule: { apiGroups, resources, verbs, resourceNames = [] } }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => [verb, group, resource, ...resourceNames].join(' '))),
    ),
  )
}

/** Returns the row as it is in `docs/access.md`. */
function rowOf({ rule: { apiGroups, resources, verbs, resourceNames }, reason }: Grant): string {
  const group = apiGroups.join() === '' ? '' : ` (${apiGroups.join()})`
  const names = resourceNames === undefined ? '' : ` named ${resourceNames.map((name) => `\`${name}\``).join(', ')}`
  return [`${resources.map((one) => `\`${one}\``).join(', ')}${group}${names}`, verbs.join(', '), reason].join(' | ')
}

/** Returns the row as it is in `docs/access.md`. */
function confinedRowOf({ groups, onlyIf }: (typeof CONFINED)[number]): string {
  const kinds = Object.entries(groups).map(([group, resources]) => {
    const names = resources.map((one) => `\`${one}\``).join(', ')
    return group === '' ? names : `${names} (${group})`
  })
  return [kinds.join(', '), onlyIf].join(' | ')
}

/** The formatter pads tables. */
const rows = DOCS.split('\n').map((line) => line.replace(/^\| +| +\|$/g, '').replaceAll(/ +\| +/g, ' | '))

describe('what the operator may do', () => {
  it('is granted once, and without wildcards', () => {
    for (const grants of [CLUSTER_GRANTS, NAMESPACE_GRANTS]) {
      const verbs = verbsOf(grants)
      expect(verbs.filter((one, at) => verbs.indexOf(one) !== at)).toEqual([])
      expect(verbs.filter((one) => one.includes('*'))).toEqual([])
    }
  })

  it.each([...CLUSTER_GRANTS, ...NAMESPACE_GRANTS].map(rowOf))('is in docs/access.md: %s', (row) => {
    expect(rows, `add this row to the tables of docs/access.md: | ${row} |`).toContain(row)
  })

  it.each(CONFINED.map(confinedRowOf))('is confined, and docs/access.md says how: %s', (row) => {
    expect(rows, `add this row to the table of what it may write: | ${row} |`).toContain(row)
  })

  it('is no more in docs/access.md than it is', () => {
    const section = DOCS.slice(DOCS.indexOf("## The operator's own rights"))
    const documented = CLUSTER_ACCESS.length + NAMESPACE_ACCESS.length + CONFINED.length
    expect([...section.matchAll(/^\| `/gm)]).toHaveLength(documented)
  })

  it('is nothing that would give it the rights of others, or let it run pods by itself', () => {
    const kinds = new Set([...CLUSTER_ACCESS, ...NAMESPACE_ACCESS].flatMap(({ resources }) => resources))
    const powerful = ['roles', 'clusterroles', 'clusterrolebindings', 'serviceaccounts']
    expect(powerful.filter((kind) => kinds.has(kind))).toEqual(['clusterroles'])
    // It may create RoleBindings for these, and others only with rights that it has itself.
    const ofRoles = CLUSTER_ACCESS.filter(({ resources }) => resources.includes('clusterroles'))
    expect(ofRoles.map(({ verbs, resourceNames }) => [verbs, resourceNames])).toEqual([
      [['bind'], Object.values(OWNER_ROLES)],
    ])
    // The ranges of their pods, and nothing else: no subresource such as nodes/proxy, and no write.
    const ofNodes = CLUSTER_ACCESS.filter(({ resources }) => resources.some((one) => /^nodes?\b/.test(one)))
    expect(ofNodes.map(({ resources, verbs }) => [resources, verbs])).toEqual([[['nodes'], ['list']]])
    // A patch removes the scheduling gate of a pod. What a pod runs comes from its Deployment.
    const writable = CLUSTER_ACCESS.filter(({ verbs }) => verbs.some((verb) => ['create', 'update'].includes(verb)))
    expect(writable.flatMap(({ resources }) => resources)).not.toContain('pods')
  })
})
