import type { k8s } from 'cdk8s-plus-29'
import type { AccessRule } from './access.ts'

/** Converts rules to those of Roles and ClusterRoles. */
export function policyRules(rules: readonly AccessRule[]): k8s.PolicyRule[] {
  return rules.map(({ apiGroups, resources, verbs, resourceNames }) => ({
    apiGroups: [...apiGroups],
    resources: [...resources],
    verbs: [...verbs],
    ...(resourceNames === undefined ? {} : { resourceNames: [...resourceNames] }),
  }))
}
