import { GROUP, VERSION } from '../api/shared.ts'
import { workspace } from '../api/workspace.ts'
import { WORKSPACE_LIMITS } from '../api/workspace-limits.ts'
import { matchConstraints } from './match-constraints.ts'
import { isChanged, sentence } from './policy-words.ts'

/** Fields of a Workspace with which its members can read the Secrets in its namespace. */
const READERS = ['vms', 'containerClusters', 'ansible'] as const

const COPIED = (at: number) => `variables.sources[${at}]`

/**
 * The operator copies Secrets with its own rights, for any user who can write a Workspace. So the right of the user is checked when the Workspace is written:
 * who may read a Secret may have it copied. A source that the Workspace had before is judged again only if
 * what can read the copy changes and nobody owns the Workspace: anybody who may write it could then do that. Each has an expression of its own, for the same reason
 * as the images of disks. The operator copies nothing new while it does not see this policy, as it is here, and its binding.
 */
export const SECRET_COPY_POLICY = {
  failurePolicy: 'Fail',
  matchConstraints: matchConstraints({
    apiGroups: [GROUP],
    apiVersions: [VERSION],
    operations: ['CREATE', 'UPDATE'],
    resources: [workspace.plural],
  }),
  matchConditions: [
    { name: 'asks-for-a-secret', expression: isChanged('secrets', ...READERS) },
    { name: 'of-another-namespace', expression: 'object.?spec.?secrets.orValue([]).exists(one, has(one.from))' },
  ],
  variables: [
    {
      name: 'had',
      expression: `request.operation == 'CREATE' || (oldObject.?spec.?owners.orValue([]).size() == 0 && (${isChanged(...READERS)})) ? [] : oldObject.?spec.?secrets.orValue([]).filter(one, has(one.from)).map(one, one.from)`,
    },
    {
      name: 'sources',
      expression: 'object.spec.secrets.filter(one, has(one.from) && !(one.from in variables.had)).map(one, one.from)',
    },
  ],
  validations: Array.from({ length: WORKSPACE_LIMITS.secrets }, (_none, at) => ({
    expression: `variables.sources.size() <= ${at} || authorizer.group('').resource('secrets').namespace(${COPIED(at)}.namespace).name(${COPIED(at)}.name).check('get').allowed()`,
    reason: 'Forbidden',
    message: 'spec.secrets copies a Secret that you may not read',
    messageExpression: sentence(
      `user "{request.userInfo.username}" may not read Secret "{${COPIED(at)}.name}" of namespace "{${COPIED(at)}.namespace}", `,
      `of which spec.secrets has a copy: this needs the verb "get" on secrets there, such as from a Role with this resourceName`,
    ),
  })),
} as const
