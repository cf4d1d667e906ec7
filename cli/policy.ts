import { POLICY_DEFAULTS, POLICY_NAME, type Policy, parsePolicy } from '@open-terrain/constructs/operator'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../operator/kube/resource-types.ts'
import { CommandError } from './exit-codes.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** The ConfigMap of a policy. */
export type StoredPolicy = KubeObject & { readonly data?: Readonly<Record<string, string>> }

/** Returns the policy of the cluster with some other values, and tells where there is none. Throws a CommandError if one of those cannot be used, and ApiError. */
export async function policyOfCluster(
  client: KubeClient,
  namespace: string,
  changes: readonly string[],
  tell: Surroundings['tell'],
): Promise<Policy> {
  const stored = await find<StoredPolicy>(client, CONFIG_MAP, { namespace, name: POLICY_NAME })
  if (stored === undefined)
    tell(
      `there is no ConfigMap ${shown(`${POLICY_NAME} in namespace ${namespace}`)}: the defaults of the policy are taken; if the operator is in another namespace, say --operator-namespace\n`,
    )
  return changedPolicy(stored, changes)
}

/**
 * Returns a policy with some other values. Throws a CommandError if one of those cannot be used.
 * @param stored undefined: there is none
 * @param changes as `KEY=VALUE`
 */
export function changedPolicy(stored: StoredPolicy | undefined, changes: readonly string[]): Policy {
  const values = changes.map((text) => text.split(/=(.*)/s).slice(0, 2))
  const { policy, problems } = parsePolicy({ ...stored?.data, ...Object.fromEntries(values) }, POLICY_DEFAULTS)
  const wrong = problems.filter(({ key }) => values.some(([name]) => name === key))
  if (wrong.length > 0)
    throw new CommandError('usage', wrong.map(({ key, message }) => `${key}: ${message}`).join('; '))
  return policy
}
