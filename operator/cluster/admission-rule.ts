import { isSame } from '../base/equality.ts'
import { fromTime } from '../base/time.ts'
import { isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeClient } from '../kube/kube-client.ts'
import { type KubeObject, managedFieldsOf, type Raw } from '../kube/kube-object.ts'
import { ADMISSION_POLICY, ADMISSION_POLICY_BINDING } from '../kube/resource-types.ts'

/** An admission rule of ours that has to be in force, because the operator acts with rights of its own for those who write our objects. */
export interface AdmissionRule {
  /** Of the policy and of its binding. */
  readonly name: string
  /** Its `spec`, as the constructs render it. */
  readonly spec: object
  /** What it is about, in the plural. */
  readonly subjects: string
}

/** Why a rule does not refuse what it should. */
export interface RuleFault {
  /** In words for people. */
  readonly why: string
  /** Whether nobody checks. Default: that is not known. */
  readonly isWrong?: true
  /** It could not be read. */
  readonly isUnread?: true
}

/** A rule that refuses what it should. */
export interface RuleInForce {
  /** Another text after each change. */
  readonly identity: string
  /** Since when at the earliest, in milliseconds: the last change of policy or binding. Infinity if they do not say when they were made. */
  readonly since: number
}

/** Returns since when the rule is in force, or what is wrong with it. Throws ApiError. */
export async function readAdmissionRule(
  client: KubeClient,
  rule: AdmissionRule,
  signal: AbortSignal,
): Promise<RuleInForce | RuleFault> {
  const read = async (type: typeof ADMISSION_POLICY) =>
    await find<KubeObject & { readonly spec?: Raw }>(client, type, { name: rule.name }, { signal })
  try {
    const [policy, binding] = [await read(ADMISSION_POLICY), await read(ADMISSION_POLICY_BINDING)]
    const identity = [policy, binding].map((one) => [one?.metadata.uid, one?.metadata.generation])
    const inForce = { identity: JSON.stringify(identity), since: Math.max(changedAt(policy), changedAt(binding)) }
    return faultIn(rule, policy?.spec, binding?.spec) ?? inForce
  } catch (error) {
    if (!isApiError(error, 'Rejected')) throw error
    return { why: `the operator may not read ValidatingAdmissionPolicy ${rule.name} and its binding`, isUnread: true }
  }
}

/** A rule that somebody changed may have refused nothing before. What its status says is no change. */
function changedAt(object: KubeObject | undefined): number {
  if (object === undefined) return Number.POSITIVE_INFINITY
  const { metadata } = object
  const written = managedFieldsOf(metadata).filter(({ subresource }) => subresource === undefined)
  const times = written.flatMap(({ time }) => fromTime(time) ?? [])
  return Math.max(fromTime(metadata.creationTimestamp) ?? Number.POSITIVE_INFINITY, ...times)
}

/** Returns why what is installed does not refuse, in words for people. */
function faultIn(rule: AdmissionRule, policy: Raw | undefined, binding: Raw | undefined): RuleFault | undefined {
  const why = wrongIn(rule, policy, binding)
  if (why !== undefined) return { why, isWrong: true }
  const fields = FIELDS.filter((field) => !isSame(policy?.[field], (rule.spec as Raw)[field]))
  // It may be of a version that is being rolled out.
  return fields.length === 0
    ? undefined
    : {
        why: `ValidatingAdmissionPolicy ${rule.name} is not the one of this version: its ${fields.join(', ')} differ`,
      }
}

/** What decides about an object. The API server gives none of these a default that the construct does not have. */
const FIELDS = ['paramKind', 'matchConstraints', 'matchConditions', 'variables', 'validations'] as const

function wrongIn(
  { name, subjects }: AdmissionRule,
  policy: Raw | undefined,
  binding: Raw | undefined,
): string | undefined {
  const what = `ValidatingAdmissionPolicy ${name}`
  if (policy === undefined) return `${what} is not there`
  if ((policy.failurePolicy ?? 'Fail') !== 'Fail') return `failurePolicy of ${what} is not Fail`
  if (!hasAny(policy.validations)) return `${what} has no validations`
  const bindingName = `ValidatingAdmissionPolicyBinding ${name}`
  if (binding === undefined) return `${bindingName} is not there`
  if (binding.policyName !== name || !hasAny(binding.validationActions, 'Deny'))
    return `${bindingName} does not refuse anything: it needs policyName ${name} and validationActions Deny`
  if (binding.matchResources !== undefined)
    return `${bindingName} has matchResources, so that it is not for all ${subjects}`
  return undefined
}

function hasAny(list: unknown, item?: string): boolean {
  return Array.isArray(list) && (item === undefined ? list.length > 0 : list.includes(item))
}
