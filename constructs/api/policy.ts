import { formatDuration, parseDuration } from './duration.ts'
import type { Policy } from './policy-fields.ts'
import type { PolicyValues } from './policy-keys.ts'
import { POLICY_SCHEMA, type PolicyKey } from './policy-schema.ts'
import { withoutSecrets } from './policy-values.ts'
import { BASELINE_CAPABILITIES } from './policy-workspace-values.ts'
import { isSourceUrlAllowed } from './source-url.ts'

export { CONCURRENCY_MAX, NETWORK_DRIVERS, type NetworkDriver, type Policy } from './policy-fields.ts'
export type { PolicyValues } from './policy-keys.ts'

/** Name of the ConfigMap, in the operator's own namespace. */
export const POLICY_NAME = 'sync-operator-policy'
/** Name of the ConfigMap beside it, in which the operator says what it makes of the policy. */
export const POLICY_STATUS_NAME = 'sync-operator-policy-status'
/** Default namespace of the operator. */
export const OPERATOR_NAMESPACE = 'sync-operator'

/** The values of a policy without keys. Durations in milliseconds. */
export const POLICY_DEFAULTS: Policy = {
  concurrency: 4,
  retryLimit: 2,
  retryBackoffMs: 5 * 60_000,
  retryBackoffMaxMs: 60 * 60_000,
  attemptTimeoutMs: 6 * 3_600_000,
  stallTimeoutMs: 15 * 60_000,
  snapshotTimeoutMs: 3_600_000,
  reclaimPolicy: 'Delete',
  unreferencedTtlMs: 72 * 3_600_000,
  userReclaimPolicy: 'Retain',
  userUnreferencedTtlMs: undefined,
  keepSourceVolume: true,
  imageNamespace: 'vmdi-farm',
  imageUrlTemplate: undefined,
  defaultStorageClass: undefined,
  defaultSnapshotClass: undefined,
  defaultSecretRef: undefined,
  defaultCertConfigMap: undefined,
  defaultSourceType: undefined,
  defaultDiskSize: undefined,
  allowedSourceUrls: undefined,
  requireChecksum: false,
  networkDriver: 'bridge',
  attachableNetworks: [],
  allowedOverrides: [],
  localVolumeRoot: undefined,
  allowHostPorts: true,
  allowPrivileged: false,
  allowPrivilegedExec: false,
  allowedCapabilities: [...BASELINE_CAPABILITIES],
  allowedDevices: [],
  allowedServiceTypes: ['ClusterIP'],
  ansibleImage: undefined,
  sharedSecretNamespaces: [],
  allowInternetAccess: false,
  internetDeniedCidrs: [],
  workspaceQuota: undefined,
  clusterCidrs: undefined,
  vmProvisionTimeoutMs: 30 * 60_000,
  kickLimit: 3,
  workspaceLifetimeMs: undefined,
  workspaceLifetimeMaxMs: undefined,
  expiryNoticeMs: 3_600_000,
  resetGraceMs: 3_600_000,
  workspaceSnapshotLimit: 3,
}

/** Name of a key of the ConfigMap. */
export type PolicyKeyName = keyof PolicyValues

/** The keys of the ConfigMap, in the order of the reference. */
export const POLICY_KEYS = Object.keys(POLICY_SCHEMA) as readonly PolicyKeyName[]

/** What is wrong with a value of the policy. */
export interface PolicyProblem {
  /** Name of the key. */
  readonly key: string
  /** The value as found, shortened and without credentials, because Events show it. */
  readonly value: string
  /** What it must be. */
  readonly message: string
  /** What applies instead of the value. If absent, the last good value or the default applies, or nothing if the key is unknown. */
  readonly instead?: string
}

/** What was read from the ConfigMap. */
export interface ParsedPolicy {
  /** The policy that applies. */
  readonly policy: Policy
  /** What is wrong with its values. */
  readonly problems: readonly PolicyProblem[]
}

/**
 * Parses the data of the ConfigMap, each key independently: an invalid value keeps the last good one, a missing key has its default, and an unknown
 * key is only reported as a problem. Whitespace around a value is ignored. Access to the internet is not kept on a doubt: an invalid
 * `allowInternetAccess` counts as false, and so does it while `internetDeniedCidrs` or `clusterCidrs` is invalid and has no last good value.
 * @param data data of an existing ConfigMap. Undefined means no keys, and a null value is one that is not text. If the ConfigMap is deleted, the
 *   caller must keep the current policy and not call this function.
 * @param lastGood the policy that applies now
 */
export function parsePolicy(data: Readonly<Record<string, string | null>> | undefined, lastGood: Policy): ParsedPolicy {
  const given = new Map(Object.entries(data ?? {}))
  const policy: Record<string, unknown> = { ...POLICY_DEFAULTS }
  const problems: PolicyProblem[] = []
  for (const [name, { field, schema }] of Object.entries<PolicyKey>(POLICY_SCHEMA)) {
    const value = given.get(name)
    given.delete(name)
    if (value === undefined) continue
    const result = schema.safeParse(value?.trim())
    policy[field] = result.success ? result.data : lastGood[field]
    if (result.success) continue
    const problem = value === null ? NO_TEXT : (result.error.issues[0]?.message ?? 'is not valid')
    problems.push({ key: name, value: shownValue(value), message: problem, ...insteadOfOpening(field, lastGood) })
  }
  if (problems.some(({ instead }) => instead !== undefined)) policy.allowInternetAccess = false
  problems.push(...contradictions(policy as unknown as Policy, data))
  for (const [name, value] of given)
    problems.push({ key: shownValue(name), value: shownValue(value), message: 'is not a key of the policy' })
  return { policy: policy as unknown as Policy, problems }
}

/** Says what applies instead of an invalid value that would open the internet, or more of it, than somebody meant. Nothing for others. */
function insteadOfOpening(
  field: keyof Policy,
  { internetDeniedCidrs, clusterCidrs }: Policy,
): Pick<PolicyProblem, 'instead'> {
  if (field === 'allowInternetAccess')
    return { instead: 'it counts as false, and access to the internet is taken away' }
  const isDoubted =
    (field === 'internetDeniedCidrs' && internetDeniedCidrs.length === 0) ||
    (field === 'clusterCidrs' && clusterCidrs === undefined)
  if (!isDoubted) return {}
  return { instead: 'no last valid value is known, so allowInternetAccess counts as false until it is corrected' }
}

/** Reports values that are valid individually but not together. */
function contradictions(
  { retryBackoffMs, retryBackoffMaxMs }: Policy,
  data: Readonly<Record<string, string | null>> | undefined,
): PolicyProblem[] {
  const { retryBackoffMax: value } = data ?? {}
  if (typeof value !== 'string' || parseDuration(value.trim()) !== retryBackoffMaxMs) return []
  if (retryBackoffMaxMs >= retryBackoffMs) return []
  const message = 'must not be less than retryBackoffDuration'
  const instead = `the longest wait is retryBackoffDuration, ${formatDuration(retryBackoffMs)}`
  return [{ key: 'retryBackoffMax', value: shownValue(value), message, instead }]
}

/** Reports whether the policy allows fetching an image from this URL. See `isSourceUrlAllowed`. */
export function isUrlAllowed(url: string, policy: Pick<Policy, 'allowedSourceUrls'>): boolean {
  return isSourceUrlAllowed(url, policy.allowedSourceUrls)
}

/** Returns the default of a key as it is written in the ConfigMap, or undefined if it has none. */
export function policyDefaultText(name: PolicyKeyName): string | undefined {
  return valueText(POLICY_DEFAULTS, name)
}

/** Returns the values of a policy as they can be written in the ConfigMap, by key. An empty text means none. */
export function policyTexts(policy: Policy): Readonly<Record<PolicyKeyName, string>> {
  const texts = POLICY_KEYS.map((name) => [name, valueText(policy, name) ?? ''])
  return Object.fromEntries(texts) as Record<PolicyKeyName, string>
}

function valueText(policy: Policy, name: PolicyKeyName): string | undefined {
  const { field } = POLICY_SCHEMA[name]
  const value = policy[field]
  if (value === undefined) return undefined
  if (field.endsWith('Ms')) return formatDuration(value as number)
  if (typeof value !== 'object' || Array.isArray(value)) return String(value)
  return Object.entries(value)
    .map(([key, one]) => `${key}=${one}`)
    .join(',')
}

const NO_TEXT = 'must be a text: write it under data, not under binaryData'
const SHOWN_MAX = 64

function shownValue(value: string | null): string {
  const text = withoutSecrets(value ?? '')
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX - 1)}…`
}
