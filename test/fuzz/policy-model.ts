import { POLICY_DEFAULTS, POLICY_SCHEMA, type Policy, type PolicyKeyName } from '@open-terrain/constructs/operator'
import type { PolicyValue, PolicyWrite } from './policy-writes.ts'

/** The policy as it must be: for each key the last usable value since the key was last absent, but for access to the internet. */
export class PolicyModel {
  policy: Policy = POLICY_DEFAULTS
  /** Keys of the current ConfigMap whose value is not used. */
  badKeys: readonly string[] = []
  /** Whether there was ever a usable `concurrency`. Before that, the ledger's limit applies. */
  isConcurrencyKnown = false

  take({ values, binary }: PolicyWrite): void {
    if (values === undefined) return
    const next: Record<string, unknown> = { ...POLICY_DEFAULTS }
    const badKeys = new Set<string>()
    const unusable: PolicyValue = { text: '' }
    for (const [key, { reading }] of [...Object.entries(values), ...binary.map((key) => [key, unusable] as const)]) {
      const field = Object.hasOwn(POLICY_SCHEMA, key) ? POLICY_SCHEMA[key as PolicyKeyName].field : undefined
      if (field === undefined || reading === undefined) badKeys.add(key)
      if (field !== undefined) next[field] = reading === undefined ? this.policy[field] : reading.value
      if (key === 'concurrency' && reading !== undefined) this.isConcurrencyKnown = true
    }
    this.policy = { ...(next as unknown as Policy), ...this.#closedOnDoubt(badKeys) }
    this.badKeys = [...badKeys, ...contradictions(values, this.policy)]
  }

  /** Access to the internet is not kept on an unusable value, nor while it is not known what it is to leave out. */
  #closedOnDoubt(badKeys: ReadonlySet<string>): Partial<Policy> {
    const { internetDeniedCidrs, clusterCidrs } = this.policy
    const isDoubted =
      badKeys.has('allowInternetAccess') ||
      (badKeys.has('internetDeniedCidrs') && internetDeniedCidrs.length === 0) ||
      (badKeys.has('clusterCidrs') && clusterCidrs === undefined)
    return isDoubted ? { allowInternetAccess: false } : {}
  }
}

/** Values that are valid on their own, but contradict another one: a longest wait may be shorter than the first one. */
function contradictions(values: NonNullable<PolicyWrite['values']>, { retryBackoffMs }: Policy): string[] {
  const { retryBackoffMax: longest } = values
  return longest?.reading !== undefined && Number(longest.reading.value) < retryBackoffMs ? ['retryBackoffMax'] : []
}
