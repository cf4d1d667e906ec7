import { k8s } from 'cdk8s-plus-29'
import type { Construct } from 'constructs'
import { formatDuration } from '../api/duration.ts'
import {
  OPERATOR_NAMESPACE,
  POLICY_DEFAULTS,
  POLICY_NAME,
  type PolicyValues,
  parsePolicy,
  policyTexts,
} from '../api/policy.ts'

/** Values of the policy, and where it is. */
export interface SyncOperatorPolicyProps extends PolicyValues {
  /** Namespace of the operator. @default `sync-operator` */
  readonly namespace?: string
}

/**
 * The global policy as a ConfigMap, with every key: a key that is not chosen has its default, or an empty text, which means none. So a key that somebody
 * adds in the cluster is a difference to what is installed, which tools show. Throws at synth, naming key and value, if the operator would refuse a value.
 */
export class SyncOperatorPolicy extends k8s.KubeConfigMap {
  constructor(scope: Construct, id: string, props: SyncOperatorPolicyProps = {}) {
    const { namespace = OPERATOR_NAMESPACE, ...values } = props
    const data = withDefaults(policyData(values))
    const { problems } = parsePolicy(data, POLICY_DEFAULTS)
    if (problems.length > 0) {
      const lines = problems.map(({ key, value, message }) => `${key}: ${JSON.stringify(value)} ${message}`)
      throw new Error(`${scope.node.path}/${id}: the policy is not valid\n  ${lines.join('\n  ')}`)
    }
    super(scope, id, { metadata: { name: POLICY_NAME, namespace }, data })
  }
}

/** Adds the keys that are not chosen. They change nothing: all keys mean the same as without them. */
function withDefaults(chosen: Readonly<Record<string, string>>): Record<string, string> {
  const { retryBackoffMaxMs, retryBackoffMs } = parsePolicy(chosen, POLICY_DEFAULTS).policy
  // Written down, a default that the other key exceeds would be a contradiction.
  const longest: Record<string, string> =
    retryBackoffMaxMs < retryBackoffMs ? { retryBackoffMax: formatDuration(retryBackoffMs) } : {}
  return { ...policyTexts(POLICY_DEFAULTS), ...longest, ...chosen }
}

/** Returns the values as they are in the ConfigMap, unchecked. */
export function policyData(values: PolicyValues): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([key, value]) => [key, textOf(key, value)]))
}

/**
 * Lists become lines, and records become lines of `name=value`. An empty list of URLs would become an empty text, which allows every URL: it stays
 * a text that the operator refuses.
 */
function textOf(key: string, value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 && key === 'allowedSourceUrls' ? '[]' : value.join('\n')
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([name, one]) => `${name}=${one}`)
    .join('\n')
}
