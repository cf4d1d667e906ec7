import { SECRET_COPY_RULE } from '@open-terrain/constructs'
import { isApiError } from '../kube/api-error.ts'
import { find } from '../kube/find.ts'
import type { KubeObject, Raw } from '../kube/kube-object.ts'
import { ADMISSION_POLICY, ADMISSION_POLICY_BINDING } from '../kube/resource-types.ts'
import { LookLoop, type LookServices } from '../runtime/look-loop.ts'

/** Whether the cluster checks who may have a Secret copied. */
export type CopyRule = { readonly isSeen: true } | { readonly isSeen: false; readonly why: string }

/** How soon it is seen that the rule is gone. */
const EVERY_MS = 60_000
const KEY = 'rule'
const NAME = `ValidatingAdmissionPolicy ${SECRET_COPY_RULE}`

interface Options extends LookServices {
  /** Called when the answer is first known, and when it changes. */
  readonly onChange: () => void
}

/**
 * Looks whether the admission rule is installed that checks who may have a Secret copied, and refuses what it should. The operator copies with rights of its
 * own, so nothing is copied where nobody checks those of the authors. Reads nothing until {@link look} is first called.
 */
export class SecretCopyRule extends LookLoop {
  #rule: CopyRule | undefined
  #isAsked = false

  constructor(options: Options) {
    super(options, 'secret-copy-rule', async (_key, signal) => {
      const rule = await readRule(options, signal)
      const isNews = JSON.stringify(rule) !== JSON.stringify(this.#rule)
      this.#rule = rule
      this.lookAfter(KEY, EVERY_MS)
      if (isNews) options.onChange()
      return undefined
    })
  }

  /** Returns the answer, or undefined until it is known. */
  look(): CopyRule | undefined {
    if (!this.#isAsked) {
      this.#isAsked = true
      this.lookAfter(KEY, 0)
    }
    return this.#rule
  }
}

async function readRule({ client }: Options, signal: AbortSignal): Promise<CopyRule> {
  const read = async (type: typeof ADMISSION_POLICY) =>
    await find<KubeObject & { readonly spec?: Raw }>(client, type, { name: SECRET_COPY_RULE }, { signal })
  try {
    const [policy, binding] = [await read(ADMISSION_POLICY), await read(ADMISSION_POLICY_BINDING)]
    const why = faultIn(policy?.spec, binding?.spec)
    return why === undefined ? { isSeen: true } : { isSeen: false, why }
  } catch (error) {
    if (!isApiError(error, 'Rejected')) throw error
    return { isSeen: false, why: `the operator may not read ${NAME} and its binding` }
  }
}

/** Returns why what is installed does not refuse, in words for people. */
function faultIn(policy: Raw | undefined, binding: Raw | undefined): string | undefined {
  if (policy === undefined) return `${NAME} is not there`
  if ((policy.failurePolicy ?? 'Fail') !== 'Fail') return `failurePolicy of ${NAME} is not Fail`
  if (!hasAny(policy.validations)) return `${NAME} has no validations`
  if (binding === undefined) return `ValidatingAdmissionPolicyBinding ${SECRET_COPY_RULE} is not there`
  if (binding.policyName !== SECRET_COPY_RULE || !hasAny(binding.validationActions, 'Deny'))
    return `ValidatingAdmissionPolicyBinding ${SECRET_COPY_RULE} does not refuse anything: it needs policyName ${SECRET_COPY_RULE} and validationActions Deny`
  if (binding.matchResources !== undefined)
    return `ValidatingAdmissionPolicyBinding ${SECRET_COPY_RULE} has matchResources, so that it is not for all Workspaces`
  return undefined
}

function hasAny(list: unknown, item?: string): boolean {
  return Array.isArray(list) && (item === undefined ? list.length > 0 : list.includes(item))
}
